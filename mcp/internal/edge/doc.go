// Package edge connects the messages of one client to a Handler. It turns JSON-RPC messages of any
// revision into modern requests. It turns the Handler's results, errors, requests to the client and
// notifications back into messages.
//
// An [Edge] belongs to a Handler. It handles each modern request separately ([Edge.Modern]). A
// [Session] is one legacy client with its handshake, log level and subscriptions
// ([Session.Request]). A [Connection] is a client that sends all messages over one pair of streams,
// in either era.
//
// The package contains no transport. Transports pass parsed messages, and a [Sender] for messages
// to the client while a request runs.
package edge
