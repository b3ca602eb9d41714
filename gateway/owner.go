package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// moveTime is how long a request waits while its instance moves to another gateway.
	moveTime = 30 * time.Second
	// firstMovePause and lastMovePause are the pauses before such a request asks again.
	firstMovePause = 50 * time.Millisecond
	lastMovePause  = time.Second
)

// Owners decide which of several gateways runs an instance of a server. Implementations are safe for
// concurrent use.
type Owners interface {
	// Claim returns a lease to run an instance. The key identifies its user or client, and is the
	// same at all gateways. If another gateway has the instance, Claim returns a Handler that passes
	// requests on to it. That Handler returns [ErrMoved] for a request that the other gateway did
	// not take, and [mcp.ErrLost] if the response was lost. Claim returns [ErrMoved] if the instance
	// moves at this moment. The gateway then asks again.
	Claim(ctx context.Context, server, key string) (*Lease, mcp.Handler, error)
}

// ErrMoved means that a gateway does not run an instance, and did not handle the request for it.
var ErrMoved = errors.New("it moves to another replica; try again later")

// errNoLease means that an instance would start without the lease to run it.
var errNoLease = errors.New("the right to run the instance is missing")

// stateElsewhere is the key of the request state of a call that waits at another gateway.
const stateElsewhere = "elsewhere"

// errOwnerEnded means that the gateway that ran an instance ended during a request.
var errOwnerEnded = errors.New("the replica that ran it ended, and the state of its instance is lost; the next call starts another one")

// A Lease lets one gateway run an instance until Context ends.
type Lease struct {
	// Context ends when the instance must end at once. Its cause is the reason.
	Context context.Context
	// Leaves is closed when the instance should end once it is not used.
	Leaves <-chan struct{}
	// Release gives the lease back. The gateway calls it when nothing of the instance runs.
	Release func()
}

// end calls Release. A nil Lease has none.
func (r *Lease) end() {
	if r != nil {
		r.Release()
	}
}

// leaves returns the channel Leaves, or nil for a nil Lease.
func (r *Lease) leaves() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.Leaves
}

// A disowned is the cause of the end of an instance that lost its lease.
type disowned struct{ error }

// watch calls end when the lease is lost, until stop is called.
func (r *Lease) watch(end context.CancelCauseFunc) (stop func()) {
	if r == nil {
		return func() {}
	}
	stopped := context.AfterFunc(r.Context, func() { end(disowned{context.Cause(r.Context)}) })
	return func() { stopped() }
}

// disowned returns the reason why the instance lost its lease, or nil.
func (i *instance) disowned() error {
	if i == nil || i.lease == nil {
		return nil
	}
	if d, is := errors.AsType[disowned](context.Cause(i.ctx)); is {
		return d.error
	}
	return nil
}

// disownedError returns the error of a request whose instance lost its lease.
func (m *member) disownedError(why error) error {
	return fmt.Errorf("server %q: its instance was ended while it had the request, which it may have executed, and its state is lost: %w", m.name, why)
}

// move ends an instance that moves to another gateway, at once or when no request uses it.
func (is *instances) move(i *instance) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if i.stale = true; i.users == 0 {
		i.cancel(errRestarted)
	}
}

// idleTime returns how long an unused instance is kept.
func (m *member) idleTime() time.Duration {
	usual := defaultIdleTime
	if m.upstream.Isolation == One {
		usual = math.MaxInt64
	}
	return cmp.Or(m.around.Load().IdleTime, usual)
}

// An ownerKey is the key of an instance that another gateway may have.
type ownerKey string

func (m *member) hasOwners() bool { return m.upstream.Owners != nil && m.upstream.Whose == nil }

// passedKey is the key of the ownerKey in the context of a request that another gateway passed on.
type passedKey struct{}

