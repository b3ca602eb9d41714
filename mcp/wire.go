package mcp

import "context"

// A Wire sees the messages of connections as they go over them, for people who want to know what is really said: to
// clients where [ServeOptions] have it, to servers where [ClientOptions] have it. A Handler or a Client in the same
// process has no messages.
//
// Its methods must be safe for concurrent use. The goroutines that carry the messages call them, so that they must not
// wait.
type Wire interface {
	// Watching reports whether anybody looks now. It is called for every message; where it is false there is nothing
	// else that a Wire costs.
	Watching() bool
	// Passes sees a message before it is handled, or sent. It returns the context for what is done because of it: what
	// it adds to that of a client's request is there when a request to a server is sent for it.
	Passes(ctx context.Context, m WireMessage) context.Context
}

// A WireMessage is one message on its way. It is valid only during the call that it is given to.
type WireMessage struct {
	// ToServer is the direction: from the client to the server, or else back.
	ToServer bool
	// Message is one JSON-RPC message; nil where Err is set.
	Message []byte
	// Revision is the one that is spoken; empty while it is not known, and toward servers, where the messages say it.
	Revision string
	// Client is how the client introduced itself to this side; nil where that is not known, and toward servers.
	Client *Implementation
	// Err is why no response to a request to a server came.
	Err error
}
