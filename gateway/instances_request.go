package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

// handleIsolated passes a request on to the instance for it, and starts the instance if needed.
func (m *member) handleIsolated(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	result, i, err := m.askInstance(ctx, req)
	if i != nil && m.otherEra(i.client, req, result, err) {
		m.instances.mu.Lock()
		i.stale = true
		m.instances.mu.Unlock()
		if repeats(m.knownNow(), req) {
			note.Repeat(ctx, m.name)
			result, _, err = m.askInstance(ctx, req)
			return result, err
		}
		return eras.Advised(result, err, eras.CallAgain)
	}
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	if i == nil && errors.Is(err, errRestarted) { // the instance ended before it got the request
		result, _, err = m.askInstance(ctx, req)
		return result, err
	}
	known := m.knownNow()
	if i != nil && m.wasEnded(err) {
		return result, m.endedError(ctx, known, req, err)
	}
	cut := i != nil && errors.Is(err, mcp.ErrClosed) && errors.Is(context.Cause(i.ctx), errRestarted)
	lost := i != nil && errors.Is(err, mcp.ErrLost) && i.isLost() || i == nil && errors.Is(err, errOwnerEnded)
	if why := i.disowned(); why != nil && errors.Is(err, mcp.ErrClosed) {
		err, lost = m.disownedError(why), true
	}
	if !cut && !lost {
		return result, err
	}
	switch {
	case repeats(known, req), errors.Is(err, mcp.ErrNotSent):
		note.Repeat(ctx, m.name)
		result, _, err = m.askInstance(ctx, req)
	case cut:
		err = m.wasRestarted(err)
	}
	return result, err
}

func (m *member) knownNow() *definitions.Definitions {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known
}

// askInstance sends a request to the instance for it. It also returns that instance, or nil.
func (m *member) askInstance(ctx context.Context, req *mcp.Request) (mcp.Result, *instance, error) {
	if err := m.await(ctx, req, func() bool { return m.waitError() == nil }); err != nil {
		return mcp.Result{}, nil, err
	}
	whose, err := m.identityOf(ctx, req)
	if err != nil {
		return mcp.Result{}, nil, err
	}
	if key, owned := whose.(ownerKey); owned {
		return m.askOwner(ctx, req, key)
	}
	return m.askHere(ctx, req, whose, nil)
}

// askHere sends a request to the instance with a key in this gateway, which takes right over if it
// starts now.
func (m *member) askHere(ctx context.Context, req *mcp.Request, whose any, right *Lease) (mcp.Result, *instance, error) {
	i, err := m.instanceFor(req, whose, countedAs(ctx, req), right)
	if err != nil {
		return mcp.Result{}, nil, err
	}
	defer m.instances.left(i)
	if err := m.awaitInstance(ctx, req, i); err != nil {
		return mcp.Result{}, nil, err
	}
	result, err := i.handler.Handle(ctx, req)
	return result, i, err
}

// isLost reports whether the connection of an instance has ended. The instance must have been
// connected.
func (i *instance) isLost() bool {
	select {
	case <-i.client.Done():
		return true
	default:
		return false
	}
}

// awaitInstance waits until an instance is connected. It sends progress notifications to a client
// that asked for them.
func (m *member) awaitInstance(ctx context.Context, req *mcp.Request, i *instance) error {
	ticker := time.NewTicker(startingPause)
	defer ticker.Stop()
	for ticks := 1; ; ticks++ {
		select {
		case <-i.ready:
			switch {
			case i.err == nil:
				return nil
			case m.staying.Err() != nil:
				return m.goneError(req, i.err)
			}
			return &memberError{m.name, i.err}
		case <-ticker.C:
			m.notifyStarting(ctx, req, ticks)
		case <-m.leaving(req):
			return m.goneError(req, fmt.Errorf("server %q: %w", m.name, errClosed))
		case <-ctx.Done():
			return notYet{fmt.Errorf("server %q is not connected yet: %w", m.name, context.Cause(ctx))}
		}
	}
}
