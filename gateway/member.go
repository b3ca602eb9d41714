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
	// shortLife is how long a connection must have lived at least for its end to
	// be no failure, unless the member responded to a request.
	shortLife = 10 * time.Second
	// startingPause is the time between two notifications of progress to a client
	// whose call waits for a start.
	startingPause = time.Second
)

// A member is one server behind the gateway.
type member struct {
	gateway  *Gateway
	ctx      context.Context // ends when the member does, which was removed or replaced
	cancel   context.CancelFunc
	staying  context.Context // ends when it is removed or replaced: no further request begins then; see replace.go
	dismiss  context.CancelCauseFunc
	before   atomic.Pointer[member]  // the one that it replaces, while that still runs
	behind   *behind                 // nil where it has nothing to wait for
	done     chan struct{}           // closed when nothing of it runs any more
	calls    calls                   // of clients, that run
	called   atomic.Bool             // a client called a tool, since lists were listed last
	stale    atomic.Pointer[pending] // its lists that changed; nil while they are not followed
	users    users                   // who used it; see logs.go
	name     string
	asker    string                 // what it is called in the state of requests for which it needs input; see takeAsker
	prefixed atomic.Pointer[string] // what the names of its tools and prompts begin with; see names.go
	index    int                    // those of less are asked first to start
	upstream Upstream
	waiting  mcp.Handler // the member, whose tasks are waited for; see tasks.go
	around   atomic.Pointer[surroundings]
	settled  chan struct{} // closed when its definitions are known, or it failed once
	once     sync.Once

	waitsForClient atomic.Bool   // it has a client of its own, whom it may ask as soon as it is connected; see [Gateway.Server]
	hasClient      chan struct{} // closed when that listens, or asks for something
	meetClient     func()        // closes it

	wake   chan struct{} // of capacity 1: a request needs the server
	wanted atomic.Bool   // a request waits for it to start

	instances instances     // of one that users or clients do not share
	reading   chan struct{} // of capacity 1: held while its lists are read

	responded atomic.Bool // to a request, since it was last connected
	shares    atomic.Bool // its results may name URIs that clients know as another's; see resources.go

	mu        sync.RWMutex
	state     State
	doing     string // what a start is doing
	err       error
	failures  int                     // starts, and connections of a short life, in a row
	retry     time.Time               // when it may be started again after more than one failure
	attempts  int                     // to start it that failed
	restarted bool                    // somebody wants it to be connected again; see restart.go
	end       context.CancelCauseFunc // of the present attempt to connect; nil before the first
	changed   chan struct{}           // closed, and made new, when any of this changes
	handler   mcp.Handler             // nil while it is not connected
	client    *mcp.Client
	ends      int         // connections that were lost
	endedBy   error       // why the last one was
	cut       *mcp.Client // the last connection that Restart ended
	asked     *breaker    // around client; nil for a Handler in this process
	listings  map[string]listing
	listedOf  *definitions.Definitions // that they were made of; nil where there are none
	shown     uint64                   // how often they were made
	offered   offeredOnce              // see server.go
	known     *definitions.Definitions // what was remembered or read; nil if neither
	began     time.Time                // when the lists were read last, before the first of them was
	unread    map[string]error         // why a list could not be read, by method; nil or never changed
	listsCut  map[string]error         // why only a part of a list is used, by method; nil or never changed
	gateways  []string                 // ids of the gateways behind it; see loop.go

	era        string      // in which it can ask, of those that [definitions.Definitions] names; see era.go
	eraChanged bool        // it was found out by this process
	eraDue     atomic.Bool // the present connection is of the other era
	changing   bool        // it may be ended for that
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

// lazy reports whether the member is only started when it is used.
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

// start begins to serve the member, which replaces another or nil, until it is removed or the gateway is closed.
func (m *member) start(before *member) {
	m.gateway.running.Go(func() {
		defer close(m.done)
		if m.upstream.OnEnd != nil {
			defer m.upstream.OnEnd()
		}
		defer m.instances.running.Wait()
		defer m.instances.end(nil)
		defer m.settle() // nobody waits for one that is removed
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

// run keeps the member connected, or connects to it whenever it is used, until
// ctx is done.
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

// connect connects to the member and serves it until it is lost. It returns when
// it was connected, zero if it was not, and what went wrong.
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

// waitForClient waits until the one client has said what it can be asked, and listens where the member has it for itself; false when
// ctx is done.
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

// lost notes that the connection ended, or was never there.
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
	case <-m.wake: // of a request that got the error; another one asks again
	default:
	}
}

// waitToConnect waits until the member is to be connected, for the first time or
// again; false when ctx is done.
// One that is started when it is used waits for that; another for its time, or
// for a request where it did not fail repeatedly.
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
	case <-m.wake: // sent only by requests that need not wait
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed says why the member cannot be used. What it offers is taken back where
// nothing is remembered of it.
func (m *member) failed(err error) {
	m.gateway.log.Debug("gateway: server lost", "server", m.name, "error", err)
	if m.upstream.Memory == nil && !m.isolated() || !m.isKnown() { // what it may offer then is that of the one before
		m.forget()
	}
	m.set(Failed, err)
	m.settle()
}

// serve offers what the Handler has until ctx is done or the connection is
// lost, and returns why. It listens before it reads, so that no change falls in
// between.
func (m *member) serve(ctx context.Context, h mcp.Handler, c *mcp.Client) error {
	if c == nil {
		c = mcp.NewClientWith(h, mcp.ClientOptions{Name: m.name, Logger: m.gateway.log})
	}
	if m.isolated() { // calls have connections of their own
		ctx, cancel := context.WithCancelCause(ctx)
		return m.follow(ctx, c, newBreaker(m.name, h, m.gateway.report), func() {}, func() { cancel(errRead) })
	}
	var asked *breaker
	if m.upstream.Handler == nil {
		asked = newBreaker(m.name, h, m.gateway.report)
		h = asked
	}
	use := func(s State) func() {
		return func() {
			m.mu.Lock()
			m.handler, m.client, m.asked = h, c, asked
			m.mu.Unlock()
			m.set(s, nil) // wakes those that wait
		}
	}
	return m.follow(ctx, c, asked, use(Connecting), use(Connected))
}

// errRead is why a connection ended that was there to read what the server offers.
var errRead = errors.New("what the server offers was read")

// follow reads what the server offers, and again when it says that this changed, until ctx is done or the
// connection is lost; it returns why. early is called before the first time where the lists are known
// already and not to be checked, as calls need not wait for them, and read after it. asked is around the connection.
func (m *member) follow(ctx context.Context, c *mcp.Client, asked *breaker, early, read func()) error {
	return m.attend(ctx, c, asked, m.hearsShared, func(ctx context.Context, changes *pending) error {
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
		if first { // names of others may have waited for it, whatever it offers
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

// attend checks the health of a connection and listens for changes of the lists until ctx is done, the connection is
// lost or then returns an error; it returns why. then is called when the connection agreed to tell of changes, or did not
// in time. hears chooses the clients that log messages are for.
func (m *member) attend(ctx context.Context, c *mcp.Client, asked *breaker, hears func(*hearing) bool, then func(context.Context, *pending) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	running.Go(func() {
		select {
		case <-c.Done(): // never, for a Handler in this process
			cancel(c.Err())
		case <-ctx.Done():
		}
	})
	if m.upstream.Handler == nil {
		running.Go(func() { cancel(m.checkHealth(ctx, c, asked)) })
	}
	changes, agreed := newPending(), make(chan struct{})
	running.Go(func() { m.listen(ctx, c, changes, hears, sync.OnceFunc(func() { close(agreed) })) })
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
