package mcp

import (
	"bytes"
	"context"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An Outcome is one word for how a request ended. Logs, traces, metrics and audits use the same
// words.
type Outcome string

// The outcomes.
const (
	// OutcomeOK is for a result.
	OutcomeOK Outcome = "ok"
	// OutcomeToolError is for a result of a tool that failed.
	OutcomeToolError Outcome = "tool_error"
	// OutcomeInputRequired is for a request that needs responses from the client first. The client
	// sends it again with the responses.
	OutcomeInputRequired Outcome = "input_required"
	// OutcomeCancelled is for a request that the caller cancelled or the server's shutdown ended.
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeError is for a protocol error; [ErrorOf] returns its code.
	OutcomeError Outcome = "error"
)

// OutcomeOf returns the outcome of a request for which Handle, called with ctx, returned result and
// err. It does not change result.
func OutcomeOf(ctx context.Context, result *Result, err error) Outcome {
	switch {
	case errors.Is(err, ErrInputRequired), err == nil && result.Type == resultInputRequired:
		return OutcomeInputRequired
	case err == nil && result.toolFailed():
		return OutcomeToolError
	case err == nil:
		return OutcomeOK
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return OutcomeCancelled
	}
	return OutcomeError
}

// toolFailed reports whether the result is that of a tool with isError set.
func (r *Result) toolFailed() bool {
	if r.JSON != nil {
		return bytes.Contains(r.JSON, []byte(`"isError"`)) && string(jsonrpc.Get(r.JSON, "isError")) == "true"
	}
	called, ok := r.Value.(*CallToolResult)
	return ok && called != nil && called.IsError
}
