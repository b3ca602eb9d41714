// Package stdio serves MCP on the standard input and output of the process, as
// a host expects it of a program that it starts (basic/transports/stdio).
//
// Clients of every revision are served: a modern one request by request, a
// legacy one after its handshake. Nothing but the protocol may be written to
// standard output meanwhile; logs belong on standard error.
package stdio
