// Package traffic shows the messages of clients, Junction and servers as they are sent.
//
// A [Log] is the [mcp.Wire] of the connections to clients and to servers. Without watchers each
// message costs one atomic load; with watchers it costs a copy of the message. A slow watcher
// misses messages, and gets the number of those.
package traffic
