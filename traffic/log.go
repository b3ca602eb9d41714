package traffic

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// The limits of what waits for one who watches. What is more is missed.
const (
	maxWaiting      = 4_096    // messages
	maxWaitingBytes = 32 << 20 // of them
)

// A Log shows messages to everybody who watches. The zero value is ready to use, and its methods are safe for concurrent
// use.
type Log struct {
	calls    atomic.Uint64
	rounds   rounds
	asked    atomic.Uint64 // of Handlers in this process, and by them
	watching atomic.Int32

	mu       sync.RWMutex
	watchers []*watcher
}

// A watcher is one who watches.
type watcher struct {
	events chan *Event
	bytes  atomic.Int64 // of those that wait
	missed atomic.Int64
}

// Clients is the wire of what serves clients: [mcp.ServeOptions].
func (l *Log) Clients() mcp.Wire { return &hop{log: l, name: Client} }

// Server is the wire of a client of the server with that name: [mcp.ClientOptions].
func (l *Log) Server(name string) mcp.Wire { return &hop{log: l, name: Server, server: name} }

// Watch calls show with every message from now on, one after the other, until ctx is done, and what came before that was
// shown, or show returns an error, which Watch returns. An event belongs to show.
func (l *Log) Watch(ctx context.Context, show func(*Event) error) error { return l.Join()(ctx, show) }

// Join is Watch in two steps: what goes from now on is kept for watch, which must be called, once.
func (l *Log) Join() (watch func(ctx context.Context, show func(*Event) error) error) {
	w := &watcher{events: make(chan *Event, maxWaiting)}
	l.mu.Lock()
	l.watchers = append(l.watchers, w)
	l.mu.Unlock()
	l.watching.Add(1)
	return func(ctx context.Context, show func(*Event) error) error {
		defer l.leave(w)
		return w.show(ctx, show)
	}
}

func (w *watcher) show(ctx context.Context, show func(*Event) error) error {
	for {
		select {
		case e := <-w.events:
			if err := w.showOne(e, show); err != nil {
				return err
			}
		case <-ctx.Done():
			for { // what came before the end
				select {
				case e := <-w.events:
					if err := w.showOne(e, show); err != nil {
						return err
					}
				default:
					return context.Cause(ctx)
				}
			}
		}
	}
}

func (w *watcher) showOne(e *Event, show func(*Event) error) error {
	w.bytes.Add(-e.weight())
	if missed := w.missed.Swap(0); missed > 0 {
		if err := show(&Event{Time: e.Time, Kind: Dropped, Count: int(missed)}); err != nil {
			return err
		}
	}
	shown := *e // others see it, too
	shown.hide()
	return show(&shown)
}

func (l *Log) leave(w *watcher) {
	l.watching.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers = slices.DeleteFunc(slices.Clone(l.watchers), func(one *watcher) bool { return one == w })
}

// add gives an event to all who watch, and waits for none of them.
func (l *Log) add(e *Event) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, w := range l.watchers {
		w.add(e)
	}
}

func (w *watcher) add(e *Event) {
	size := e.weight()
	if w.bytes.Add(size) > maxWaitingBytes {
		w.bytes.Add(-size)
		w.missed.Add(1)
		return
	}
	select {
	case w.events <- e:
	default:
		w.bytes.Add(-size)
		w.missed.Add(1)
	}
}

// A hop is the wire of one side.
type hop struct {
	log          *Log
	name, server string
}

// A request is what the messages that follow it have to know of it.
type request struct {
	call         uint64
	hop          *hop
	id           jsonrpc.ID
	method, name string
	client       string
	began        time.Time
}

// Watching implements [mcp.Wire].
func (h *hop) Watching() bool { return h.log.watching.Load() > 0 }

// Passes implements [mcp.Wire].
func (h *hop) Passes(ctx context.Context, m mcp.WireMessage) context.Context {
	e := &Event{Time: time.Now(), Hop: h.name, Server: h.server, ToServer: m.ToServer, Revision: m.Revision, Transport: m.Transport, Size: len(m.Message)}
	if c := m.Client; c != nil {
		e.Client = c.Name + "/" + c.Version
	}
	of, _ := mcp.NoterOf(ctx).(*request)
	if of != nil {
		e.Call = of.call
	}
	if m.Err != nil {
		if e.Kind, e.Fault = Failure, strings.Clone(plaintext.Beginning(m.Err.Error(), maxFault)); of != nil && of.hop == h {
			e.answers(of)
		}
		h.log.add(e)
		return ctx
	}
	e.Message = bytes.Clone(m.Message)
	parsed, fault := jsonrpc.Parse(e.Message, jsonrpc.Limits{})
	if fault != nil { // the peer hears of it
		e.Kind, e.Fault, e.Message = Failure, fault.Message, nil
		h.log.add(e)
		return ctx
	}
	answered := of
	if of != nil && of.hop != h {
		answered = nil
	}
	switch e.read(&parsed, answered); {
	case e.Kind == Request && m.ToServer:
		r := &request{call: e.Call, hop: h, id: parsed.ID, method: e.Method, name: e.Name, client: e.Client, began: e.Time}
		if h.name == Client {
			r.call = h.log.rounds.call(&parsed)
			if r.call == 0 {
				r.call = h.log.calls.Add(1)
			}
			e.Call = r.call
		}
		ctx = mcp.WithNoter(ctx, r)
	case e.Kind == Response && h.name == Client && !m.ToServer && e.Call > 0:
		h.log.rounds.add(&parsed, e.Call)
	}
	h.log.add(e)
	return ctx
}
