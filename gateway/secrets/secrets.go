package secrets

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// Options select the messages to search for secrets.
type Options struct {
	// Arguments refuses calls with a secret in their arguments. The server does not get the call.
	Arguments bool
	// Results withholds results with a secret. The server has then executed the call.
	Results bool
}

// Middleware returns middleware that stops secrets on the way to a server or from it.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if !revision.MethodNamed(req.Method).Used {
				return next.Handle(ctx, req)
			}
			if o.Arguments {
				if kinds := named(guard.CarriedSecrets(req.Params)); kinds != "" {
					return withheld(ctx, req, found{"arguments", kinds, fmt.Sprintf("not sent: the arguments have a secret (%s)", kinds)})
				}
			}
			result, err := next.Handle(ctx, req)
			if err != nil || !o.Results {
				return result, err
			}
			body, err := result.Encoded()
			if err != nil {
				return result, err
			}
			result.JSON = body // encoded once, also for sending
			if kinds := named(guard.Secrets(string(body))); kinds != "" {
				return withheld(ctx, req, found{"result", kinds, fmt.Sprintf("withheld: the result has a secret (%s)", kinds)})
			}
			return result, nil
		})
	}
}

// A found is the note of a found secret.
type found struct {
	In    string `json:"in"`
	Found string `json:"found"`
	why   string
}

// Decision implements [note.Decider].
func (f found) Decision() (note.Decision, bool) {
	return note.Decision{Effect: "deny", Rule: "secrets", Reason: f.why, Refused: f.In == "arguments"}, true // in a result, the call was executed
}

// named returns the kinds of the secrets in found, or an empty string.
func named(found []guard.Finding) string {
	var kinds []string
	for _, f := range found {
		if kinds = append(kinds, f.Excerpt); len(kinds) == maxNamed {
			break
		}
	}
	return strings.Join(kinds, ", ")
}

// maxNamed is the maximum number of secrets in an error.
const maxNamed = 3

// withheld returns the outcome of a call that does not pass. For a call of a tool it is a result
// with isError, which the model reads.
func withheld(ctx context.Context, req *mcp.Request, f found) (mcp.Result, error) {
	if n := mcp.NoteObserverOf(ctx, note.Secrets); n != nil {
		n.Note(note.Secrets, f)
	}
	why := f.why
	if req.Method != "tools/call" {
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInvalidParams, Message: why, Data: refused.With(nil, refused.Secrets)}
	}
	return mcp.Result{Value: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.Text(why)}}, Meta: refused.With(nil, refused.Secrets)}, nil
}
