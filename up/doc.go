// Package up is the gateway of junction up as a library. It serves servers behind one endpoint, and
// adds the layers of package up/layer that the settings request: rules, limits, reviews, an audit
// log and others.
//
// A [Plan] describes the servers and their settings. [New] makes a [Gateway] from it, which is an
// [mcp.Handler]. [Gateway.Apply] replaces the plan of a running gateway without failing a call. Any
// transport can serve the gateway, such as [mcp/streamable].
//
// [mcp/streamable]: https://pkg.go.dev/github.com/junction-mcp/junction/mcp/streamable
package up
