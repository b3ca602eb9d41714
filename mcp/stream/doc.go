// Package stream carries MCP over any pair of byte streams, with one message in
// a line as on standard input and output: Unix and TCP sockets ([Dial],
// [Serve]), a connection that is there already ([Over], [ServeConn]), and memory
// ([Pipe]), which brings a client and a Handler of one process together by way
// of the wire.
//
// Nothing here authenticates or encrypts. A Unix socket is guarded by the
// permissions of its file, a TCP socket by listening on the loopback address or
// by the net.Listener and net.Conn that the caller passes in.
package stream
