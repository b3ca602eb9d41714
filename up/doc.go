// Package up is the gateway that junction up runs, for any program: servers behind one endpoint, with rules, limits, reviews, an audit
// log and all other layers of package up/layer, as settings say.
//
// A [Plan] says what is served. [New] makes a [Gateway] of it, which is an [mcp.Handler], and [Gateway.Apply] replaces the plan of one
// that runs, without a failed call. Any transport serves it, such as [mcp/streamable].
//
// [mcp/streamable]: https://pkg.go.dev/github.com/junction-mcp/junction/mcp/streamable
package up
