package mcp

import (
	"bytes"
	"context"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An Outcome says in one word how a request ended: for logs, traces, metrics
// and audits, which should all say the same.
type Outcome string

// The outcomes.
const (
	// OutcomeOK: a result.
	OutcomeOK Outcome = "ok"
	// OutcomeToolError: a result that says that the tool itself failed.
	OutcomeToolError Outcome = "tool_error"
	// OutcomeInputRequired: the client has to respond to requests of the server first; its request
	// comes again with the responses.
	OutcomeInputRequired Outcome = "input_required"
	// OutcomeCancelled: whoever asked does not want the response any more, or the
	// server ends.
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeError: an error of the protocol; [ErrorOf] has its code.
	OutcomeError Outcome = "error"
)

// OutcomeOf says how the request ended for which Handle, called with ctx,
// returned result and err. result is not changed.
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

// toolFailed reports whether the result is that of a tool, with isError.
func (r *Result) toolFailed() bool {
	if r.JSON != nil {
		return bytes.Contains(r.JSON, []byte(`"isError"`)) && string(jsonrpc.Get(r.JSON, "isError")) == "true"
	}
	called, ok := r.Value.(*CallToolResult)
	return ok && called != nil && called.IsError
}
