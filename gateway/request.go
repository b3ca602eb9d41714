package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/mcp"
)

// handle passes a request on to the member, which it starts if needed. If the member ended before
// it responded, and a second request changes nothing, handle repeats the request once.
func (m *member) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if m.isolated() {
		return m.handleIsolated(ctx, req)
	}
	h, err := m.ready(ctx, req)
	if err != nil {
		return mcp.Result{}, err
	}
	m.mu.RLock()
	connected, known := m.client, m.known // read before the definitions may be withdrawn
	m.mu.RUnlock()
	result, err := m.send(ctx, h, req)
	if m.otherEra(connected, req, result, err) {
		if repeats(known, req) && m.changeEra(1) {
			if h, unready := m.ready(ctx, req); unready == nil {
				note.Repeat(ctx, m.name)
				return m.send(ctx, h, req)
			}
		}
		return eras.Advised(result, err, eras.CallAgain)
	}
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	if m.wasEnded(err) {
		return result, m.endedError(ctx, known, req, err)
	}
	cut := errors.Is(err, mcp.ErrClosed) && m.wasCut(connected)
	if !cut && (!errors.Is(err, mcp.ErrLost) || !m.ended(connected)) || !repeats(known, req) && !errors.Is(err, mcp.ErrNotSent) {
		if cut {
			err = m.wasRestarted(err)
		}
		return result, err
	}
	h, unready := m.ready(ctx, req)
	switch {
	case errors.Is(unready, ErrRemoved): // the member that replaces this one gets the request
		note.Repeat(ctx, m.name)
		return result, unready
	case h == nil:
		return result, err
	}
	note.Repeat(ctx, m.name)
	return m.send(ctx, h, req)
}

// ended reports whether the connection c of the member has ended. A connection that has not ended
// has repeated the request itself.
func (m *member) ended(c *mcp.Client) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.client != c || m.usable() == nil
}

func (m *member) send(ctx context.Context, h mcp.Handler, req *mcp.Request) (mcp.Result, error) {
	if check := m.around.Load().Check; check != nil {
		if err := m.check(req, check); err != nil {
			note.Refuse(ctx, note.Review, note.Refusal{Server: m.name, Rule: "review", Refused: err.Error()})
			return mcp.Result{}, err
		}
	}
	result, err := h.Handle(ctx, req)
	if err == nil && !m.responded.Load() {
		m.responded.Store(true)
	}
	return result, err
}

// check returns the reason not to send a request, after the lists were read over the connection.
func (m *member) check(req *mcp.Request, check func(*mcp.Request) error) error {
	var err error
	list := ""
	if k, used := usedBy(req.Method); used {
		list = k.Name
		m.mu.RLock()
		err = m.unread[list]
		m.mu.RUnlock()
	}
	if err != nil {
		text := fmt.Sprintf("server %q: %s failed, so %q may have changed; restart the server: %v", m.name, list, req.Name, err)
		return &mcp.Error{Code: mcp.CodeInternalError, Message: text, Data: refused.With(nil, refused.Review)}
	}
	return check(req)
}

// repeats reports whether a request may be sent twice: it only reads, or the annotations of its
// tool claim that a second call changes nothing.
func repeats(known *definitions.Definitions, req *mcp.Request) bool {
	var tool json.RawMessage
	if req.Method == "tools/call" && known != nil {
		at := slices.IndexFunc(known.Tools, func(raw json.RawMessage) bool {
			name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
			return name == req.Name
		})
		if at >= 0 {
			tool = known.Tools[at]
		}
	}
	return eras.Repeats(req, tool)
}

// usable returns the Handler of the member, or nil if its connection is lost or is being replaced.
// The caller holds the member's lock.
func (m *member) usable() mcp.Handler {
	if m.restarted || m.changing {
		return nil
	}
	if m.client != nil {
		select {
		case <-m.client.Done():
			return nil
		default:
		}
	}
	return m.handler
}

