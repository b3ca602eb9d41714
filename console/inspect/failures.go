package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// A failure is why a request has no result.
type failure struct {
	Code *int            `json:"code,omitempty"` // of the protocol; nil where the server did not say this
	Data json.RawMessage `json:"data,omitempty"`
	Fault
}

// failed says why a request failed.
func (c *connection) failed(ctx context.Context, a *attempt, q *asked, err error) *failure {
	if errors.Is(context.Cause(ctx), errCancelled) {
		return &failure{Fault: Fault{Cause: "it was cancelled here"}}
	}
	if refused, is := errors.AsType[*mcp.Error](err); is {
		return &failure{Code: &refused.Code, Data: bounded(refused.Data), Fault: Fault{Cause: refused.Message, Remedy: remedyOf(refused.Code, q.Method)}}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{Fault: Fault{Cause: err.Error(), Remedy: "give it more time (timeout), or see in its log or its standard error what it waits for"}}
	}
	switch {
	case errors.Is(err, mcp.ErrClosed):
		return &failure{Fault: Fault{Cause: "the connection was closed meanwhile", Remedy: "connect again"}}
	case errors.Is(err, mcp.ErrLost):
		about := q.Method
		if name, is := jsonrpc.Unquote(jsonrpc.Get(q.Params, "name")); is {
			about = plaintext.Line(fmt.Sprintf("%s %q", q.Method, name), maxDetail)
		}
		fault := c.explain(ctx, a, err)
		fault.Link, fault.Remedy = "request", fmt.Sprintf("the server ended while it was at %s, which is a fault of the server: read what it wrote last, report it to whoever made it, and connect again", about)
		return &failure{Fault: fault}
	case errors.As(err, new(*mcp.StatusError)):
		return &failure{Fault: c.explain(ctx, a, err)}
	}
	return &failure{Fault: Fault{Cause: err.Error()}}
}

// remedyOf is what to try where a server refuses a request.
func remedyOf(code int, method string) string {
	switch code {
	case mcp.CodeMethodNotFound:
		return "the server does not have this; its capabilities say what it has"
	case mcp.CodeInvalidParams:
		return "see whether the parameters fit the schema, and whether there is what they name"
	case mcp.CodeInternalError:
		return "the server failed at " + method + ": see its log or its standard error, or report it to whoever made it"
	}
	return ""
}
