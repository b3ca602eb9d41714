package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A State is how it stands with a member.
type State int

// The states.
const (
	Connecting State = iota // for the first time, or again
	Connected
	Failed // and will be tried again
)

// String names the state.
func (s State) String() string {
	return [...]string{"connecting", "connected", "failed"}[s]
}

// A Status is how it stands with one member, for people to read.
type Status struct {
	Name     string
	State    State
	Err      error               // why it failed, if it did
	Revision string              // spoken with it; empty in process
	Server   *mcp.Implementation // what it says of itself; nil if nothing
	Tools    int
	Prompts  int
	// Resources counts resources and templates.
	Resources int
}

// Status tells how it stands with every member, in the order in which they were added.
func (g *Gateway) Status() []Status {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := make([]Status, len(g.members))
	for i, m := range g.members {
		all[i] = m.status()
	}
	return all
}

// A member is one server behind the gateway.
type member struct {
	gateway *Gateway
	name    string
	prefix  string        // of the names of its tools and prompts; may be empty
	settled chan struct{} // closed when it was connected, or failed, once
	once    sync.Once

	mu       sync.RWMutex
	state    State
	err      error
	handler  mcp.Handler // nil while it is not connected
	client   *mcp.Client
	listings map[string]listing
}

func (m *member) status() Status {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := Status{Name: m.name, State: m.state, Err: m.err}
	if m.client != nil {
		s.Revision, s.Server = m.client.Revision(), m.client.Server()
	}
	s.Tools = len(m.listings[toolKind.method].entries)
	s.Prompts = len(m.listings[promptKind.method].entries)
	s.Resources = len(m.listings[resourceKind.method].entries) + len(m.listings[templateKind.method].entries)
	return s
}

func (m *member) listing(k kind) listing {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.listings[k.method]
}

func (m *member) connected() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state == Connected
}

// has reports whether the member is connected and offers things of these kinds.
func (m *member) has(k kinds) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.client != nil && offered(m.client)&k != 0
}

func offered(c *mcp.Client) kinds {
	var k kinds
	capabilities := c.Capabilities()
	if capabilities.Tools != nil {
		k |= tools
	}
	if capabilities.Prompts != nil {
		k |= prompts
	}
	if capabilities.Resources != nil {
		k |= resources
	}
	return k
}

// handle passes a request on to the member. A member that is connecting for the
// first time is waited for: clients call what they know from their last visit.
func (m *member) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if !m.awaited(ctx) {
		return mcp.Result{}, context.Cause(ctx)
	}
	m.mu.RLock()
	h, absent := m.handler, error(nil)
	if h == nil {
		absent = m.absent()
	}
	m.mu.RUnlock()
	if absent != nil {
		return mcp.Result{}, absent
	}
	return h.Handle(ctx, req)
}

// connection returns the connection to the member, or why there is none. A
// member that is connecting for the first time is waited for.
func (m *member) connection(ctx context.Context) (*mcp.Client, error) {
	if !m.awaited(ctx) {
		return nil, context.Cause(ctx)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.client == nil {
		return nil, m.absent()
	}
	return m.client, nil
}

// absent says why the member cannot be asked; its lock is held.
func (m *member) absent() error {
	if m.err != nil {
		return fmt.Errorf("server %q is not connected: %w", m.name, m.err)
	}
	return fmt.Errorf("server %q is not connected yet (%v); try again in a moment", m.name, m.state)
}

// awaited waits until the member was connected, or failed, once, but no longer
// than a first answer may take; false if ctx ended meanwhile.
func (m *member) awaited(ctx context.Context) bool {
	select {
	case <-m.settled:
		return true
	default:
	}
	patience := time.NewTimer(firstAnswer)
	defer patience.Stop()
	select {
	case <-m.settled:
	case <-patience.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// keepConnected connects to the member, and again when it was lost, until ctx
// is done.
func (m *member) keepConnected(ctx context.Context, dial func(context.Context) (*mcp.Client, error)) {
	pause := firstBackoff
	var last error
	for ctx.Err() == nil {
		m.set(Connecting, last, nil, nil)
		c, err := dial(ctx)
		if err == nil {
			began := time.Now()
			err = m.serve(ctx, c, c)
			c.Close()
			if time.Since(began) > lastBackoff {
				pause = firstBackoff
			}
		}
		if ctx.Err() != nil {
			return
		}
		m.failed(err)
		last = err
		if !sleep(ctx, pause) {
			return
		}
		pause = min(pause*2, lastBackoff)
	}
}

// failed takes back what the member offered, and says why.
func (m *member) failed(err error) {
	m.gateway.log.Debug("gateway: server lost", "server", m.name, "error", err)
	m.set(Failed, err, nil, nil)
	m.forget()
	m.once.Do(func() { close(m.settled) })
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve offers what the Handler has until ctx is done or the connection is
// lost, and returns why. It listens before it reads, so that no change falls in
// between.
func (m *member) serve(ctx context.Context, h mcp.Handler, c *mcp.Client) error {
	if c == nil {
		c = mcp.NewClient(h, mcp.ClientOptions{Name: m.name, Logger: m.gateway.log})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	running.Go(func() {
		select {
		case <-c.Dead(): // never, for a Handler in this process
			cancel(c.Err())
		case <-ctx.Done():
		}
	})
	changes, agreed := newPending(), make(chan struct{})
	running.Go(func() { m.listen(ctx, c, changes, sync.OnceFunc(func() { close(agreed) })) })
	patience := time.NewTimer(agreeTime)
	defer patience.Stop()
	select {
	case <-agreed:
	case <-patience.C:
	case <-ctx.Done():
	}
	if err := m.readAll(ctx, c, offered(c)); err != nil {
		return err
	}
	if err := m.gateway.collision(m); err != nil {
		return err
	}
	m.set(Connected, nil, h, c)
	m.gateway.changedOffer(offered(c))
	m.once.Do(func() { close(m.settled) })
	m.reread(ctx, c, changes)
	return context.Cause(ctx)
}

// readAll reads the lists of the given kinds. A list that cannot be read is
// left as it was; what ends all of it is a connection that is lost.
func (m *member) readAll(ctx context.Context, c *mcp.Client, which kinds) error {
	for _, k := range []kind{toolKind, promptKind, resourceKind, templateKind} {
		if which&k.bit == 0 {
			continue
		}
		l, err := m.readList(ctx, c, k)
		if err != nil {
			if ctx.Err() != nil || c.Err() != nil {
				return err
			}
			var fault *mcp.Error
			if !errors.As(err, &fault) || fault.Code != mcp.CodeMethodNotFound {
				m.gateway.log.Warn("gateway: a list cannot be read", "server", m.name, "method", k.method, "error", err)
			}
			continue
		}
		m.mu.Lock()
		if m.listings == nil {
			m.listings = map[string]listing{}
		}
		m.listings[k.method] = l
		m.mu.Unlock()
	}
	return nil
}

// set changes how it stands with the member.
func (m *member) set(s State, err error, h mcp.Handler, c *mcp.Client) {
	m.mu.Lock()
	m.state, m.err, m.handler, m.client = s, err, h, c
	m.mu.Unlock()
	m.gateway.tell()
}

// forget takes the member's offer back.
func (m *member) forget() {
	m.mu.Lock()
	any := len(m.listings) > 0
	m.listings = nil
	m.mu.Unlock()
	if any {
		m.gateway.changedOffer(tools | prompts | resources)
	}
}

func isNotFound(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeInvalidParams
}
