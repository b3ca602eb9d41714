package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
)

const (
	maxClientBatch = 1_024                  // messages in one batch of the server
	lingerTime     = 250 * time.Millisecond // for the end of a stream behind the response
	maxLinger      = 4 << 10                // bytes of it
	arriveTime     = 500 * time.Millisecond // for a request to reach the server, which may say nothing of it before it responds
)

// Call implements [link.Link].
func (c *clientLink) Call(ctx context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	what := "expected a response to " + out.Method
	for _, over := range []context.Context{ctx, c.ctx} {
		if over.Err() != nil {
			return nil, c.failure(over, what, nil)
		}
	}
	s := c.scope(ctx, out)
	r := &clientReply{link: c, scope: s, id: out.ID, deliver: deliver, events: newClientEvents()}
	m, rest, err := r.roundTrip(out)
	if err != nil {
		err = c.failure(s.ctx, what, err)
		s.end()
		return nil, err
	}
	s.release()
	c.linger(s, rest)
	return m, nil
}

// linger reads to the end of a stream behind the response, so that its
// connection can be used again, without making the caller wait for it.
func (c *clientLink) linger(s *clientScope, rest io.ReadCloser) {
	if rest == nil {
		s.end()
		return
	}
	read := func() {
		timer := time.AfterFunc(lingerTime, func() { s.cancel(nil) })
		io.CopyN(io.Discard, rest, maxLinger)
		timer.Stop()
		rest.Close()
		s.end()
	}
	if !c.own(read) {
		rest.Close()
		s.end()
	}
}

// A clientReply is what comes back for one request.
type clientReply struct {
	link    *clientLink
	scope   *clientScope
	id      jsonrpc.ID
	deliver func(*jsonrpc.Message)
	session *clientSession // in which the request was sent; nil for none
	events  clientEvents
}

// roundTrip sends the request and reads the reply. rest is what follows the
// response on its stream, if there is one.
func (r *clientReply) roundTrip(out link.Out) (_ *jsonrpc.Message, rest io.ReadCloser, _ error) {
	resp, session, err := r.link.post(r.scope.ctx, out)
	r.scope.arrive()
	if err != nil {
		return nil, nil, cutOff(err)
	}
	r.session = session
	switch found := httplink.MediaType(resp); {
	case found == httplink.JSON:
		m, err := r.readJSON(resp)
		return m, nil, err
	case found == httplink.EventStream:
		return r.follow(resp)
	case resp.StatusCode != http.StatusOK:
		httplink.Discard(resp)
		return nil, nil, fmt.Errorf("found HTTP status %d, which announces no response", resp.StatusCode)
	default:
		resp.Body.Close()
		return nil, nil, fmt.Errorf("expected %s or %s, found the content type %q", httplink.JSON, httplink.EventStream, found)
	}
}

// readJSON reads a reply that is one JSON text.
func (r *clientReply) readJSON(resp *http.Response) (*jsonrpc.Message, error) {
	defer resp.Body.Close()
	body, err := r.link.endpoint.ReadMessage(resp)
	if err != nil {
		return nil, cutOff(err)
	}
	if jsonrpc.SkipSpace(body, 0) == len(body) {
		return nil, fmt.Errorf("found HTTP status %d with an empty body", resp.StatusCode)
	}
	m, err := r.receive(body)
	if m == nil && err == nil {
		err = fmt.Errorf("found messages, but no response with the id %s", r.id)
	}
	return m, err
}

// receive sorts one message or one batch of the reply, and returns the response if
// it is there.
func (r *clientReply) receive(data []byte) (response *jsonrpc.Message, err error) {
	if !jsonrpc.IsBatch(data) {
		return r.receiveOne(data)
	}
	elements, fault := jsonrpc.SplitBatch(data, maxClientBatch, jsonrpc.Limits{})
	if fault != nil {
		return nil, finalError{fmt.Errorf("the reply is not valid: %w", fault)}
	}
	for _, element := range elements {
		m, err := r.receiveOne(bytes.Clone(element)) // one that waits keeps nothing of the others
		if err != nil {
			return nil, err
		}
		if m != nil {
			response = m
		}
	}
	return response, nil
}

