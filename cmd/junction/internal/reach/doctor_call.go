package reach

import (
	"errors"

	"github.com/junction-mcp/junction/mcp"
)

// statusOf is the status with which a server at a URL refused; 0 if it did not.
func statusOf(err error) int {
	if e, is := errors.AsType[*mcp.StatusError](err); is {
		return e.Status
	}
	return 0
}
