// Package stream implements MCP over pairs of byte streams. Each message is one line, as on
// standard input and output. The package supports Unix and TCP sockets ([Dial], [Serve]) and
// existing connections ([Over], [ServeConn]). [Pipe] connects a client to a Handler in the same
// process with encoded messages.
//
// The package neither authenticates nor encrypts. A Unix socket is protected only by the
// permissions of its file. To protect a TCP socket, listen on the loopback address, or pass a
// net.Listener and net.Conn that authenticate and encrypt.
package stream
