// Package stdio serves MCP on the standard input and output of the process, as a host expects from
// a program that it starts (basic/transports/stdio).
//
// It serves clients of every revision. A modern client needs no handshake; a legacy client begins
// with one. While it serves, the program must write nothing else to standard output. Logs belong on
// standard error.
//
// The client side is package mcp/command, which starts such a program and connects to it.
package stdio