// ready returns the Handler of the member. If the member is idle or has failed, ready starts it,
// but only once, and waits for the start as long as ctx allows. It sends progress notifications to
// a client that asked for them. After several failures in a row, ready fails at once until the next
// attempt is due.
func (m *member) ready(ctx context.Context, req *mcp.Request) (h mcp.Handler, err error) {
	err = m.await(ctx, req, func() bool { h = m.usable(); return h != nil })
	return h, err
}

// await is like ready, but waits until the function there returns true. It calls there with the
// member's lock held.
func (m *member) await(ctx context.Context, req *mcp.Request, there func() bool) error {
	m.mu.RLock()
	done, attempts := there(), m.attempts
	m.mu.RUnlock()
	leaving := m.leaving(req)
	select {
	case <-leaving:
		return m.goneError(req, errClosed)
	default:
		if done {
			return nil
		}
	}
	ticker := time.NewTicker(startingPause)
	defer ticker.Stop()
	for ticks := 0; ; {
		m.mu.RLock()
		changed, done := m.changed, there()
		refused := m.state == Failed && (m.attempts > attempts || m.failures > 1 && time.Now().Before(m.retry) || m.upstream.Handler != nil)
		unavailable := m.unavailable()
		m.mu.RUnlock()
		switch {
		case done:
			return nil
		case refused:
			return unavailable
		}
		m.want()
		select {
		case <-changed:
		case <-ticker.C:
			ticks++
			m.notifyStarting(ctx, req, ticks)
			if err := m.waitError(); err != nil && time.Duration(ticks)*startingPause >= behindTime {
				return err
			}
		case <-leaving:
			return m.goneError(req, unavailable)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", unavailable, context.Cause(ctx))
		}
	}
}

// want requests a start of the member.
func (m *member) want() {
	m.wanted.Store(true)
	m.gateway.starts.again(false)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// notifyStarting tells a client that asked for progress that its call waits for the server to
// start. The progress values are tiny, so that the later progress values of the call itself are
// larger.
func (m *member) notifyStarting(ctx context.Context, req *mcp.Request, ticks int) {
	if req.Meta.ProgressToken == nil || req.Peer == nil {
		return
	}
	m.mu.RLock()
	message := fmt.Sprintf("starting %s", m.name)
	if m.state == Waiting {
		message = fmt.Sprintf("%s is waiting to start", m.name)
	}
	if m.doing != "" {
		message += ": " + m.doing
	}
	m.mu.RUnlock()
	w := jsonrpc.NewObject(nil)
	w.Raw("progress", fmt.Appendf(nil, "%de-6", ticks))
	w.String("message", message)
	w.Object("_meta")
	w.Raw(note.Starting, []byte("true"))
	w.End()
	_ = req.Peer.Notify(ctx, "notifications/progress", w.Bytes()) // ctx ends if the client disconnected
}

// unavailable returns the reason why the member cannot be used. The caller holds its lock.
func (m *member) unavailable() error {
	if m.err != nil {
		return &memberError{m.name, m.err}
	}
	return notYet{fmt.Errorf("server %q is not connected yet (%v); try again in a moment", m.name, m.state)}
}

// A notYet reports that a member is not connected yet, without a failure.
type notYet struct{ error }

func (e notYet) Unwrap() error { return e.error }

// Unanswered implements [unanswered.Error].
func (e notYet) Unanswered() {}

// A memberError is the reason why a member cannot be used. Its text names the member only once.
type memberError struct {
	name string
	err  error
}

func (e *memberError) Error() string {
	why := strings.TrimPrefix(e.err.Error(), fmt.Sprintf("server %q: ", e.name))
	return fmt.Sprintf("server %q is not connected: %s", e.name, why)
}

func (e *memberError) Unwrap() error { return e.err }

// Unanswered implements [unanswered.Error].
func (e *memberError) Unanswered() {}
