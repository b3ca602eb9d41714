// Package up is the gateway of junction up as a library. It serves servers behind one endpoint,
// with the layers of package up/layer that settings ask for: rules, limits, reviews, an audit log
// and others.
//
// A [Plan] describes what is served. [New] makes a [Gateway] of it, which is an [mcp.Handler].
// [Gateway.Apply] replaces the plan of a running gateway without a failed call. Any transport can
// serve it, such as [mcp/streamable].
//
// [mcp/streamable]: https://pkg.go.dev/github.com/junction-mcp/junction/mcp/streamable
package up
