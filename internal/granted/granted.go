// Package granted stores facts about a request's authorization in its context: the part of a
// gateway that the request used, and the scopes that tools require. Middleware that decides about
// scopes records its decision here. Data that is stored for a request includes these facts
// (mcp.Ownership).
package granted

import "context"

type (
	partKey     struct{}
	decisionKey struct{}
	watchKey    struct{}
)

// WithPart returns a context for requests through the named part of a gateway.
func WithPart(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, partKey{}, name)
}

// Part returns the name of the part that a request used. It returns "" for the whole gateway.
func Part(ctx context.Context) string {
	name, _ := ctx.Value(partKey{}).(string)
	return name
}

// A decision contains the scopes that tools require under the rules of one middleware.
type decision struct {
	tool  string // tool of the call; empty if the request is not a call
	needs func(tool string) []string
	outer *decision
}

// Decide returns a context that records the decision of a middleware. needs returns the scopes that
// a tool requires; it must be safe for concurrent use. If the request is a call, Decide also calls
// the [Watcher] of ctx.
func Decide(ctx context.Context, method, name string, needs func(tool string) []string) context.Context {
	d := &decision{needs: needs}
	d.outer, _ = ctx.Value(decisionKey{}).(*decision)
	if method == "tools/call" {
		d.tool = name
		if to, _ := ctx.Value(watchKey{}).(Watcher); to != nil {
			to(name, needs(name), true)
		}
	}
	return context.WithValue(ctx, decisionKey{}, d)
}

// Decided returns the tool of a call, with the name that the outermost deciding middleware
// received, and all scopes that the decisions require for it. found is false if no middleware
// decided about a call.
func Decided(ctx context.Context) (tool string, needs []string, found bool) {
	d, _ := ctx.Value(decisionKey{}).(*decision)
	for ; d != nil; d = d.outer {
		if d.tool != "" {
			tool, found = d.tool, true
			needs = append(needs, d.needs(d.tool)...)
		}
	}
	return tool, needs, found
}

// Needs returns the scopes that a tool requires under all decisions recorded in ctx.
func Needs(ctx context.Context, tool string) (needs []string) {
	d, _ := ctx.Value(decisionKey{}).(*decision)
	for ; d != nil && tool != ""; d = d.outer {
		needs = append(needs, d.needs(tool)...)
	}
	return needs
}

// A Watcher receives the name of a called tool, the scopes that it requires, and whether a
// middleware decided about them.
type Watcher func(tool string, needs []string, decided bool)

// Watch returns a context in which each decision about a call is passed to the function to. It is
// meant for code that stores a call before the decisions are made.
func Watch(ctx context.Context, to Watcher) context.Context {
	return context.WithValue(ctx, watchKey{}, to)
}

// Called passes the name of the called tool to the [Watcher] of ctx, even if no middleware decides
// about the call.
func Called(ctx context.Context, tool string) {
	if to, _ := ctx.Value(watchKey{}).(Watcher); to != nil {
		to(tool, nil, false)
	}
}
