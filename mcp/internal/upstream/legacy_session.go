package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A server on HTTP may lose its session at any time, because it restarts or the session expires.
// Then one new session is begun for all requests. It gets the log level and the subscriptions of
// the lost session (2025-11-25 basic/transports, session management).

// The pauses between attempts to begin a session if no request waits.
const (
	firstRenewal = time.Second
	lastRenewal  = 30 * time.Second
)

// A renewal is a handshake that replaces a lost session.
type renewal struct {
	done    chan struct{} // closed once session or err is set
	session *session
	err     error
}

// renew returns the session that replaces lost. If there is none yet, renew begins one.
func (e *legacy) renew(ctx context.Context, lost *session) (*session, error) {
	if s := e.session.Load(); s != lost {
		return s, nil
	}
	r, mine := e.joinRenewal(lost)
	if mine && !e.spawn(func() { e.runRenewal(r) }) {
		return nil, mcp.ErrClosed
	}
	select {
	case <-r.done:
		return r.session, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-e.open.Done():
		return nil, mcp.ErrClosed
	}
}

func (e *legacy) joinRenewal(lost *session) (r *renewal, mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.renewal != nil {
		return e.renewal, false
	}
	r = &renewal{done: make(chan struct{})}
	if s := e.session.Load(); s != lost { // another goroutine was faster
		r.session = s
		close(r.done)
		return r, false
	}
	e.renewal = r
	return r, true
}

func (e *legacy) runRenewal(r *renewal) {
	ctx, cancel := context.WithTimeoutCause(e.ctx, cmp.Or(max(e.options.ConnectTimeout, 0), connectTime), fmt.Errorf("no new session in time: %w", context.DeadlineExceeded))
	defer cancel()
	e.log.Info("mcp: the server does not know the session any more; a new one is begun", "server", e.options.Name)
	err := e.handshake(ctx)
	if err == nil {
		r.session = e.session.Load()
		e.restoreLevel(ctx, r.session)
	}
	r.err = err
	e.mu.Lock()
	e.renewal = nil
	e.mu.Unlock()
	close(r.done)
	if err == nil {
		e.restoreSubscriptions(ctx, r.session)
		e.announce(r.session)
	} else if refusedByServer(err) {
		e.end(err) // the server may use another era now: the owner must connect again
	} else {
		e.keepRenewing(e.session.Load()) // the stream of the session, which would have tried again, is closed
	}
}

func (e *legacy) restoreLevel(ctx context.Context, s *session) {
	if e.levelTurn.Acquire(ctx) != nil {
		return
	}
	defer e.levelTurn.Release()
	if e.level != "" && s.capabilities.Logging != nil {
		_ = e.sendLevel(ctx, s, e.level) // sendLevel logs the error
	}
}

func (e *legacy) restoreSubscriptions(ctx context.Context, s *session) {
	for _, uri := range e.subscribed() {
		u := e.use(uri)
		if u.turn.Acquire(ctx) == nil {
			if u.count > 0 && s.capabilities.Resources != nil && s.capabilities.Resources.Subscribe {
				if err := e.sendSubscription(ctx, methodSubscribe, uri); err != nil {
					e.log.Warn("mcp: a subscription could not be restored in the new session", "server", e.options.Name, "uri", uri, "error", err)
				}
			}
			u.turn.Release()
		}
		e.unuse(uri, u)
	}
}

func (e *legacy) subscribed() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.subscriptions))
}

// announce notifies all listeners of everything that may have changed.
func (e *legacy) announce(s *session) {
	for _, l := range e.allListeners() {
		f := l.filter.OfferedBy(&s.capabilities)
		changed := func(method string, params []byte) {
			l.events.putOnce(event{kind: notification, message: &jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: params}})
		}
		for _, method := range f.Lists() {
			changed(method, nil)
		}
		for _, uri := range f.ResourceSubscriptions {
			w := jsonrpc.NewObject(nil)
			w.String("uri", uri)
			changed(notificationUpdated, w.Bytes())
		}
		for _, id := range l.tasks {
			l.hint(id)
		}
	}
}

// streamEnded begins a new session if the end of the old session's stream shows that the server
// lost it. Clients that only listen send no request that would detect the loss.
func (e *legacy) streamEnded(ctx context.Context, s *session, err error) {
	if ctx.Err() != nil {
		return
	}
	e.log.Debug("mcp: no more messages from the server", "server", e.options.Name, "error", err)
	if errors.Is(err, link.ErrSessionLost) {
		e.keepRenewing(s)
	}
}

// keepRenewing tries to begin a session in place of s until it succeeds.
func (e *legacy) keepRenewing(s *session) {
	e.mu.Lock()
	already := e.renewing == s
	e.renewing = s
	e.mu.Unlock()
	if already {
		return
	}
	e.spawn(func() {
		for pause := firstRenewal; ; pause = min(2*pause, lastRenewal) {
			if _, err := e.renew(e.ctx, s); err == nil || idle.Wait(e.ctx, pause) != nil {
				return
			}
			select {
			case <-e.Done():
				return
			default:
			}
		}
	})
}
