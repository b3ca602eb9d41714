// Package upstream connects to one server of either era and implements [mcp.Conn] on it. Transports
// call [Connect] with a function that makes a [link.Link].
//
// # Ownership
//
// A request to the server is a [call]. One goroutine owns it from the first message to the last.
// For a modern server this is the caller's own goroutine (modern.go). A legacy call may outlive the
// request that began it and then gets a goroutine (legacy_call.go). Everything that happens to a
// call reaches that goroutine as an event: the response, a notification, a request of the server or
// its withdrawal, the client's response, the next round of its request. A cancellation is the
// exception: it ends the context of the client's request. No other goroutine uses the state of a
// call. No mutex of this package is held during a call, a send or a wait.
//
// The facts about a server (era, revision, capabilities) are a [session], which never changes: a
// new handshake creates a new one.
package upstream
