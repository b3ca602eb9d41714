// Package rules applies the rules of package policy to the requests to a server, as middleware
// around any Handler:
//
//	h = rules.Middleware(rules.Options{Server: "files", Policy: func(context.Context) *policy.Policy { return p }})(h)
//
// Tools that are denied with any arguments are not listed, and cannot be called. If a rule asks
// about a call, the middleware asks the client's user by elicitation, and the call waits for the
// result. If the client does not support elicitation, the call is refused with the reason. In a
// gateway the middleware of each server belongs in gateway.Upstream.Middleware, so that a rule
// decides before the server is started.
package rules