// ownerKeyOf returns the key of the instance for a request. It reports false for the instance of a
// client that only this gateway can have.
func (m *member) ownerKeyOf(ctx context.Context, req *mcp.Request) (_ ownerKey, is bool) {
	if key, is := ctx.Value(passedKey{}).(ownerKey); is {
		return key, true
	}
	whose, err := m.ownIdentityOf(ctx, req)
	if err != nil {
		return "", false
	}
	text := strconv.AppendQuote(nil, m.name)
	parts := []string{"client"}
	switch w := whose.(type) {
	case identity:
		parts = []string{strconv.Itoa(int(m.upstream.Isolation)), w.issuer, w.subject, w.clientID, w.client, w.version}
	case interface{ Everywhere() string }:
		parts = append(parts, w.Everywhere())
	default:
		return "", false
	}
	for _, part := range parts {
		text = strconv.AppendQuote(append(text, ' '), part)
	}
	sum := sha256.Sum256(text)
	return ownerKey(hex.EncodeToString(sum[:])), true
}

// askOwner sends a request to the instance with a key, here or at the gateway that has it. It waits
// while the instance moves. It returns the instance if it is here.
func (m *member) askOwner(ctx context.Context, req *mcp.Request, key ownerKey) (mcp.Result, *instance, error) {
	_, passed := ctx.Value(passedKey{}).(ownerKey)
	wasElsewhere := req.State.Get(stateElsewhere) != nil
	began, pause := time.Now(), firstMovePause
	for {
		var right *Lease
		var elsewhere mcp.Handler
		var err error
		here := m.instances.has(key)
		if !here {
			right, elsewhere, err = m.upstream.Owners.Claim(ctx, m.name, string(key))
		}
		switch {
		case elsewhere != nil && passed:
			err = ErrMoved // a request is passed on once
		case elsewhere != nil:
			var result mcp.Result
			if result, err = elsewhere.Handle(ctx, req); !errors.Is(err, ErrMoved) {
				if errors.Is(err, mcp.ErrInputRequired) {
					req.State.Set(stateElsewhere, []byte("true"))
					req.State.Bind()
				}
				return result, nil, m.ownerError(ctx, err)
			}
		case (here || right != nil) && wasElsewhere:
			right.end()
			return mcp.Result{}, nil, fmt.Errorf("server %q: %w", m.name, errOwnerEnded)
		case here || right != nil:
			result, i, err := m.askHere(ctx, req, key, right)
			if i == nil && errors.Is(err, errNoLease) {
				continue // the instance ended just now
			}
			if errors.Is(err, mcp.ErrInputRequired) { // only this gateway can go on with it
				req.State.Bind()
			}
			return result, i, err
		}
		if !errors.Is(err, ErrMoved) || passed || time.Since(began) >= moveTime {
			return mcp.Result{}, nil, m.ownerError(ctx, err)
		}
		if idle.Wait(ctx, pause) != nil {
			return mcp.Result{}, nil, notYet{fmt.Errorf("server %q: %w: %w", m.name, err, context.Cause(ctx))}
		}
		pause = min(2*pause, lastMovePause)
	}
}

// has reports whether there is an instance that can take a request.
func (is *instances) has(key ownerKey) bool {
	is.mu.Lock()
	defer is.mu.Unlock()
	i := is.all[key]
	return i != nil && !i.isOver()
}

// ownerError adds the server to an error of its owners.
func (m *member) ownerError(ctx context.Context, err error) error {
	switch fault, is := errors.AsType[*mcp.Error](err); {
	case err == nil, is && fault != nil, ctx.Err() != nil, errors.Is(err, mcp.ErrInputRequired):
		return err
	case errors.Is(err, mcp.ErrLost):
		return fmt.Errorf("server %q: %w: %w", m.name, errOwnerEnded, err)
	}
	return fmt.Errorf("server %q: %w", m.name, err)
}

// HandlePassed handles a request that the Owners of another gateway passed on, for the instance of a
// server with a key. The request has the server's own names, and does not pass any Middleware.
func (g *Gateway) HandlePassed(ctx context.Context, server, key string, req *mcp.Request) (mcp.Result, error) {
	m := g.member(server)
	if m == nil || !m.isolated() || !m.hasOwners() {
		return mcp.Result{}, fmt.Errorf("server %q: this replica does not have it, or runs it in another way; give all replicas the same configuration", server)
	}
	m.calls.begin()
	defer m.calls.end()
	return m.handleIsolated(context.WithValue(ctx, passedKey{}, ownerKey(key)), req)
}
