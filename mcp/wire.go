package mcp

import (
	"context"

	"github.com/junction-mcp/junction/internal/note"
)

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
	// it adds to that of a client's request is there when a request to a server is sent for it, and so is what [WithNoter]
	// adds, where whoever works on the request has something to say of it.
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
	// Transport is how the message travels: [TransportStream], [TransportHTTP] or [TransportSSE]; empty where that is not known.
	Transport string
}

// How messages travel.
const (
	TransportStream = "stream" // one stream of bytes in each direction: standard input and output, a socket, memory
	TransportHTTP   = "http"   // Streamable HTTP
	TransportSSE    = "sse"    // HTTP+SSE
)

// A Noter hears from whoever works on a request what its messages do not say: which headers carried it, which rule decided.
// Its methods are safe for concurrent use, and do not wait.
type Noter interface {
	// Note tells something of a kind, such as "policy". note becomes JSON at once; a json.RawMessage is JSON, and must not
	// change any more: of many notes that are the same it is best one. It must have no secrets but those that names and looks
	// give away.
	Note(kind string, note any)
}

// A noterContext is a context that has its Noter, in one allocation.
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

// WithNoter returns a context for a request that somebody watches, in which [NoterOf] finds n.
func WithNoter(ctx context.Context, n Noter) context.Context { return &noterContext{ctx, n} }

// NoterOf returns the Noter of the request that ctx belongs to, or nil if none wants notes of that kind.
//
//	if n := mcp.NoterOf(ctx, "cache"); n != nil {
//		n.Note("cache", hit{Key: key})
//	}
func NoterOf(ctx context.Context, kind string) Noter { return note.Of(ctx, kind) }
