package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/mcp"
)

// An Upstream describes how and when a server is reached.
type Upstream struct {
	// Dial connects to the server. It is called in the background, and again when the connection
	// was lost. Errors name the server.
	Dial func(ctx context.Context, s *Start) (*mcp.Client, error)
	// Handler is a server in this process, in place of Dial.
	Handler mcp.Handler
	// Prefix precedes [Separator] in the names of its tools and prompts; the default is the
	// server's name. With NoPrefix they have no prefix, like [Options.NoPrefix] for all servers.
	Prefix   string
	NoPrefix bool
	// Names maps the server's own names of tools to those that clients see, and PromptNames those
	// of prompts. The others get the prefix.
	Names       map[string]string
	PromptNames map[string]string
	// Program is set if Dial starts a program on this machine. The number of simultaneous starts is
	// limited.
	Program bool
	// Memory stores the server's definitions. Without it the server is connected at once, and its
	// offer is withdrawn when it is lost.
	Memory *definitions.Entry
	// Eager connects to the server at once, and again when it was lost, even if its definitions are
	// remembered.
	Eager bool
	// Isolation decides whether each user or client has a connection. The default, and that of a
	// Handler, is [Shared]. The lists are read once for all of them.
	Isolation Isolation
	// Whose, if not nil, returns the key of the connection for a request with [PerUser], in place
	// of its principal. Requests with equal keys, compared by ==, share a connection. The lists are
	// still read by a connection of no user. An error fails the request. Whose must be safe for
	// concurrent use.
	Whose func(ctx context.Context, req *mcp.Request) (any, error)
	// MaxInstances is the maximum number of these connections; the default is 16. An unused
	// connection makes room for another. With Whose it is the maximum for each principal, and the
	// total is its square. IdleTime is how long an unused connection is kept; the default is 10
	// minutes.
	MaxInstances int
	IdleTime     time.Duration
	// OnRead, if not nil, is called with the server's lists whenever they were read and have
	// changed. It is for storing them for others than the gateway. They must not be changed.
	OnRead func(d *definitions.Definitions)
	// OnEnd, if not nil, is called after the server was removed or replaced or its gateway closed,
	// when none of its goroutines runs.
	OnEnd func()
	// Middleware sees every request to the server, before it is started, and every list of its
	// entries, even a remembered one. Requests have the server's own names and the client's
	// Request; lists are read without a client. See [Gateway.Reread].
	Middleware []mcp.Middleware
	// Check, if not nil, returns the reason not to send a request, or nil. It is called for each
	// request that Middleware let through, once the lists were read over its connection and passed
	// through Middleware. So requests wait for the lists even if definitions are remembered. Calls
	// of tools and requests for prompts fail if their list could not be read. Check must be safe
	// for concurrent use. It is not called if users or clients have a connection each: these need
	// Instance, which is required with Check.
	Check func(req *mcp.Request) error
	// Instance, if not nil, returns the middleware of one connection of a server with another
	// Isolation than [Shared]. The middleware sees that connection's own lists of tools and prompts
	// when these change, or Reread is called. Instance must be safe for concurrent use.
	Instance func() mcp.Middleware
}

// A Start is one attempt to connect to a server. Its methods are for the Dial function that got it,
// and safe for concurrent use.
type Start struct {
	member  *member
	release func()
	whose   any
	era     string // the era of the one client of the connection; empty if there may be several
}

// Client returns the metadata that the gateway's one client declared; nil if there may be several.
// See [Options.OneClient].
func (s *Start) Client() *mcp.Meta { return s.member.gateway.first.meta() }

// Whose returns the result of [Upstream.Whose] for the connection; nil for one of no user.
func (s *Start) Whose() any { return s.whose }

// Note describes the progress of the start in a few words, for users; see [Status].
func (s *Start) Note(text string) { s.member.note(text) }

// Yield lets the next program start although this one is not ready, as others need not wait for its
// present work.
func (s *Start) Yield() { s.release() }

