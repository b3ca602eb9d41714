// Package upstream connects to one server, of either era, and answers requests
// by asking it: what it returns is an [mcp.Conn]. Transports call [Connect] with
// a function that makes a [link.Link].
//
// # Who owns what
//
// A request to the server is a [call]. One goroutine owns it from the first
// message to the last: the caller's own for a modern server (modern.go), one
// made for it where the call may outlive the request that began it
// (legacy_call.go). Whatever happens to a call reaches that goroutine as an
// event: the response, a notification, a request from the server, a withdrawn
// request, the client's response, the next round of its request. Only a
// cancellation is no event: it ends the context of the client's request. No other
// goroutine touches a call's state, and no mutex of this package is held while
// anything is called, sent or waited for.
//
// What a connection knows of its server (era, revision, capabilities) is a
// [session], which never changes: a new handshake makes a new one.
package upstream
