// Package edge stands between the messages of one client and a Handler. It
// turns JSON-RPC messages of any revision into modern requests, and results,
// errors, requests from the server and notifications back into messages.
//
// An [Edge] belongs to a Handler and answers modern requests, each for itself
// ([Edge.Modern]). A [Session] is one legacy client: its handshake, log level
// and subscriptions ([Session.Request]). A [Connection] is a client that sends
// everything over one pair of streams, in either era.
//
// The package knows no transport: it is handed parsed messages and a [Sender]
// for what goes back while a request runs.
package edge
