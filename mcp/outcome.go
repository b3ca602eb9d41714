package mcp

import (
	"bytes"
	"context"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An Outcome describes in one word how a request ended. Logs, traces, metrics and audit logs use
// the same words.
type Outcome string

// The outcomes.
const (
	// OutcomeOK means a result.
	OutcomeOK Outcome = "ok"
	// OutcomeToolError means a result of a tool that failed.
	OutcomeToolError Outcome = "tool_error"
	// OutcomeInputRequired means that the request first needs responses from the client. The client
	// sends the request again with the responses.
	OutcomeInputRequired Outcome = "input_required"
	// OutcomeCancelled means that the client cancelled the request, or that the shutdown of the
	// server ended it.
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeError means a protocol error; [ErrorOf] returns its code.
	OutcomeError Outcome = "error"
)

// OutcomeOf returns the outcome of a request. The arguments are the context with which Handle was
// called, and its results. OutcomeOf does not change result.
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

// toolFailed reports whether the result is a tool's result with isError set.
func (r *Result) toolFailed() bool {
	if r.JSON != nil {
		return bytes.Contains(r.JSON, []byte(`"isError"`)) && string(jsonrpc.Get(r.JSON, "isError")) == "true"
	}
	called, ok := r.Value.(*CallToolResult)
	return ok && called != nil && called.IsError
}
