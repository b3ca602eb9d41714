// Package edge connects the messages of one client to a Handler. It turns JSON-RPC messages of any
// revision into modern requests. It turns results, errors, requests of the server and notifications
// back into messages.
//
// An [Edge] belongs to a Handler and answers modern requests one by one ([Edge.Modern]). A
// [Session] is one legacy client with its handshake, log level and subscriptions
// ([Session.Request]). A [Connection] is a client that sends everything over one pair of streams,
// in either era.
//
// The package contains no transport. Transports pass parsed messages, and a [Sender] for the
// messages to the client while a request runs.
package edge
