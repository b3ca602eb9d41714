// Package granted is what a context says of the authorization of its request: which part of a gateway it came through, and which scopes
// tools need. Middleware that decides says so here, and what is kept for a request remembers it (mcp.Grant).
package granted

import "context"

type (
	partKey     struct{}
	decisionKey struct{}
	watchKey    struct{}
)

// WithPart returns a context of requests that come through a part of a gateway.
func WithPart(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, partKey{}, name)
}

// Part is the part that a request came through; empty: all of it.
func Part(ctx context.Context) string {
	name, _ := ctx.Value(partKey{}).(string)
	return name
}

// A decision says which scopes tools need, as one middleware decides.
type decision struct {
	tool  string // that the request calls; empty: none
	needs func(tool string) []string
	outer *decision
}

// Decide notes that a middleware decides which scopes a request needs: needs says it of each tool, and must be safe for concurrent
// use. It returns a context that has that; the Watcher is notified where the request is a call.
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

// Decided is the tool of a call as the first middleware that decided knows it, and the scopes that all of them need; found is false
// where none decided about a call.
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

// Needs are the scopes that a tool needs by the decisions that a request went through.
func Needs(ctx context.Context, tool string) (needs []string) {
	d, _ := ctx.Value(decisionKey{}).(*decision)
	for ; d != nil && tool != ""; d = d.outer {
		needs = append(needs, d.needs(tool)...)
	}
	return needs
}

// A Watcher is notified of a tool that is called, which scopes it needs, and whether some middleware decided that.
type Watcher func(tool string, needs []string, decided bool)

// Watch returns a context in which to is notified of each decision about a call: for code that keeps a call before it is decided about.
func Watch(ctx context.Context, to Watcher) context.Context {
	return context.WithValue(ctx, watchKey{}, to)
}

// Called notifies the Watcher of the tool that is called, where perhaps no middleware decides about it.
func Called(ctx context.Context, tool string) {
	if to, _ := ctx.Value(watchKey{}).(Watcher); to != nil {
		to(tool, nil, false)
	}
}
