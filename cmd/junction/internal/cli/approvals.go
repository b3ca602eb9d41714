package cli

import "github.com/junction-mcp/junction/gateway/approvals"

// An ApprovalsShown is the response of a junction up with the calls that wait for approval.
type ApprovalsShown struct {
	Approvals []approvals.Call `json:"approvals"`
}
