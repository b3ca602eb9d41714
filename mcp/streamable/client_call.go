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
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

const (
	maxClientBatch = 1_024                  // maximum messages in one batch of the server
	lingerTime     = 250 * time.Millisecond // wait for the end of a stream after the response
	maxLinger      = 4 << 10                // maximum bytes to read in that time
	arriveTime     = 500 * time.Millisecond // wait for a request to reach the server, which may send nothing before it responds
)

// Call implements [link.Link].
func (c *clientLink) Call(ctx context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	what := "expected a response to " + out.Method
	for _, over := range []context.Context{ctx, c.ctx} {
		if over.Err() != nil {
			return nil, c.failure(over, what, nil)
		}
	}
	r := &clientReply{link: c, id: out.ID, method: out.Method, deliver: deliver, events: newClientEvents()}
	s := &r.scope
	s.begin(ctx, c, out)
	m, rest, err := r.roundTrip(out)
	if err != nil {
		err = c.failure(s.ctx, what, err)
		s.end()
		return nil, err
	}
	s.release()
	r.linger(rest)
	return m, nil
}

// linger reads to the end of a stream after the response, so that its connection can be reused. It
// uses a goroutine and does not delay the caller.
func (r *clientReply) linger(rest io.ReadCloser) {
	s := &r.scope
	if rest == nil {
		s.end()
		return
	}
	read := func() {
		timer := time.AfterFunc(lingerTime, func() { s.cancel(nil) })
		if r.early {
			var next [1]byte
			if n, _ := io.ReadFull(rest, next[:]); n == 0 || next[0] != '\n' && next[0] != '\r' {
				r.met(tolerance.UnendedEvent)
			}
		}
		io.CopyN(io.Discard, rest, maxLinger)
		timer.Stop()
		rest.Close()
		s.end()
	}
	if !r.link.own(read) {
		rest.Close()
		s.end()
	}
}

// A clientReply is the reply to one request.
type clientReply struct {
	link    *clientLink
	scope   clientScope
	id      jsonrpc.ID
	method  string
	deliver func(*jsonrpc.Message)
	session *clientSession // session that the request was sent in; nil without one
	events  clientEvents

	named  uint64 // bit set of the recorded tolerances
	passed error  // why the last skipped event is not a message
	early  bool   // set if the response came without its blank line, which may still follow
}

// roundTrip sends the request and reads the reply. The result rest is the remainder of the
// response's stream, or nil.
func (r *clientReply) roundTrip(out link.Out) (_ *jsonrpc.Message, rest io.ReadCloser, _ error) {
	resp, session, err := r.link.post(r.scope.ctx, out)
	if r.scope.arrived != nil {
		close(r.scope.arrived)
	}
	if err != nil {
		return nil, nil, cutOff(err)
	}
	r.session = session
	switch found := httplink.MediaType(resp); {
	case found == httplink.JSON:
		return r.readJSON(resp)
	case found == httplink.EventStream:
		return r.follow(resp)
	default:
		return r.readOther(resp, found)
	}
}

// readOther reads a reply with another content type. It recognizes the form of the body by its
// first bytes.
func (r *clientReply) readOther(resp *http.Response, found string) (*jsonrpc.Message, io.ReadCloser, error) {
	begin, err := httplink.Begin(resp)
	form := httplink.FormOf(begin)
	switch {
	case err != nil:
		err = cutOff(err)
	case form == httplink.FormJSON:
		r.met(tolerance.ContentType)
		return r.readJSON(resp)
	case form == httplink.FormEvents:
		r.met(tolerance.ContentType)
		return r.follow(resp)
	case resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("found HTTP status %d without a response", resp.StatusCode)
	case jsonrpc.SkipSpace(begin, 0) == len(begin):
		err = emptyBody(resp)
	default:
		err = fmt.Errorf("expected %s or %s, found the content type %q, and a body that begins with %q", httplink.JSON, httplink.EventStream, found, httplink.Shown(begin))
	}
	resp.Body.Close()
	return nil, nil, err
}

func emptyBody(resp *http.Response) error {
	return fmt.Errorf("found HTTP status %d with an empty body", resp.StatusCode)
}

// readJSON reads a reply whose body is JSON.
func (r *clientReply) readJSON(resp *http.Response) (*jsonrpc.Message, io.ReadCloser, error) {
	if resp.ContentLength < 0 {
		httplink.Expect(resp, httplink.FormJSON)
	}
	body, err := r.link.endpoint.ReadMessage(resp)
	if err == httplink.ErrOtherForm {
		r.met(tolerance.ContentType)
		return r.follow(resp)
	}
	defer resp.Body.Close()
	if err != nil {
		return nil, nil, cutOff(err)
	}
	if text, marked := bytes.CutPrefix(body, []byte(httplink.ByteOrderMark)); marked {
		r.met(tolerance.ByteOrderMark)
		body = text
	}
	if jsonrpc.SkipSpace(body, 0) == len(body) {
		return nil, nil, emptyBody(resp)
	}
	m, err := r.receive(body)
	if err != nil {
		m, err = r.receiveSeveral(resp, body, err)
	}
	if m == nil && err == nil {
		err = fmt.Errorf("found messages, but no response with the id %s", r.id)
	}
	return m, nil, err
}

// A finalError is an error for which a retry is useless.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// follow reads a reply that is a stream. If the stream breaks, it resumes the stream.
func (r *clientReply) follow(resp *http.Response) (*jsonrpc.Message, io.ReadCloser, error) {
	for {
		httplink.Expect(resp, httplink.FormEvents)
		m, err := r.readStream(resp.Body)
		if m != nil {
			return m, resp.Body, nil
		}
		if err == httplink.ErrOtherForm {
			r.met(tolerance.ContentType)
			resp.ContentLength = 0 // not checked again
			return r.readJSON(resp)
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

// resume opens the stream again after the last event (2025-11-25 basic/transports, resumability and
// redelivery).
func (r *clientReply) resume(broken error) (*http.Response, error) {
	if broken == io.EOF {
		broken = errors.New("the stream ended")
	}
	if r.passed != nil {
		broken = fmt.Errorf("%w, and an event was left out that is not a message: %w", broken, r.passed)
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

// unanswered returns the error for a request whose response was lost.
func unanswered(cause error, then string) error {
	return fmt.Errorf("%w; %s, and %w", cause, then, link.ErrNoResponse)
}

// cutOff adds the possible cause to the error of a broken connection.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the connection broke (%w), and %w", err, link.ErrNoResponse)
	}
	return err
}

// passes reports whether an error may have a temporary cause.
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
