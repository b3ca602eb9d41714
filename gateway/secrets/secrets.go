package secrets

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

// Options say what is looked at.
type Options struct {
	// Arguments refuses calls with a secret in their arguments, before the server hears of them.
	Arguments bool
	// Results withholds results with a secret. The call was made then.
	Results bool
}

// Middleware returns middleware that lets no secret through to a server, or from it.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Method {
			case "tools/call", "prompts/get", "resources/read", "completion/complete":
			default:
				return next.Handle(ctx, req)
			}
			if kinds := found(req.Params); o.Arguments && kinds != "" {
				noted(ctx, "arguments", kinds)
				return refused(req, fmt.Sprintf("not sent: the arguments hold a secret (%s)", kinds))
			}
			result, err := next.Handle(ctx, req)
			if err != nil || !o.Results {
				return result, err
			}
			body, err := result.Encoded()
			if err != nil {
				return result, err
			}
			result.JSON = body // encoded once, also for who sends it
			if kinds := found(body); kinds != "" {
				noted(ctx, "result", kinds)
				return refused(req, fmt.Sprintf("withheld: the result holds a secret (%s)", kinds))
			}
			return result, nil
		})
	}
}

// noted tells who watches what was found, and where.
func noted(ctx context.Context, in, kinds string) {
	if n := mcp.NoterOf(ctx); n != nil {
		n.Note("secrets", struct {
			In    string `json:"in"`
			Found string `json:"found"`
		}{in, kinds})
	}
}

// found names the kinds of the secrets in a JSON text; empty without one.
func found(data json.RawMessage) string {
	var kinds []string
	for _, f := range guard.Secrets(string(data)) {
		if kinds = append(kinds, f.Excerpt); len(kinds) == maxNamed {
			break
		}
	}
	return strings.Join(kinds, ", ")
}

// maxNamed is how many secrets an error names.
const maxNamed = 3

// refused is the result of a call that is not let through. A model reads that of a tool.
func refused(req *mcp.Request, why string) (mcp.Result, error) {
	if req.Method != "tools/call" {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "%s", why)
	}
	return mcp.Result{Value: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.Text(why)}}}, nil
}
