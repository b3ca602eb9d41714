// Package traffic shows the messages of clients, Junction and servers as they are sent.
//
// A [Log] is the [mcp.Wire] of connections on both sides. Without watchers it costs one load of a
// number for each message, and with watchers a copy of the message. Slow watchers miss messages,
// and get their number.
package traffic