// A startQueue limits the number of programs that start at the same time. The order is: those that
// a request waits for, those that failed least often, those that were added first. Once definitions
// of servers are remembered, one place is kept for programs that a request waits for. So programs
// that start only to be read, or that fail at every start, do not delay them.
type startQueue struct {
	mu      sync.Mutex
	free    int
	alone   bool // is set if there is only one place, for all programs
	keep    bool // keeps the last place for programs that a request waits for
	waiting []*queuedStart
}

// A queuedStart is one member's place in the queue.
type queuedStart struct {
	member *member
	failed int           // counts its failed starts
	ready  chan struct{} // is closed when it may start
}

// wait waits until the member may start. The function release ends its start; it is nil if ctx is
// done first. If the member cannot start at once, wait calls waits.
func (q *startQueue) wait(ctx context.Context, m *member, waits func()) (release func()) {
	t := &queuedStart{m, m.failedStarts(), make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, t)
	q.next()
	q.mu.Unlock()
	select {
	case <-t.ready:
		return sync.OnceFunc(q.release)
	default:
	}
	waits()
	select {
	case <-t.ready:
		return sync.OnceFunc(q.release)
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, t)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // its turn came at the same moment
		q.release()
	}
	return nil
}

func (q *startQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	q.next()
}

// again starts programs if there is room now.
func (q *startQueue) again(keep bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keep = q.keep || keep
	q.next()
}

// next starts programs while there is room. The caller holds the lock.
func (q *startQueue) next() {
	for q.free > 0 && len(q.waiting) > 0 {
		first := slices.MinFunc(q.waiting, func(a, b *queuedStart) int {
			if wanted := a.member.wanted.Load(); wanted != b.member.wanted.Load() {
				if wanted {
					return -1
				}
				return 1
			}
			return cmp.Or(a.failed-b.failed, a.member.index-b.member.index)
		})
		if q.keep && !q.alone && q.free == 1 && !first.member.wanted.Load() {
			return
		}
		close(first.ready)
		q.waiting = slices.DeleteFunc(q.waiting, func(t *queuedStart) bool { return t == first })
		q.free--
	}
}

// A firstClient holds the metadata and subscriptions of the client of a gateway with one client.
type firstClient struct {
	once       sync.Once
	known      chan struct{} // is closed when clientMeta is set
	clientMeta mcp.Meta

	mu        sync.Mutex
	listening []*listening
}

// A listening is a listen request of the client.
type listening struct {
	peer mcp.Peer
	has  func(*member) bool // reports whether it covers a server
}

// listens registers a listen request of the client until over is called. A legacy client can get
// requests on it.
func (f *firstClient) listens(l *listening) (over func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listening = append(f.listening, l)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		i := slices.Index(f.listening, l)
		f.listening = slices.Delete(f.listening, i, i+1)
	}
}

// ask sends the client a request that a member made outside of calls, such as for the roots at its
// start. If the client does not listen to that member, or cannot get requests that way, the request
// has to wait for its next call.
func (f *firstClient) ask(ctx context.Context, m *member, q mcp.ServerRequest) (json.RawMessage, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.listening, func(l *listening) bool { return l.has(m) })
	if i < 0 {
		f.mu.Unlock()
		return nil, mcp.ErrInputRequired
	}
	peer := f.listening[i].peer
	f.mu.Unlock()
	return peer.Ask(ctx, q)
}

// meet lets the members of a gateway for one client connect, as its first request declares the
// capabilities.
func (g *Gateway) meet(req *mcp.Request) {
	if g.options.OneClient {
		g.first.setMeta(&req.Meta)
	}
}

// setMeta stores the metadata of the client's first request.
func (f *firstClient) setMeta(m *mcp.Meta) {
	f.once.Do(func() {
		f.clientMeta = mcp.Meta{Revision: m.Revision, Client: m.Client, Capabilities: m.Capabilities}
		close(f.known)
	})
}

// meta returns the client's metadata; nil before its first request.
func (f *firstClient) meta() *mcp.Meta {
	select {
	case <-f.known:
		return &f.clientMeta
	default:
		return nil
	}
}
