package mcp

import (
	"context"

	"github.com/junction-mcp/junction/internal/note"
)

// A Wire receives the messages of connections as they are sent and received, for inspection. It is
// set in [ServeOptions] for clients and in [ClientOptions] for servers. A Handler or a Client in
// the same process has no messages.
//
// Its methods must be safe for concurrent use. They are called by the goroutines that carry the
// messages, so they must not block.
type Wire interface {
	// Watching reports whether messages are wanted now. It is called for every message; if it
	// returns false, no other method is called.
	Watching() bool
	// Passes receives a message before it is handled or sent. It returns the context for the work
	// that the message causes. Values added to the context of a client's request are present when a
	// request to a server is sent for it. So is a Noter added by [WithNoter], which code that works
	// on the request can use.
	Passes(ctx context.Context, m WireMessage) context.Context
}

// A WireMessage is one message in transit. It is valid only during the call of Passes.
type WireMessage struct {
	// ToServer reports whether the message goes from the client to the server.
	ToServer bool
	// Message is one JSON-RPC message. It is nil if Err is set.
	Message []byte
	// Revision is the revision spoken. It is empty while unknown, and toward servers, where the
	// messages contain it.
	Revision string
	// Client is the client's description of its software to this side. It is nil if unknown, and
	// toward servers.
	Client *Implementation
	// Err is the reason why a request to a server got no response.
	Err error
	// Transport is the kind of transport: [TransportStream], [TransportHTTP] or [TransportSSE]. It
	// is empty if unknown.
	Transport string
}

// Values of Transport in a [WireMessage].
const (
	TransportStream = "stream" // one stream of bytes in each direction: standard input and output, a socket, memory
	TransportHTTP   = "http"   // Streamable HTTP
	TransportSSE    = "sse"    // HTTP+SSE
)

// A Noter receives details of a request that its messages do not contain, such as its headers or
// the rule that decided. Its methods are safe for concurrent use and do not block.
type Noter interface {
	// Note records a detail of a kind, such as "policy". note is encoded to JSON at once. A
	// json.RawMessage is used as it is and must not change later; prefer it for many equal notes.
	// note may contain only secrets that can be recognized by their name or form.
	Note(kind string, note any)
}

// A noterContext is a context that holds its Noter, in one allocation.
type noterContext struct {
	context.Context
	noter Noter
}

func (c *noterContext) Value(key any) any {
	if key == (note.Key{}) {
		return c.noter
	}
	return c.Context.Value(key)
}

// WithNoter returns a context for a watched request, in which [NoterOf] finds n.
func WithNoter(ctx context.Context, n Noter) context.Context { return &noterContext{ctx, n} }

// NoterOf returns the Noter of the context's request, or nil if it does not want notes of that
// kind.
//
//	if n := mcp.NoterOf(ctx, "cache"); n != nil {
//		n.Note("cache", hit{Key: key})
//	}
func NoterOf(ctx context.Context, kind string) Noter { return note.Of(ctx, kind) }
