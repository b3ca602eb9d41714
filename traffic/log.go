package traffic

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// A Log passes messages to its watchers. The zero value is ready to use. The methods are safe for
// concurrent use.
type Log struct {
	calls    atomic.Uint64
	rounds   rounds
	asked    atomic.Int64 // ids of generated requests
	watching atomic.Int32
	noting   atomic.Int32                                 // number of watchers that want notes
	also     atomic.Pointer[func(*Event) json.RawMessage] // function set by Hide
	buffers  sync.Pool                                    // holds *[]byte for notes and generated messages

	mu       sync.Mutex                 // guards changes of watchers
	watchers atomic.Pointer[[]*watcher] // replaced, never modified
}

// Clients returns the wire for connections of clients; see [mcp.ServeOptions].
func (l *Log) Clients() mcp.Wire { return &hop{log: l, name: Client} }

// Server returns the wire for a client of the named server; see [mcp.ClientOptions].
func (l *Log) Server(name string) mcp.Wire { return &hop{log: l, name: Server, server: name} }

// Hide sets a function that returns the message to show for an event, before secrets are removed.
// The function may remove secrets that neither names nor forms reveal. Watchers call it. It must
// not change the event.
func (l *Log) Hide(hide func(*Event) json.RawMessage) { l.also.Store(&hide) }

// add passes an event to all watchers. It does not wait, and watchers copy the parts that they
// keep.
func (l *Log) add(e *Event) {
	if all := l.watchers.Load(); all != nil {
		for _, w := range *all {
			w.add(e)
		}
	}
}

// A hop is the wire of the connections to clients, or to one server.
type hop struct {
	log          *Log
	name, server string
}

// A watched is the context of a request that was shown. Messages that belong to the request have
// this context.
type watched struct {
	context.Context
	call uint64
	hop  *hop
	*requestFacts
}

// An requestFacts holds the facts about a request that later messages need.
type requestFacts struct {
	id, method string
	began      time.Time

	mu           sync.Mutex
	name, client string // set when a watcher reads the request, if not before
}

type requestKey struct{}

// Value implements [context.Context].
func (r *watched) Value(key any) any {
	if key == (requestKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// Watching implements [mcp.Wire].
func (h *hop) Watching() bool { return h.log.watching.Load() > 0 }

// Passes implements [mcp.Wire]. It reads only the parts of a message that later messages need.
// Watchers read the other parts in batches, which halves the cost.
func (h *hop) Passes(ctx context.Context, m mcp.WireMessage) context.Context {
	e := Event{Time: time.Now(), Hop: h.name, Server: h.server, ToServer: m.ToServer, Revision: m.Revision, Transport: m.Transport, Size: len(m.Message), Message: m.Message}
	of, _ := ctx.Value(requestKey{}).(*watched)
	if of == nil {
		of = note.Find[*watched](ctx) // a call that began in this process
	}
	if of != nil {
		e.Call = of.call
	}
	switch {
	case of != nil && of.hop == h:
		e.of = of.requestFacts
	case m.Client != nil:
		e.Client = m.Client.Name + "/" + m.Client.Version
	}
	switch {
	case m.Err != nil:
		e.Kind, e.Fault = Failure, strings.Clone(plaintext.Beginning(m.Err.Error(), maxFault))
		if m.Err == context.Canceled { // this text is more precise than the error's own
			e.Fault = "the request was cancelled before a response came"
		}
		e.Legacy = h.name == Server && e.of != nil && e.of.method == methodDiscover && statusIsLegacy(m.Err)
	case m.ToServer:
		if id, method := request(m.Message); id != nil && method != "" {
			ctx = h.withRequest(ctx, &e, string(id), method)
		}
	case h.name == Client && e.Call > 0:
		h.log.rounds.add(m.Message, e.Call)
	}
	h.log.add(&e)
	return ctx
}

// withRequest returns the context for messages that belong to a request.
func (h *hop) withRequest(ctx context.Context, e *Event, id, method string) context.Context {
	r := &watched{Context: ctx, call: e.Call, hop: h, requestFacts: &requestFacts{id: id, method: method, client: e.Client, began: e.Time}}
	if h.name == Client {
		if r.call = h.log.rounds.call(e.Message); r.call == 0 {
			r.call = h.log.calls.Add(1)
		}
		e.Call = r.call
	}
	if e.asks = r.requestFacts; h.log.noting.Load() > 0 {
		return mcp.WithNoteObserver(r, r)
	}
	return r
}
