package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
)

// longStream is the minimum duration of a stream without events that does not count as refused. A
// proxy may have closed it because it was idle.
const longStream = 10 * time.Second

// Receive implements [link.Link] with the stream of a legacy session. It opens the stream again
// whenever it ends, and does not give up.
func (c *clientLink) Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error {
	const what = "the stream for messages of the server"
	begun()
	if ctx.Err() != nil {
		return c.failure(ctx, what, nil)
	}
	session, err := c.current()
	if err != nil {
		return c.failure(ctx, what, err)
	}
	s := new(clientScope)
	s.begin(ctx, c, link.Out{})
	defer s.end()
	if session != nil {
		defer context.AfterFunc(session.ctx, func() { s.cancel(context.Cause(session.ctx)) })()
	}
	events := newClientEvents()
	for opened := false; ; {
		resp, err := c.get(s.ctx, session, events.lastID)
		switch {
		case s.ctx.Err() != nil:
			if err == nil {
				resp.Body.Close()
			}
			return c.failure(s.ctx, what, nil)
		case err == nil:
			opened = true
			began := time.Now()
			session.heard(true)
			err = c.readNotifications(&events, resp, deliver)
			session.heard(false)
			if time.Since(began) >= longStream {
				events.failures = 0
			}
		default:
			if err := notOffered(err, opened); err != nil {
				return c.failure(s.ctx, what, err)
			}
			session.heard(false)
			events.failures++
		}
		c.log.Debug("mcp: the stream for messages of the server ended", "server", c.endpoint.Name, "error", err)
		if err := events.wait(s.ctx); err != nil {
			return c.failure(s.ctx, what, err)
		}
	}
}

// notOffered returns the error with which to give up, if a failed attempt shows that further
// attempts are useless. Otherwise it returns nil.
func notOffered(err error, opened bool) error {
	if errors.Is(err, link.ErrSessionLost) {
		return err
	}
	status, isStatus := errors.AsType[*mcp.StatusError](err)
	_, other := errors.AsType[*notStream](err)
	switch {
	case isStatus && status.Status == http.StatusMethodNotAllowed:
	case opened || passes(err):
		return nil
	case isStatus && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		return err
	case !isStatus && !other:
		return nil
	}
	return fmt.Errorf("%w: %w", link.ErrNoChannel, err)
}

// readNotifications reads the stream until its connection ends.
func (c *clientLink) readNotifications(events *clientEvents, resp *http.Response, deliver func(*jsonrpc.Message)) error {
	defer resp.Body.Close()
	_, err := events.read(resp.Body, c.endpoint.MaxMessage, eventUse{
		take: func(e eventstream.Event, again bool) (*jsonrpc.Message, error) {
			switch {
			case again:
			case e.Name != "" && e.Name != onlyName:
				c.met(tolerance.NotAMessage)
			default:
				lines := [][]byte{e.Data}
				if _, fault := pipe.Parse(e.Data); fault != nil && !jsonrpc.IsBatch(e.Data) {
					if several := pipe.MessageLines(e.Data); several != nil {
						c.met(tolerance.JoinedEvents)
						lines = several
					}
				}
				for _, line := range lines {
					c.deliverEach(line, deliver)
				}
			}
			return nil, nil
		},
		whole:   pipe.AreMessages,
		unended: func() { c.met(tolerance.UnendedEvent) },
	})
	return err
}

// met records that a tolerance was needed on the stream for messages of the server.
func (c *clientLink) met(t tolerance.Tolerance) {
	t.Met(c.ctx, c.log, c.endpoint.Name, "the stream of a GET")
}

// deliverEach delivers one message, or each message of a batch. It skips invalid input, as no call
// waits for it.
func (c *clientLink) deliverEach(data []byte, deliver func(*jsonrpc.Message)) {
	elements, odd := [][]byte{data}, jsonrpc.Odd(0)
	if jsonrpc.IsBatch(data) {
		elements = nil
		batch, mended, fault := pipe.SplitBatch(data, maxClientBatch)
		if odd = mended; fault != nil {
			c.met(tolerance.NotAMessage)
		}
		for _, element := range batch {
			elements = append(elements, bytes.Clone(element)) // copied, so that it does not keep the others in memory
		}
	}
	for _, element := range elements {
		m, fault := pipe.Parse(element)
		switch {
		case fault != nil:
			c.met(tolerance.NotAMessage)
		case m.Kind == jsonrpc.Response:
			c.log.Debug("mcp: ignored a response on the GET stream, which is for other messages", "server", c.endpoint.Name, "id", string(m.ID),
				mcp.LogBreach, "a server must not send a response on the stream of a GET, unless it resumes that of a request (basic/transports)")
		default:
			m.Odd |= odd
			deliver(&m)
		}
	}
}