func (r *clientReply) receiveOne(data []byte) (*jsonrpc.Message, error) {
	m, fault := pipe.Parse(data)
	switch {
	case fault != nil:
		return nil, finalError{fmt.Errorf("the reply is not valid: %w", fault)}
	case pipe.RespondsTo(&m, r.id):
		if m.ID != r.id && !m.ID.IsZero() {
			r.link.log.Debug("mcp: a response has another id than its request", "server", r.link.endpoint.Name, "id", string(m.ID), "expected", string(r.id),
				mcp.LogBreach, "a response must have the same id as its request (basic)")
		}
		m.ID = r.id
		return &m, nil
	case m.Kind == jsonrpc.Response:
		r.link.log.Debug("mcp: a response to another request", "server", r.link.endpoint.Name, "id", string(m.ID))
	case r.deliver != nil:
		r.deliver(&m)
	}
	return nil, nil
}

// finalError is an error that trying again would meet again.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// follow reads a reply that is a stream, and resumes the stream when it breaks.
func (r *clientReply) follow(resp *http.Response) (*jsonrpc.Message, io.ReadCloser, error) {
	for {
		m, err := r.readStream(resp.Body)
		if m != nil {
			return m, resp.Body, nil
		}
		resp.Body.Close()
		if _, final := errors.AsType[finalError](err); final || r.scope.ctx.Err() != nil {
			return nil, nil, err
		}
		if resp, err = r.resume(err); err != nil {
			return nil, nil, err
		}
	}
}

// readStream reads events until the response, or until the stream ends, which
// is an error.
func (r *clientReply) readStream(body io.Reader) (*jsonrpc.Message, error) {
	return r.events.read(body, r.link.endpoint.MaxMessage, func(data []byte, again bool) (*jsonrpc.Message, error) {
		if again && !r.isResponse(data) {
			return nil, nil
		}
		return r.receive(data)
	})
}

// isResponse reports whether data is the response, which is missing and so
// cannot have come before.
func (r *clientReply) isResponse(data []byte) bool {
	m, fault := pipe.Parse(data)
	return fault == nil && pipe.RespondsTo(&m, r.id)
}

// resume opens the stream again behind the last event (2025-11-25
// basic/transports, resumability and redelivery).
func (r *clientReply) resume(broken error) (*http.Response, error) {
	if broken == io.EOF {
		broken = errors.New("the stream ended")
	}
	for {
		switch {
		case r.events.lastID == "" || r.link.transport.options.MaxRetries < 0:
			return nil, unanswered(broken, "it cannot be resumed")
		case r.events.failures >= r.link.transport.options.MaxRetries:
			return nil, unanswered(broken, fmt.Sprintf("%d attempts to resume it failed", r.events.failures))
		}
		if err := r.events.wait(r.scope.ctx); err != nil {
			return nil, err
		}
		resp, err := r.link.get(r.scope.ctx, r.session, r.events.lastID)
		switch {
		case err == nil:
			return resp, nil
		case !passes(err):
			return nil, unanswered(err, "it cannot be resumed")
		}
		broken = err
		r.events.failures++
	}
}

// unanswered is the error for a request whose response is lost.
func unanswered(cause error, then string) error {
	return fmt.Errorf("%w; %s, and %w", cause, then, link.ErrNoResponse)
}

// cutOff says what it may mean that the connection broke.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the connection broke (%w), and %w", err, link.ErrNoResponse)
	}
	return err
}

// passes reports whether what an error tells of may be over soon.
func passes(err error) bool {
	if _, other := errors.AsType[*notStream](err); other || errors.Is(err, link.ErrSessionLost) {
		return false
	}
	status, ok := errors.AsType[*mcp.StatusError](err)
	if !ok {
		return true
	}
	switch status.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status.Status >= 500
}
