package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// shortLife is the minimum duration of a connection for its end not to count as a failure,
	// unless the member responded to a request.
	shortLife = 10 * time.Second
	// startingPause is the time between two progress notifications to a client whose call waits for
	// a member to start.
	startingPause = time.Second
)

// A member is one server behind the gateway.
type member struct {
	gateway  *Gateway
	ctx      context.Context // done when the member is gone after it was removed or replaced
	cancel   context.CancelFunc
	staying  context.Context // done when the member is removed or replaced: no further request begins then; see replace.go
	dismiss  context.CancelCauseFunc
	before   atomic.Pointer[member]  // the member that this one replaces, while that still runs
	behind   *behind                 // nil unless the member waits for another one
	done     chan struct{}           // closed when none of the member's goroutines runs
	calls    calls                   // running requests of clients
	called   atomic.Bool             // set if a client called a tool since lists were last requested
	stale    atomic.Pointer[pending] // the changed lists; nil while changes are not followed
	users    users                   // records who used it; see logs.go
	name     string
	asker    string                 // its name in the state of requests for which it needs input; see takeAsker
	prefixed atomic.Pointer[string] // the prefix of its tools and prompts; see names.go
	index    int                    // order of starts: members with a lower index start first
	upstream Upstream
	waiting  mcp.Handler // wraps the member and waits for its tasks; see tasks.go
	around   atomic.Pointer[surroundings]
	settled  chan struct{} // closed when its definitions are known or its first attempt to connect failed
	once     sync.Once

	waitsForClient atomic.Bool   // set if it has a client of its own, which it may send requests to once it is connected; see [Gateway.Server]
	hasClient      chan struct{} // closed when that client listens or sends a request
	meetClient     func()        // closes hasClient

	wake   chan struct{} // capacity 1; a value means that a request needs the server
	wanted atomic.Bool   // set while a request waits for the member to start

	instances instances     // used if users or clients do not share the member
	reading   chan struct{} // capacity 1; contains a value while the member's lists are read

	responded atomic.Bool // set by a response, and reset when the connection is lost
	shares    atomic.Bool // set if its results may name URIs that clients know as another member's; see resources.go

	mu        sync.RWMutex
	state     State
	doing     string // describes the progress of a start
	err       error
	failures  int                     // failed starts and connections of a short life in a row
	retry     time.Time               // when it may be started again after more than one failure
	attempts  int                     // failed attempts to start it
	restarted bool                    // set to request a new connection; see restart.go
	end       context.CancelCauseFunc // ends the present attempt to connect; nil before the first
	changed   chan struct{}           // closed and replaced when any of these fields changes
	handler   mcp.Handler             // nil while it is not connected
	client    *mcp.Client
	ends      int         // lost connections
	endedBy   error       // the reason why the last one was lost
	cut       *mcp.Client // the last connection that Restart ended
	asked     *breaker    // wraps client; nil for a Handler in this process
	listings  map[string]listing
	listedOf  *definitions.Definitions // the definitions that listings were made from; nil without listings
	shown     uint64                   // how often listings were made
	offered   offeredOnce              // see server.go
	known     *definitions.Definitions // the remembered or read definitions; nil without them
	began     time.Time                // when the reading of the lists last began
	unread    map[string]error         // the reasons why lists could not be read, by method; nil, or never changed
	listsCut  map[string]error         // the reasons why only a part of a list is used, by method; nil, or never changed
	gateways  []string                 // the ids of the gateways behind it; see loop.go

	era        string      // the era in which it can send requests, as in [definitions.Definitions]; see era.go
	eraChanged bool        // set if this process found the era
	eraDue     atomic.Bool // set if the present connection has the wrong era
	changing   bool        // set while the connection may be ended because of its era
}

func newMember(g *Gateway, name string, u Upstream) *member {
	m := &member{gateway: g, name: name, upstream: u, done: make(chan struct{}), settled: make(chan struct{}), wake: make(chan struct{}, 1), reading: make(chan struct{}, 1), changed: make(chan struct{}), hasClient: make(chan struct{})}
	m.meetClient = sync.OnceFunc(func() { close(m.hasClient) })
	m.calls.none = make(chan struct{})
	m.ctx, m.cancel = context.WithCancel(g.ctx)
	m.staying, m.dismiss = context.WithCancelCause(m.ctx)
	m.waiting = waitForTasks(mcp.HandlerFunc(m.handle))
	m.around.Store(m.surroundedAs(u))
	if u.Program {
		m.state = Waiting
	}
	if u.Memory == nil {
		return m
	}
	if m.known = u.Memory.Load(); m.known != nil {
		m.era = m.known.Era
		m.listings, m.listedOf = m.listingsOf(m.around.Load(), m.known, nil), m.known
		if !u.Eager || m.isolated() {
			m.state = Idle
		}
		m.settle()
	}
	return m
}

