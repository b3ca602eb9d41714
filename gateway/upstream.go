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

// An Upstream says how a server is reached, and when.
type Upstream struct {
	// Dial connects to the server. It is called in the background, and again when
	// the connection was lost. Errors name the server.
	Dial func(ctx context.Context, s *Start) (*mcp.Client, error)
	// Handler is the server where it is in this process, in place of Dial.
	Handler mcp.Handler
	// Prefix is what the names of its tools and prompts get in front, before [Separator]: by default
	// the server's name. NoPrefix gives them none, as [Options.NoPrefix] does for all.
	Prefix   string
	NoPrefix bool
	// Names are the names of tools that clients are to see, by those that the server gives them, and
	// PromptNames those of prompts; the others get the prefix.
	Names       map[string]string
	PromptNames map[string]string
	// Program says that Dial starts a program on this machine: only some start at
	// the same time.
	Program bool
	// Memory is where the server's definitions are remembered. Without it the
	// server is connected to at once, and what it offers is taken back when it is
	// lost.
	Memory *definitions.Entry
	// Eager connects to the server at once, and again when it was lost, also
	// where its definitions are remembered.
	Eager bool
	// Isolation says whether users or clients have a connection each; [Shared] by default, and for a
	// Handler. What the server offers is read once for all of them.
	Isolation Isolation
	// Whose, if not nil, says with [PerUser] whose connection a request is for, in place of its principal: those with the
	// same value, which is compared, share one. What the server offers is still read by a connection that is nobody's. The
	// error fails the request. It must be safe for concurrent use.
	Whose func(ctx context.Context, req *mcp.Request) (any, error)
	// MaxInstances is how many connections there may be then; default 16. One that nobody uses makes room
	// for another. With Whose so many are each principal's, and as many principals can have all of theirs. IdleTime is how long one that nobody uses is kept; default 10 minutes.
	MaxInstances int
	IdleTime     time.Duration
	// OnRead, if not nil, is called with what the server lists whenever that was read and differs from what it was: for those who
	// remember it for others, and not for the gateway. It is not to be changed.
	OnRead func(d *definitions.Definitions)
	// OnEnd, if not nil, is called when the server was removed, replaced or its gateway closed, and nothing of it runs any more.
	OnEnd func()
	// Middleware sees every request to the server, before it is started, and every list of what it
	// offers, also where that is remembered: under the names that the server gives, with the client's
	// Request; lists are read without a client. See [Gateway.Reread].
	Middleware []mcp.Middleware
	// Check, if not nil, says why a request is not sent after all. It is called for each one that Middleware let
	// through, and only once the lists were read over the connection that the request goes to, and given to
	// Middleware: with it, requests wait for that also where definitions are remembered, and calls of tools
	// and requests for prompts fail where their list could not be read. It must be safe for concurrent use. It is not called
	// where users or clients have a connection each: Instance is for these, and required with Check.
	Check func(req *mcp.Request) error
	// Instance, if not nil, returns what stands around one connection of a server with another Isolation than [Shared],
	// and sees that connection's own lists of tools and prompts when these change, or Reread is called. It must be safe
	// for concurrent use.
	Instance func() mcp.Middleware
}

// A Start is one attempt to connect to a server. Its methods are for the Dial
// function that was given it, and safe for concurrent use.
type Start struct {
	member  *member
	release func()
	whose   any
	era     string // of the one client that the connection is for; empty where there may be several
}

// Client is what the gateway's one client said of itself; nil where there may be
// several. See [Options.OneClient].
func (s *Start) Client() *mcp.Meta { return s.member.gateway.first.meta() }

// Whose is what [Upstream.Whose] said of the request that the connection is for; nil for one that is nobody's.
func (s *Start) Whose() any { return s.whose }

// Note says in a few words what the start is doing, for people to read; see
// [Status].
func (s *Start) Note(text string) { s.member.note(text) }

// Yield lets the next program start, although this one is not ready: it does
// nothing that others would have to wait for.
func (s *Start) Yield() { s.release() }

// A startQueue lets a number of programs start at the same time: first those that a
// request waits for, then those that failed least often, then those that were added
// first. Once the definitions of others are remembered, one place is kept for programs
// that a request waits for: those that start to be learned, or that fail at every
// start, do not hold it up.
type startQueue struct {
	mu      sync.Mutex
	free    int
	alone   bool // there is one place only, for all programs
	keep    bool // the last place is for programs that a request waits for
	waiting []*queuedStart
}

// A queuedStart is one member's place in the queue.
type queuedStart struct {
	member *member
	failed int           // how often its start failed before
	ready  chan struct{} // closed when it may start
}

// wait waits until the member may start, and returns what ends its start; nil
// when ctx is done. waits is called where that is not at once.
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

// again lets those start that there is room for now.
func (q *startQueue) again(keep bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keep = q.keep || keep
	q.next()
}

// next lets those start that there is room for; the lock is held.
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

// A firstClient is what a gateway with one client knows of it.
type firstClient struct {
	once       sync.Once
	known      chan struct{} // closed when clientMeta is there
	clientMeta mcp.Meta

	mu        sync.Mutex
	listening []*listening
}

// A listening is a listen request of the client.
type listening struct {
	peer mcp.Peer
	has  func(*member) bool // the servers that it is about
}

// listens notes a listen request of the client until the function that it returns
// is called: a legacy client can be asked on it.
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

// ask asks the client what a member asks outside of calls, such as the roots at its
// start. Where the client does not listen to that member, or cannot be asked on that, the request
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

// meet lets the members of a gateway for one client connect: its first request says what it declares.
func (g *Gateway) meet(req *mcp.Request) {
	if g.options.OneClient {
		g.first.setMeta(&req.Meta)
	}
}

// setMeta keeps what the client said of itself with its first request.
func (f *firstClient) setMeta(m *mcp.Meta) {
	f.once.Do(func() {
		f.clientMeta = mcp.Meta{Revision: m.Revision, Client: m.Client, Capabilities: m.Capabilities}
		close(f.known)
	})
}

// meta is what the client said; nil before that.
func (f *firstClient) meta() *mcp.Meta {
	select {
	case <-f.known:
		return &f.clientMeta
	default:
		return nil
	}
}
