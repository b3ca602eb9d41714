// Package traffic shows what clients, Junction and servers say to each other, message by message, while they say it.
//
// A [Log] is the [mcp.Wire] of connections on both sides. While nobody watches it costs one look at a number for each
// message, and while somebody does a copy of it; whoever watches slowly misses messages, and hears how many.
package traffic
