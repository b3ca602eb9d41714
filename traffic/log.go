package traffic

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// A Log shows messages to everybody who watches. The zero value is ready to use, and its methods are safe for concurrent
// use.
type Log struct {
	calls    atomic.Uint64
	rounds   rounds
	asked    atomic.Uint64 // of Handlers in this process, and by them
	watching atomic.Int32
	noting   atomic.Int32                                 // of these, those who see notes
	also     atomic.Pointer[func(*Event) json.RawMessage] // hides more
	buffers  sync.Pool                                    // of *[]byte, for notes

	mu       sync.RWMutex
	watchers []*watcher
}

// Clients is the wire of what serves clients: [mcp.ServeOptions].
func (l *Log) Clients() mcp.Wire { return &hop{log: l, name: Client} }

// Server is the wire of a client of the server with that name: [mcp.ClientOptions].
func (l *Log) Server(name string) mcp.Wire { return &hop{log: l, name: Server, server: name} }

// Hide lets hide say what is shown of the message of each event, before secrets are hidden of it: who serves may know of more
// than names and looks tell. It is called while somebody watches, by those who do, and must not change the event.
func (l *Log) Hide(hide func(*Event) json.RawMessage) { l.also.Store(&hide) }

// add gives an event to all who watch, and waits for none of them. They keep nothing of it.
func (l *Log) add(e *Event) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, w := range l.watchers {
		w.add(e)
	}
}

// A hop is the wire of one side.
type hop struct {
	log          *Log
	name, server string
}

// A request is what the messages that follow it have to know of it, and the context in which they find it.
type request struct {
	context.Context
	call         uint64
	hop          *hop
	id           string // as it is in messages
	method, name string
	client       string
	began        time.Time
}

type requestKey struct{}

// Value implements [context.Context].
func (r *request) Value(key any) any {
	if key == (requestKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// Watching implements [mcp.Wire].
func (h *hop) Watching() bool { return h.log.watching.Load() > 0 }

// Passes implements [mcp.Wire].
func (h *hop) Passes(ctx context.Context, m mcp.WireMessage) context.Context {
	e := &Event{Time: time.Now(), Hop: h.name, Server: h.server, ToServer: m.ToServer, Revision: m.Revision, Transport: m.Transport, Size: len(m.Message)}
	of, _ := ctx.Value(requestKey{}).(*request)
	if of == nil {
		of, _ = mcp.NoterOf(ctx).(*request) // of a call that began in this process
	}
	if of != nil {
		e.Call = of.call
	}
	switch {
	case of != nil && of.hop == h:
		e.Client = of.client
	case m.Client != nil:
		e.Client = m.Client.Name + "/" + m.Client.Version
	}
	if m.Err != nil {
		if e.Kind, e.Fault = Failure, strings.Clone(plaintext.Beginning(m.Err.Error(), maxFault)); of != nil && of.hop == h {
			e.answers(of)
		}
		h.log.add(e)
		return ctx
	}
	e.Message = m.Message
	var head head
	if e.asIs = head.read(m.Message); head.kind == "" {
		e.Kind, e.Fault, e.Message = Failure, "this is no message of JSON-RPC", nil
		h.log.add(e)
		return ctx
	}
	answered := of
	if of != nil && of.hop != h {
		answered = nil
	}
	switch e.read(&head, answered); {
	case e.Kind == Request && m.ToServer:
		r := &request{Context: ctx, call: e.Call, hop: h, id: string(head.id), method: e.Method, name: e.Name, client: e.Client, began: e.Time}
		if h.name == Client {
			r.call = h.log.rounds.call(head.state)
			if r.call == 0 {
				r.call = h.log.calls.Add(1)
			}
			e.Call = r.call
		}
		if ctx = r; h.log.noting.Load() > 0 {
			ctx = mcp.WithNoter(r, r)
		}
	case e.Kind == Response && h.name == Client && !m.ToServer && e.Call > 0:
		h.log.rounds.add(head.result, e.Call)
	}
	h.log.add(e)
	return ctx
}
