// Package upstream connects to one server of either era, and implements [mcp.Conn] with that
// connection. Transports call [Connect] with a function that makes a [link.Link].
//
// # Ownership
//
// A request to the server is a [call]. One goroutine owns it from the first message to the last.
// For a modern server, this is the caller's own goroutine (modern.go). A legacy call may outlive
// the request that began it, and then gets a goroutine (legacy_call.go). Everything that happens to
// a call reaches that goroutine as an event. Events are the response, a notification, a request of
// the server or its withdrawal, the client's response, and the next round of the client's request.
// Only a cancellation is not an event: it ends the context of the client's request. No other
// goroutine uses the state of a call. No mutex of this package is held during a call, a send or a
// wait.
//
// The facts about a server (era, revision, capabilities) are a [session]. It is immutable: a new
// handshake makes a new one.
package upstream
