// Package rules lets the rules of package policy decide about the requests to a server, as
// middleware around any Handler:
//
//	h = rules.Middleware(rules.Options{Server: "files", Policy: func(context.Context) *policy.Policy { return p }})(h)
//
// Tools that are denied whatever their arguments are not listed, and cannot be called. A call about
// which a rule asks waits for the client's user, by elicitation; where the client cannot ask, it is
// refused with the reason. In a gateway the middleware of each server stands in
// gateway.Upstream.Middleware, so that a rule decides before the server is started.
package rules
