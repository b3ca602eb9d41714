package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// Isolation decides which users or clients share one connection to a server, and so the server's
// state. Each connection has its own program or session.
type Isolation int

const (
	// Shared means one connection for all clients.
	Shared Isolation = iota
	// PerUser means one connection for each principal. All requests without a principal share one.
	PerUser
	// PerClient means one connection for each client connection, or for each session over HTTP.
	// Modern revisions have no session over HTTP. With them, PerClient means one connection for
	// each combination of principal and client name.
	PerClient
	// One means one connection for all clients, as with Shared. Other than with Shared, it ends when
	// [Upstream.Owners] gives it to another gateway. The lists are read over a connection of their
	// own.
	One
)

const (
	// defaultInstances is the maximum number of instances of one server.
	defaultInstances = 16
	// defaultIdleTime is how long an unused instance is kept.
	defaultIdleTime = 10 * time.Minute
	// relistPause is the minimum pause before the lists are read again because an instance started
	// with lists that differ from the known ones. Without this pause, a server whose lists depend
	// on the user would be read at each start.
	relistPause = time.Minute
)

// instances holds the connections of a member that is not shared. The keys identify users or
// clients.
type instances struct {
	mu      sync.Mutex
	all     map[any]*instance
	running sync.WaitGroup
}

// An instance is the connection of a member for one user or client.
type instance struct {
	ready      chan struct{} // closed when client or err is set
	client     *mcp.Client
	asked      *breaker    // wraps client
	handler    mcp.Handler // wraps asked, by [Upstream.Instance]
	err        error
	again      chan struct{} // capacity 1; a value makes its middleware read the lists again
	rearranged chan struct{} // capacity 1; see [Gateway.Rearrange]
	ctx        context.Context
	cancel     context.CancelCauseFunc
	era        string   // the era of the client that the instance was started for
	of         identity // the share that the instance counts for; see countedAs
	lease      *Lease   // to run the instance; nil if only this gateway can have it

	// Guarded by the lock of instances:
	users int       // running requests
	used  time.Time // when the last request ended, or when the instance failed
	stale bool      // set if the era is wrong or the instance moves: no further request uses it; see era.go and owner.go
}

// isolated reports whether users or clients do not share the member. If the gateway has only one
// client, the member is shared.
func (m *member) isolated() bool {
	return m.upstream.Isolation != Shared && m.upstream.Handler == nil && !m.gateway.options.OneClient
}

// An identity identifies the user or client of an instance if no connection or session does.
type identity struct {
	issuer, subject string
	clientID        string // the client that the user's credentials were issued to
	client, version string // the client's own name and version
}

// identityOf returns the key of the instance for a request. It is an ownerKey if another gateway may
// have the instance.
func (m *member) identityOf(ctx context.Context, req *mcp.Request) (any, error) {
	if m.hasOwners() {
		if key, is := m.ownerKeyOf(ctx, req); is {
			return key, nil
		}
	}
	return m.ownIdentityOf(ctx, req)
}

// ownIdentityOf returns the key of the instance for a request in this gateway.
func (m *member) ownIdentityOf(ctx context.Context, req *mcp.Request) (any, error) {
	if m.upstream.Whose != nil && m.upstream.Isolation == PerUser {
		whose, err := m.upstream.Whose(ctx, req)
		if err != nil {
			return nil, &memberError{m.name, err}
		}
		return whose, nil
	}
	id := principalOf(req)
	switch {
	case m.upstream.Isolation == One:
		return identity{}, nil
	case m.upstream.Isolation == PerUser:
		return id, nil
	case req.Caller != nil:
		return req.Caller, nil
	}
	if req.Principal != nil {
		id.clientID = req.Principal.ClientID
	}
	if req.Meta.Client != nil {
		id.client, id.version = req.Meta.Client.Name, req.Meta.Client.Version
	}
	return id, nil
}

func principalOf(req *mcp.Request) (id identity) {
	if req.Principal != nil {
		id.issuer, id.subject = req.Principal.Issuer, req.Principal.Subject
	}
	return id
}

// countedAs returns the share that an instance counts for while it is used. It is the principal, or
// the address of another machine. Clients of this machine without authentication cannot be
// distinguished.
func countedAs(ctx context.Context, req *mcp.Request) identity {
	id := principalOf(req)
	if by := share.Of(ctx); id == (identity{}) && !share.IsHere(by) {
		id.client = by
	}
	return id
}

