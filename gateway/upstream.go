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

// An Upstream describes a server: how and when the gateway connects to it, and how clients see it.
type Upstream struct {
	// Dial connects to the server. The gateway calls it in the background, and again when the
	// connection was lost. Its errors must name the server.
	Dial func(ctx context.Context, s *Start) (*mcp.Client, error)
	// Handler is a server in this process. It is an alternative to Dial.
	Handler mcp.Handler
	// Prefix precedes [Separator] in the names of the server's tools and prompts; the default is
	// the server's name. With NoPrefix they have no prefix. [Options.NoPrefix] does the same for
	// all servers.
	Prefix   string
	NoPrefix bool
	// Names maps the server's own names of tools to the names that clients see. PromptNames does
	// the same for prompts. Names that are not in the maps get the prefix.
	Names       map[string]string
	PromptNames map[string]string
	// Identity, if not empty, identifies the definition of the server. A call that waits for input
	// of its client can continue at each gateway whose server has the same name and Identity, such
	// as a replica. Otherwise it can continue only until the server is replaced or removed.
	Identity string
	// Program is set if Dial starts a program on this machine. The gateway limits the number of
	// programs that start at the same time.
	Program bool
	// Memory stores the server's definitions. Without it, the gateway connects to the server at
	// once, and withdraws its entries when the connection is lost.
	Memory *definitions.Entry
	// Eager makes the gateway connect at once, and again when the connection was lost, even if the
	// server's definitions are remembered.
	Eager bool
	// Isolation decides which users or clients share a connection. The default is [Shared], and a
	// Handler is always shared. The lists are read once for all connections.
	Isolation Isolation
	// Whose, if not nil, returns the key of the connection for a request with [PerUser], in place
	// of its principal. Requests with equal keys, compared by ==, share a connection. The lists are
	// still read over a connection that belongs to no user. An error fails the request. Whose must
	// be safe for concurrent use.
	Whose func(ctx context.Context, req *mcp.Request) (any, error)
	// Owners, if not nil, decides which of several gateways runs an instance of the server, and passes
	// requests for the others on. It has no effect with Shared, Whose, or one client. An instance
	// for a client whose requests always reach this gateway belongs to this gateway.
	Owners Owners
	// MaxInstances is the maximum number of connections with another Isolation than Shared; the
	// default is 16. An unused connection is ended to make room for another. With Whose, the
	// maximum applies to each principal, and the maximum for all is its square. IdleTime is how
	// long an unused connection is kept; the default is 10 minutes, and for ever with [One].
	MaxInstances int
	IdleTime     time.Duration
	// OnRead, if not nil, is called with the server's lists when they were read and have changed,
	// so that the caller can store them. The function must not change them.
	OnRead func(d *definitions.Definitions)
	// OnEnd, if not nil, is called after the server was removed or replaced or the gateway was
	// closed, when none of the server's goroutines runs.
	OnEnd func()
	// Middleware sees every request before the server is started, and every list of the server's
	// entries, even a remembered one. Requests have the server's own names, and the metadata and
	// Peer of the client. Lists are read without a client. See [Gateway.Reread].
	Middleware []mcp.Middleware
	// Check, if not nil, returns the reason not to send a request, or nil. It is called for each
	// request that passed Middleware, once the lists were read over the present connection and
	// passed through Middleware. So requests wait for the lists even if definitions are remembered.
	// Calls of tools and requests for prompts fail if their list could not be read. Check must be
	// safe for concurrent use. If Isolation is not Shared, Check is not called, and Instance must
	// be set whenever Check is set.
	Check func(req *mcp.Request) error
	// Instance, if not nil, returns the middleware of one connection of a server whose Isolation is
	// not [Shared]. The middleware sees the lists of tools and prompts of that connection when they
	// change, and when Reread is called. Instance must be safe for concurrent use.
	Instance func() mcp.Middleware
}

// A Start is one attempt to connect to a server. Its methods are for the Dial function that got it.
// They are safe for concurrent use.
type Start struct {
	member  *member
	release func()
	whose   any
	era     string // the era of the connection's only client; empty if it may have several
}

// Client returns the metadata that the gateway's only client declared. It returns nil if the
// gateway may have several clients. See [Options.OneClient].
func (s *Start) Client() *mcp.Meta { return s.member.gateway.first.meta() }

// Whose returns the result of [Upstream.Whose] for the connection. It returns nil for a connection
// that belongs to no user.
func (s *Start) Whose() any { return s.whose }

// Note sets the text that [Status] shows for the progress of the start. It should have a few words.
func (s *Start) Note(text string) { s.member.note(text) }

// Yield lets the next program start although this one is not ready. It is for phases of a start
// during which other programs need not wait.
func (s *Start) Yield() { s.release() }

// A startQueue limits the number of programs that start at the same time. Programs that a request
// waits for come first, then those that failed least often, then those that were added first. Once
// definitions of servers are remembered, the queue reserves one place for programs that a request
// waits for. So programs that start only to be read, or that fail at every start, do not delay
// them.
type startQueue struct {
	mu      sync.Mutex
	free    int
	alone   bool // set if there is only one place, for all programs
	keep    bool // reserves the last place for programs that a request waits for
	waiting []*queuedStart
}

// A queuedStart is one member's place in the queue.
type queuedStart struct {
	member *member
	failed int           // number of its failed starts
	ready  chan struct{} // closed when it may start
}

// wait waits until the member may start. The caller calls release when the start has ended; release
// is nil if ctx is done first. If the member cannot start at once, wait calls waits.
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
	if i < 0 { // the turn of the member came at the same moment
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

// again starts waiting programs if there is room. If keep is set, the queue reserves its last place
// from now on.
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
	known      chan struct{} // closed when clientMeta is set
	clientMeta mcp.Meta

	mu        sync.Mutex
	listening []*listening
}

// A listening is a listen request of the client.
type listening struct {
	peer mcp.Peer
	has  func(*member) bool // reports whether the request covers a server
}

// register registers a listen request of the client until over is called. A legacy client can get
// requests through it.
func (f *firstClient) register(l *listening) (over func()) {
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

// ask sends the client a request that a member made outside of calls, such as one for the roots
// when the member starts. If the client does not listen to that member, or cannot get requests that
// way, ask returns [mcp.ErrInputRequired].
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

// noteClient stores the metadata of the first request if the gateway has only one client. Its
// members then connect, as that request declares the client's capabilities.
func (g *Gateway) noteClient(req *mcp.Request) {
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