func (m *member) settle() { m.once.Do(func() { close(m.settled) }) }

func (m *member) isSettled() bool {
	select {
	case <-m.settled:
		return true
	default:
		return false
	}
}

// lazy reports whether the member starts only when it is used.
func (m *member) lazy() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known != nil && (m.isolated() || m.upstream.Memory != nil && !m.upstream.Eager)
}

func (m *member) failedStarts() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.attempts
}

func (m *member) listing(k kind) listing {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.listings[k.Name]
}

// offered returns the kinds of lists that the server has.
func offered(c *mcp.Client) kinds {
	capabilities := c.Capabilities()
	return bitsOf(func(k kind) bool { return capabilities.List(k.Capability) != nil })
}

// start begins to serve the member until it is removed or the gateway is closed. If before is not
// nil, the member replaces before.
func (m *member) start(before *member) {
	m.gateway.running.Go(func() {
		defer close(m.done)
		if m.upstream.OnEnd != nil {
			defer m.upstream.OnEnd()
		}
		defer m.instances.running.Wait()
		defer m.instances.end(nil)
		defer m.settle() // ends the waiting for a removed member
		if before != nil && !m.takeOver(before) {
			return
		}
		if m.upstream.Handler == nil {
			m.run(m.ctx)
			return
		}
		if err := m.serve(m.ctx, m.upstream.Handler, nil); m.ctx.Err() == nil {
			m.failed(err)
		}
	})
}

// run connects to the member, and connects again after each loss or when it is used, until ctx is
// done.
func (m *member) run(ctx context.Context) {
	if m.lazy() && !m.waitToConnect(ctx) {
		return
	}
	for ctx.Err() == nil {
		attempt, end := m.attempt(ctx)
		began, err := m.connect(attempt)
		end(nil)
		if ctx.Err() != nil {
			return
		}
		if m.isRestarted() {
			if m.upstream.Memory == nil {
				m.forget()
			}
			m.mu.Lock()
			m.handler, m.client, m.asked, m.err = nil, nil, nil, nil
			m.mu.Unlock()
			m.set(Connecting, nil)
			continue
		}
		m.lost(began, err)
		if !m.waitToConnect(ctx) {
			return
		}
	}
}

// connect connects to the member and serves it until the connection is lost. It returns the error,
// and the time when it was connected, which is zero if it was not.
func (m *member) connect(ctx context.Context) (began time.Time, err error) {
	if m.gateway.options.OneClient && !m.waitForClient(ctx) {
		return began, context.Cause(ctx)
	}
	release := func() {}
	if m.upstream.Program {
		if release = m.gateway.starts.wait(ctx, m, func() { m.set(Waiting, nil) }); release == nil {
			return began, context.Cause(ctx)
		}
		defer release()
	}
	m.set(Connecting, nil)
	c, err := m.upstream.Dial(ctx, &Start{member: m, release: release, era: eras.Of(m.gateway.first.meta())})
	if err != nil {
		return began, err
	}
	defer c.Close()
	release()
	began = time.Now()
	return began, m.serve(ctx, c, c)
}

// waitForClient waits until the only client has declared its capabilities. If the member has a
// client of its own, it also waits until that client listens or sends a request. It returns false
// when ctx is done.
func (m *member) waitForClient(ctx context.Context) bool {
	select {
	case <-m.gateway.first.known:
	case <-ctx.Done():
		return false
	}
	if !m.waitsForClient.Load() {
		return true
	}
	select {
	case <-m.hasClient:
		return true
	case <-ctx.Done():
		return false
	}
}

// lost records that the connection ended, or could not be made.
func (m *member) lost(began time.Time, err error) {
	m.mu.Lock()
	if m.failures++; errors.Is(err, errRead) {
		m.failures, err = 0, nil
	} else if !began.IsZero() && (m.responded.Swap(false) || time.Since(began) >= shortLife) {
		m.failures = 0
	}
	m.retry = time.Now().Add(min(firstBackoff<<min(max(m.failures-1, 0), 20), lastBackoff))
	if began.IsZero() {
		m.attempts++
	} else if err != nil {
		m.ends, m.endedBy = m.ends+1, err
	}
	m.mu.Unlock()
	if !began.IsZero() && m.lazy() {
		m.gateway.log.Debug("gateway: server ended", "server", m.name, "error", err)
		m.set(Idle, err)
	} else {
		m.failed(err)
	}
	m.wanted.Store(false)
	select {
	case <-m.wake: // removes the value of a request that got the error; other requests send their own
	default:
	}
}