// instanceFor returns the instance for a user or client, and starts it if needed. It counts a
// request in the instance; the caller must call left when the request ends. A failed instance is
// started again after a moment. At the limit, an unused instance is ended. If right is not nil, a
// new instance takes it over, and instanceFor gives it back in all other cases. An instance that
// another gateway may have does not start without a right.
func (m *member) instanceFor(req *mcp.Request, whose any, of identity, right *Lease) (*instance, error) {
	if right != nil {
		defer func() { right.end() }()
	}
	is := &m.instances
	is.mu.Lock()
	defer is.mu.Unlock()
	i := is.all[whose]
	if i != nil && i.isOver() {
		delete(is.all, whose)
		i = nil
	}
	limit := cmp.Or(m.around.Load().MaxInstances, defaultInstances)
	if !m.limitsUsers() && (i == nil || i.users == 0) {
		if err := is.mayUse(of, limit); err != nil {
			return nil, m.full(err)
		}
	}
	if i == nil {
		if _, owned := whose.(ownerKey); owned && right == nil {
			return nil, errNoLease
		}
		if err := is.makeRoom(of, limit, m.limitsUsers()); err != nil {
			return nil, m.full(err)
		}
		if m.ctx.Err() != nil {
			return nil, m.goneError(req, errClosed)
		}
		i = &instance{ready: make(chan struct{}), again: make(chan struct{}, 1), rearranged: make(chan struct{}, 1), era: eras.Of(&req.Meta), of: of}
		i.ctx, i.cancel = context.WithCancelCause(m.ctx)
		i.lease, right = right, nil
		if is.all == nil {
			is.all = map[any]*instance{}
		}
		is.all[whose] = i
		is.running.Go(func() { m.runInstance(i.ctx, whose, i) })
	}
	i.users++
	return i, nil
}

// full returns the error of a request if the limit leaves no instance for it.
func (m *member) full(err error) error {
	text := fmt.Sprintf("server %q: %v; try again later, or allow more of them", m.name, err)
	return &mcp.Error{Code: mcp.CodeInternalError, Message: text, Data: refused.With(nil, refused.Limit)}
}

// isOver reports whether no further request may use the instance. The caller holds the lock.
func (i *instance) isOver() bool {
	select {
	case <-i.ready:
	default:
		return false
	}
	if i.stale {
		return true
	}
	if i.err != nil {
		return time.Since(i.used) >= firstBackoff
	}
	return i.isLost() || i.lease != nil && i.ctx.Err() != nil
}

func (is *instances) left(i *instance) {
	is.mu.Lock()
	defer is.mu.Unlock()
	i.users--
	i.used = time.Now()
	if i.stale && i.users == 0 {
		i.cancel(errRestarted)
	}
}

// trouble returns the fault of one of the instances, for users, or nil.
func (is *instances) trouble() error {
	is.mu.Lock()
	defer is.mu.Unlock()
	for _, i := range is.all {
		if i.asked == nil {
			continue
		}
		if err, _ := i.asked.standing(); err != nil {
			return fmt.Errorf("one of %d instances: %w", len(is.all), err)
		}
	}
	return nil
}

// end ends all instances and the requests in them, with a cause.
func (is *instances) end(cause error) {
	is.mu.Lock()
	defer is.mu.Unlock()
	for _, i := range is.all {
		i.cancel(cause)
	}
	clear(is.all)
}

// count returns the number of instances.
func (is *instances) count() int {
	is.mu.Lock()
	defer is.mu.Unlock()
	return len(is.all)
}

