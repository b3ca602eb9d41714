package upstream

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// receiveAll reads the messages that belong to no call until ctx ends, and then calls ended. It
// reports false if the connection is closed. It returns when the reading has begun, so that no
// response overtakes earlier messages.
func (c *conn) receiveAll(ctx context.Context, ended func(error)) bool {
	begun := make(chan struct{})
	runs := c.spawn(func() {
		ended(c.link.Receive(ctx, func() { close(begun) }, func(m *jsonrpc.Message) { c.receive(nil, m) }))
	})
	if runs {
		<-begun
	}
	return runs
}

// receive handles a message that is not a response. It came on the channel of the call k, if that
// is not nil. The reader of messages calls receive, so it must not wait.
func (c *conn) receive(k *call, m *jsonrpc.Message) {
	s := c.session.Load()
	if k != nil && k.session != nil { // the connection may have a newer session
		s = k.session
	}
	c.receiveIn(s, k, m)
}

// receiveIn handles a message of a session, which is nil before the first session.
func (c *conn) receiveIn(s *session, k *call, m *jsonrpc.Message) {
	switch {
	case !c.read(c.ctx, m):
	case m.Kind == jsonrpc.Request && m.Method == methodPing && (s == nil || !s.revision.Modern):
		c.respond(s, m.ID, jsonrpc.AppendResult(nil, m.ID, nil))
	case s == nil && m.Kind == jsonrpc.Request:
		c.log.Debug("mcp: a request came before the handshake was over", "server", c.options.Name, "method", m.Method,
			mcp.LogBreach, "before notifications/initialized a server sends no requests but ping (basic/lifecycle)")
		c.refuse(s, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "the handshake is not over yet"))
	case m.Kind == jsonrpc.Request:
		s.era.request(s, k, m)
	case m.Kind != jsonrpc.Notification:
		c.log.Debug("mcp: a response without a waiting request", "server", c.options.Name, "id", string(m.ID))
	case s == nil: // there are no listeners yet
	case m.Method == notificationProgress:
		if k := c.find(m.Members.Get("progressToken")); k != nil {
			k.events.put(event{kind: notification, message: m})
		}
	case m.Method == notificationMessage:
		c.receiveLog(s, k, m)
	default:
		s.era.notify(s, m)
	}
}

// receiveLog passes a log message to its call. It drops a message that names no call if calls of
// several clients are open, or if the server may still work on a call that ended without a
// response.
func (c *conn) receiveLog(s *session, k *call, m *jsonrpc.Message) {
	sameCaller := true
	if k == nil {
		k, sameCaller = c.unnamed()
		c.mu.Lock()
		ended := c.closing || time.Now().Before(c.stray) || k == nil && len(c.lingering) > 0
		c.mu.Unlock()
		// The message may belong to an ended call, and open calls and listeners may belong to other
		// clients.
		sameCaller = sameCaller && (!ended || c.options.OneClient)
	}
	switch {
	case !sameCaller:
		c.log.Debug("mcp: a log message could belong to several clients", "server", c.options.Name)
	case k != nil:
		k.events.put(event{kind: notification, message: m})
	default:
		s.era.notify(s, m)
	}
}

// unnamed finds the call for a message that names no call. It returns the newest call during which
// the server may send requests. If there is none, it returns the newest other call, or nil. The
// result sameCaller is false if these calls belong to several clients.
func (c *conn) unnamed() (newest *call, sameCaller bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asks, sameCaller := false, true
	for _, k := range c.calls {
		switch {
		case !k.acceptsRequests:
		case newest == nil || mayAsk(k.method) && !asks:
			newest, asks, sameCaller = k, mayAsk(k.method), true
		case mayAsk(k.method) != asks:
		default:
			sameCaller = sameCaller && k.caller != nil && k.caller == newest.caller
			if len(k.id) > len(newest.id) || len(k.id) == len(newest.id) && k.id > newest.id {
				newest = k
			}
		}
	}
	for caller, l := range c.lingering {
		switch {
		case l.isOver():
			delete(c.lingering, caller)
		case newest != nil && (caller == nil || caller != newest.caller):
			sameCaller = false
		}
	}
	return newest, sameCaller
}

// respond sends a response to a request of the server without waiting, in the session of the
// request. If too many responses wait, it drops the response. It replaces a large response by an
// error.
func (c *conn) respond(s *session, id jsonrpc.ID, message []byte) {
	select {
	case c.responses <- struct{}{}:
	default:
		c.log.Debug("mcp: a response was dropped: too many wait for the server to read them", "server", c.options.Name, "waiting", maxResponses)
		return
	}
	if size := int64(len(message)); c.responseBytes.Add(size) > max(size, maxSendBytes) {
		c.responseBytes.Add(-size)
		message = jsonrpc.AppendError(nil, id, jsonrpc.Errorf(jsonrpc.InternalError, "the response is too large to be queued: at most %d MiB can wait", maxSendBytes>>20))
		c.responseBytes.Add(int64(len(message)))
	}
	size := int64(len(message))
	over := func() { c.responseBytes.Add(-size); <-c.responses }
	out := link.Out{Message: message, Header: c.header(s, "", "")}
	if s != nil {
		out.Session = s.id
	}
	c.spawn(func() {
		defer over()
		ctx, cancel := context.WithTimeout(c.ctx, respondTime)
		defer cancel()
		if err := c.link.Send(ctx, out); err != nil {
			c.log.Debug("mcp: a response did not reach the server", "server", c.options.Name, "error", err)
		}
	})
}

func (c *conn) refuse(s *session, id jsonrpc.ID, e *jsonrpc.Error) {
	c.respond(s, id, jsonrpc.AppendError(nil, id, e))
}

// noPeer is the Peer of requests of the connection itself.
type noPeer struct{ mcp.NoPeer }