// waitToConnect waits until the gateway should connect to the member, for the first time or again.
// It returns false when ctx is done. A lazy member waits for a request. Any other member waits
// until its retry is due, or for a request if it did not fail repeatedly.
func (m *member) waitToConnect(ctx context.Context) bool {
	if m.isRestarted() {
		return true
	}
	m.mu.RLock()
	pause := time.Until(m.retry)
	m.mu.RUnlock()
	var due <-chan time.Time
	if !m.lazy() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-m.wake: // only requests that need not wait send it
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed records the reason why the member cannot be used. If no definitions are remembered, it
// withdraws the offer.
func (m *member) failed(err error) {
	m.gateway.log.Debug("gateway: server lost", "server", m.name, "error", err)
	if m.upstream.Memory == nil && !m.isolated() || !m.isKnown() { // otherwise the member may still offer the earlier lists
		m.forget()
	}
	m.set(Failed, err)
	m.settle()
}

// serve offers the Handler's lists until ctx is done or the connection is lost, and returns the
// reason. It listens before it reads, so that it misses no change.
func (m *member) serve(ctx context.Context, h mcp.Handler, c *mcp.Client) error {
	if c == nil {
		c = mcp.NewClientWith(h, mcp.ClientOptions{Name: m.name, Logger: m.gateway.log})
	}
	if m.isolated() { // calls have connections of their own
		ctx, cancel := context.WithCancelCause(ctx)
		return m.follow(ctx, c, m.gateway.newBreaker(m.name, h, m.gateway.report), func() {}, func() { cancel(errRead) })
	}
	var asked *breaker
	if m.upstream.Handler == nil {
		asked = m.gateway.newBreaker(m.name, h, m.gateway.report)
		h = asked
	}
	use := func(s State) func() {
		return func() {
			m.mu.Lock()
			m.handler, m.client, m.asked = h, c, asked
			m.mu.Unlock()
			m.set(s, nil) // wakes the waiting requests
		}
	}
	return m.follow(ctx, c, asked, use(Connecting), use(Connected))
}

// errRead is the reason for the end of a connection that was made to read the lists.
var errRead = errors.New("what the server offers was read")

// follow reads the lists once, and again after each change, until ctx is done or the connection is
// lost. It returns the reason. Before the first reading, it calls early if calls need not wait for
// the lists: they are known and there is no Check. After the first reading, it calls read. The
// breaker asked wraps the connection.
func (m *member) follow(ctx context.Context, c *mcp.Client, b *breaker, early, read func()) error {
	return m.attend(ctx, c, b, m.getsSharedLogs, func(ctx context.Context, changes *pending) error {
		if !m.isolated() {
			m.stale.Store(changes)
			defer m.stale.Store(nil)
			defer changes.done()
		}
		first := !m.isKnown()
		if !first && m.around.Load().Check == nil {
			early()
		}
		changed, err := m.readAll(ctx, c, offered(c), true)
		if err != nil {
			return err
		}
		if first { // names of other members may have waited for it, even if it offers none
			changed |= named
		}
		if changed != 0 {
			m.gateway.changedOffer(changed)
		}
		read()
		m.settle()
		m.readChanged(ctx, c, changes)
		return nil
	})
}

// attend checks the health of a connection and listens for changes of the lists. It runs until ctx
// is done, the connection is lost or then returns an error, and returns the reason. It calls then
// when the server acknowledged the subscription or failed to do so in time. The function gets
// selects the clients that get log messages.
func (m *member) attend(ctx context.Context, c *mcp.Client, b *breaker, gets func(*logListener) bool, then func(context.Context, *pending) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	running.Go(func() {
		select {
		case <-c.Done(): // never closed for a Handler in this process
			cancel(c.Err())
		case <-ctx.Done():
		}
	})
	if m.upstream.Handler == nil {
		running.Go(func() { cancel(m.checkHealth(ctx, c, b)) })
	}
	changes, agreed := newPending(), make(chan struct{})
	running.Go(func() { m.listen(ctx, c, changes, gets, sync.OnceFunc(func() { close(agreed) })) })
	limit := time.NewTimer(agreeTime)
	defer limit.Stop()
	select {
	case <-agreed:
	case <-limit.C:
	case <-ctx.Done():
	}
	if err := m.leadsBack(ctx, c); err != nil {
		return err
	}
	if err := then(ctx, changes); err != nil {
		return err
	}
	return context.Cause(ctx)
}