// runInstance connects an instance, and keeps it until the connection is lost or unused for too
// long.
func (m *member) runInstance(ctx context.Context, whose any, i *instance) {
	defer i.lease.end() // when nothing of the instance runs
	defer i.cancel(nil)
	defer i.lease.watch(i.cancel)()
	c, err := m.dialInstance(ctx, whose, i.era)
	if err != nil && errors.Is(context.Cause(ctx), errRestarted) {
		err = errRestarted
	}
	asked := m.gateway.newBreaker(m.name, c, m.gateway.report)
	handler := mcp.Handler(asked)
	if around := m.around.Load().Instance; err == nil && around != nil {
		handler = around()(asked)
	}
	m.instances.mu.Lock()
	i.client, i.err, i.used, i.asked, i.handler = c, err, time.Now(), asked, handler
	m.instances.mu.Unlock()
	close(i.ready)
	if err != nil {
		m.gateway.log.Warn("gateway: an instance of a server cannot be started", "server", m.name, "error", err)
		_ = idle.Wait(ctx, firstBackoff) // requests in that time get the same error
		m.forgetInstance(whose, i, 0)
		return
	}
	defer c.Close()
	m.gateway.report()
	ctx, cancel := context.WithCancelCause(ctx)
	following := make(chan struct{})
	go func() {
		defer close(following)
		cancel(m.attend(ctx, c, asked, func(h *logListener) bool { return m.getsInstanceLogs(ctx, h, whose) }, func(ctx context.Context, changes *pending) error {
			m.followInstance(ctx, i, changes)
			return nil
		}))
	}()
	leaves := i.lease.leaves()
	for ctx.Err() == nil {
		left := m.forgetInstance(whose, i, m.idleTime())
		if left <= 0 {
			break
		}
		select {
		case <-time.After(left):
		case <-i.rearranged: // the idle time may have changed
		case <-leaves:
			leaves = nil
			m.instances.move(i)
		case <-ctx.Done():
		}
	}
	cancel(nil)
	m.forgetInstance(whose, i, 0)
	<-following
	m.gateway.report()
}

// followInstance reads the lists again when an instance notifies of a change, until ctx is done. It
// also reads them if an instance starts with other lists, as they may have changed while none was
// connected. A connection that belongs to no user reads them, as the lists of an instance may be
// meant for its user only.
func (m *member) followInstance(ctx context.Context, i *instance, changes *pending) {
	began := time.Now()
	var due <-chan time.Time
	if m.differs(ctx, i) {
		due = time.After(time.Until(m.readAt().Add(relistPause)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
			if !m.readAt().After(began) {
				m.want()
			}
			continue
		case <-i.again:
			m.showLists(ctx, i)
			continue
		case <-changes.wake:
		}
		m.showLists(ctx, i)
		m.want()
		if idle.Wait(ctx, followPause) != nil { // each reading starts a program
			return
		}
	}
}

// readAt returns the time when the lists were last read.
func (m *member) readAt() time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.began
}

// differs reports whether the lists of named entries of an instance differ from the known ones.
func (m *member) differs(ctx context.Context, i *instance) bool {
	m.mu.RLock()
	known := m.known
	m.mu.RUnlock()
	if known == nil {
		return true
	}
	for _, k := range allKinds {
		if offered(i.client)&named&k.bit == 0 {
			continue
		}
		if entries, err := m.readList(ctx, i.client, k); err == nil && !sameEntries(entries, known.List(k.Name)) {
			return true
		}
	}
	return false
}

// showLists reads the lists of named entries of an instance through its middleware.
func (m *member) showLists(ctx context.Context, i *instance) {
	if m.around.Load().Instance == nil {
		return
	}
	for _, k := range allKinds {
		if offered(i.client)&named&k.bit == 0 {
			continue
		}
		around := mcp.NewClientWith(i.handler, mcp.ClientOptions{Name: m.name, Logger: m.gateway.log})
		if _, err := m.readList(ctx, around, k); err != nil && ctx.Err() == nil {
			m.gateway.log.Info("gateway: a list of an instance cannot be read", "server", m.name, "method", k.Name, "error", err)
		}
	}
}

// wake sends a value to the channel that the function of returns for each instance, unless the
// channel is full.
func (is *instances) wake(of func(*instance) chan struct{}) {
	is.mu.Lock()
	defer is.mu.Unlock()
	for _, i := range is.all {
		select {
		case of(i) <- struct{}{}:
		default: // already contains a value
		}
	}
}

func (m *member) dialInstance(ctx context.Context, whose any, era string) (*mcp.Client, error) {
	release := func() {}
	if m.upstream.Program {
		if release = m.gateway.starts.wait(ctx, m, func() {}); release == nil {
			return nil, context.Cause(ctx)
		}
		defer release()
	}
	if m.upstream.Whose == nil {
		whose = nil
	}
	return m.upstream.Dial(ctx, &Start{member: m, release: release, whose: whose, era: era})
}

// forgetInstance removes an instance that was unused for the given time. If the time is 0, it
// removes an instance that no request uses. It returns the remaining time.
func (m *member) forgetInstance(whose any, i *instance, unused time.Duration) (left time.Duration) {
	is := &m.instances
	is.mu.Lock()
	defer is.mu.Unlock()
	if left = unused - time.Since(i.used); i.users > 0 {
		left = unused
	}
	if left > 0 {
		return left
	}
	if is.all[whose] == i {
		delete(is.all, whose)
	}
	return 0
}
