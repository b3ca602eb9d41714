// Package stream implements MCP over pairs of byte streams, with one message a line as on standard
// input and output. It supports Unix and TCP sockets ([Dial], [Serve]) and existing connections
// ([Over], [ServeConn]). [Pipe] connects a client to a Handler in the same process over the wire
// format.
//
// The package neither authenticates nor encrypts. A Unix socket is protected by the permissions of
// its file. A TCP socket is protected by listening on the loopback address, or by the net.Listener
// and net.Conn of the caller.
package stream
