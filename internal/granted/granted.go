// Package granted stores facts about the authorization of a request in its context: the part of a
// gateway that it used, and the scopes that tools need. Middleware that decides records it here,
// and data kept for a request remembers it (mcp.Grant).
package granted

import "context"

type (
	partKey     struct{}
	decisionKey struct{}
	watchKey    struct{}
)

// WithPart returns a context of requests through a part of a gateway.
func WithPart(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, partKey{}, name)
}

// Part returns the part that a request used; empty: the whole gateway.
func Part(ctx context.Context) string {
	name, _ := ctx.Value(partKey{}).(string)
	return name
}

// A decision holds the scopes that tools need by the rules of one middleware.
type decision struct {
	tool  string // tool of the call; empty: none
	needs func(tool string) []string
	outer *decision
}

// Decide records that a middleware decides which scopes a request needs. needs returns those of
// each tool and must be safe for concurrent use. Decide returns a context with the decision, and
// notifies the Watcher of a call.
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

// Decided returns the tool of a call, as known to the first middleware that decided, and the scopes
// that all of them require. found is false if none decided about a call.
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

// Needs returns the scopes that a tool needs by the decisions about a request.
func Needs(ctx context.Context, tool string) (needs []string) {
	d, _ := ctx.Value(decisionKey{}).(*decision)
	for ; d != nil && tool != ""; d = d.outer {
		needs = append(needs, d.needs(tool)...)
	}
	return needs
}

// A Watcher is notified of a called tool, the scopes that it needs, and whether a middleware
// decided that.
type Watcher func(tool string, needs []string, decided bool)

// Watch returns a context in which each decision about a call notifies to, for code that keeps a
// call before the decision.
func Watch(ctx context.Context, to Watcher) context.Context {
	return context.WithValue(ctx, watchKey{}, to)
}

// Called notifies the Watcher of the called tool, even if no middleware decides about it.
func Called(ctx context.Context, tool string) {
	if to, _ := ctx.Value(watchKey{}).(Watcher); to != nil {
		to(tool, nil, false)
	}
}
