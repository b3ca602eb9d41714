package layer

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
)

// enterProfile returns middleware that stores the profile of a request in its context. For a part
// with one server, it gives the entries of that server their own names.
func enterProfile(_ *Stack, _ *Plan, part Part) mcp.Middleware {
	switch {
	case part.Server != "":
		return func(next mcp.Handler) mcp.Handler { return part.Gateway.Own(part.Server, next) }
	case part.Profile != "":
		return func(next mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
				return next.Handle(context.WithValue(ctx, inProfile{}, part.Profile), req)
			})
		}
	}
	return nil
}

// inProfile is the context key of a request's profile.
type inProfile struct{}

// profileOf returns the profile of a request. The profile "" is the whole gateway.
func profileOf(ctx context.Context) string {
	if used, _ := ctx.Value(usedRoleKey{}).(*usedRole); used != nil {
		if by := used.Load(); by != nil && by.Profile != "" {
			return by.Profile
		}
	}
	name, _ := ctx.Value(inProfile{}).(string)
	return name
}
