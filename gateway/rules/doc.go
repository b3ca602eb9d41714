// Package rules applies the rules of package policy to the requests to a server, as middleware
// around any Handler:
//
//	h = rules.Middleware(rules.Options{Server: "files", Policy: func(context.Context) *policy.Policy { return p }})(h)
//
// Tools that are denied with any arguments are not listed, and cannot be called. If a rule asks
// about a call, the call waits for the client's user, by elicitation. If the client does not
// support that, the call is refused with the reason. In a gateway the middleware of each server is
// in gateway.Upstream.Middleware, so that a rule decides before the server is started.
package rules
