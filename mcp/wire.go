package mcp

import (
	"context"

	"github.com/junction-mcp/junction/internal/note"
)

// A Wire receives the messages of connections as they are sent and received, for inspection. It is
// set in [ServeOptions] for clients, and in [ClientOptions] for servers. There are no messages
// between a Client and a Handler in the same process.
//
// Its methods must be safe for concurrent use. The goroutines that send and receive messages call
// them, so they must not block.
type Wire interface {
	// Watching reports whether messages are wanted now. It is called for every message. If it
	// returns false, no other method is called.
	Watching() bool
	// Passes receives a message before it is handled or sent. It returns the context for the work
	// that the message causes. If Passes adds values to the context of a client's request, they are
	// also present in Passes when a request to a server is sent because of it. The same holds for a
	// NoteObserver that [WithNoteObserver] adds, which code that handles the request can use.
	Passes(ctx context.Context, m WireMessage) context.Context
}

// A WireMessage is one message of a connection. It is valid only during the call of Passes.
type WireMessage struct {
	// ToServer is set if the message goes from the client to the server.
	ToServer bool
	// Message is one JSON-RPC message. It is nil if Err is set.
	Message []byte
	// Revision is the protocol revision of the connection. It is empty while unknown, and for
	// messages of connections to servers, which contain the revision.
	Revision string
	// Client is the client's description of its software to this side. It is nil if unknown, and
	// for connections to servers.
	Client *Implementation
	// Err is the reason why a request to a server got no response.
	Err error
	// Transport is the kind of transport: [TransportStream], [TransportHTTP] or [TransportSSE], or
	// empty if unknown.
	Transport string
}

// Values of Transport in a [WireMessage].
const (
	TransportStream = "stream" // one byte stream in each direction: standard input and output, a socket, memory
	TransportHTTP   = "http"   // Streamable HTTP
	TransportSSE    = "sse"    // HTTP+SSE
)

// A NoteObserver receives details of a request that its messages do not contain, such as its HTTP
// headers or the rule that decided about it. Its methods must be safe for concurrent use and must
// not block.
type NoteObserver interface {
	// Note records a detail of a kind, such as "policy". The note is encoded to JSON at once. A
	// json.RawMessage is used unchanged, and must not change later; prefer it for many equal notes.
	// A note may contain secrets only if their name or form makes them recognizable.
	Note(kind string, note any)
}

// A noteContext is a context together with its NoteObserver, in one allocation.
type noteContext struct {
	context.Context
	observer NoteObserver
}

func (c *noteContext) Value(key any) any {
	if key == (note.Key{}) {
		return c.observer
	}
	return c.Context.Value(key)
}

// WithNoteObserver returns a context for an observed request. [NoteObserverOf] returns n for it.
func WithNoteObserver(ctx context.Context, n NoteObserver) context.Context {
	return &noteContext{ctx, n}
}

// NoteObserverOf returns the NoteObserver of the request in ctx. It returns nil if no observer
// wants notes of this kind.
//
//	if n := mcp.NoteObserverOf(ctx, "cache"); n != nil {
//		n.Note("cache", hit{Key: key})
//	}
func NoteObserverOf(ctx context.Context, kind string) NoteObserver { return note.Of(ctx, kind) }
