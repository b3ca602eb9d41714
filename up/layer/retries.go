package layer

import (
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/retry"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
)

// retryCalls returns middleware that repeats calls that got no response.
func retryCalls(_ *Stack, p *Plan, part Part) mcp.Middleware {
	for _, s := range p.Settings.Servers {
		if s.Retries > 0 {
			return retry.Middleware(retry.Options{Times: func(req *mcp.Request) int { return p.retries(part.Gateway, req) }})
		}
	}
	return nil
}

// retries returns how many times a call may be repeated.
func (p *Plan) retries(g *gateway.Gateway, req *mcp.Request) int {
	t, ok := g.Tool(req.Name)
	if !ok || req.Method != "tools/call" {
		return 0
	}
	claims := rules.Annotations(t.Definition)
	if is := func(claim *bool) bool { return claim != nil && *claim }; !is(claims.ReadOnly) && !is(claims.Idempotent) {
		return 0
	}
	return p.Settings.Servers[t.Server].Retries
}
