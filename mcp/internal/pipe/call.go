package pipe

import (
	"context"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A Call is a request that waits for its response in an Inbox.
type Call struct {
	inbox     *Inbox
	id        jsonrpc.ID
	method    string
	responded func()        // see [link.Out]
	done      chan response // capacity 1, for one response
}

type response struct {
	message *jsonrpc.Message
	err     error
}

// Expect registers a request before it is sent. The caller must wait for the response with
// [Call.Wait] or give up with [Call.Fail].
func (b *Inbox) Expect(out link.Out) (*Call, error) {
	c := &Call{inbox: b, id: out.ID, method: out.Method, responded: out.Responded, done: make(chan response, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, c.failure(b.err)
	}
	if _, twice := b.calls[out.ID]; twice {
		return nil, fmt.Errorf("a request with the id %s waits for its response already", out.ID)
	}
	b.calls[out.ID] = c
	return c, nil
}

// Wait waits for the response. When ctx is done, Wait removes the call and returns an error that
// wraps the cause.
func (c *Call) Wait(ctx context.Context) (*jsonrpc.Message, error) {
	select {
	case a := <-c.done:
		return a.message, a.err
	case <-ctx.Done():
		return c.Fail(context.Cause(ctx))
	}
}

// Fail gives the call up with a cause. If the response arrived in the meantime, Fail returns it. If
// the response waits behind other messages, Fail waits until Receive delivers it, at the latest
// when Receive ends.
func (c *Call) Fail(cause error) (*jsonrpc.Message, error) {
	if c.forget() {
		return nil, c.failure(cause)
	}
	a := <-c.done
	return a.message, a.err
}

// forget removes the call from the table, so that its response is ignored. It reports false if the
// response has arrived.
func (c *Call) forget() bool {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	if c.inbox.calls[c.id] != c {
		return false
	}
	delete(c.inbox.calls, c.id)
	if c.responded == nil {
		c.inbox.givenUp = time.Now()
	}
	return true
}

// failure returns the error without the server's name, which the caller adds.
func (c *Call) failure(cause error) error {
	return fmt.Errorf("expected a response to %s: %w", c.method, cause)
}

// deliver passes a response to its call.
func (b *Inbox) deliver(m *jsonrpc.Message) {
	c := b.pick(m.ID)
	if c == nil {
		b.log.Debug("mcp: a response without a waiting request", "server", b.name, "id", string(m.ID))
		return
	}
	if m.ID != c.id && !m.ID.IsZero() {
		m.Odd |= jsonrpc.OddID
	}
	m.ID = c.id
	b.complete(c, m)
}

// pick removes and returns the call for a response with this id, or returns nil. A response without
// an id belongs to a call only if no other call waits.
func (b *Inbox) pick(id jsonrpc.ID) *Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.calls[id]
	if c == nil && !id.IsZero() {
		c = b.calls[otherForm(id)]
	}
	if c == nil && id.IsZero() {
		c = b.alone()
	}
	if c != nil {
		delete(b.calls, c.id)
	}
	return c
}

// alone returns the only waiting call, or nil. It does not count calls that accept no response
// without an id. If a call was given up within strayTime, alone returns nil, as the response may
// belong to that call.
func (b *Inbox) alone() (only *Call) {
	if time.Since(b.givenUp) < strayTime {
		return nil
	}
	for _, c := range b.calls {
		switch {
		case c.responded != nil:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

// hand passes a response to the call.
func (c *Call) hand(m *jsonrpc.Message) {
	if c.responded != nil {
		c.responded()
	}
	c.done <- response{message: m}
}

// otherForm returns "5" for 5 and 5 for "5", as some servers turn numbers into strings, or the
// reverse.
func otherForm(id jsonrpc.ID) jsonrpc.ID {
	if id.IsString() {
		return id[1 : len(id)-1]
	}
	return `"` + id + `"`
}

// RespondsTo reports whether m is the response to the request with this id, on a channel without
// other requests. An error may lack the id.
func RespondsTo(m *jsonrpc.Message, id jsonrpc.ID) bool {
	return m.Kind == jsonrpc.Response && (m.ID == id || m.ID == otherForm(id) || m.ID.IsZero())
}
