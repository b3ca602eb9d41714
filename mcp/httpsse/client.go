package httpsse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
	"github.com/junction-mcp/junction/mcp/internal/upstream"
)

// ClientOptions holds the settings of a client. The zero value of each field is its default.
type ClientOptions struct {
	// HTTP sends the requests. By default, each connection makes a client. The Timeout of HTTP
	// should be 0, as the stream lasts as long as the connection. Only redirects to the same server
	// are followed, even if CheckRedirect allows others.
	HTTP *http.Client
	// Header is sent with every request, such as Authorization.
	Header http.Header
	// MaxMessage is the maximum size of an accepted message in bytes; the default is 16 MiB.
	MaxMessage int
	// EndpointTimeout is how long the client waits for the stream and the URL for messages; the
	// default is 10 seconds.
	EndpointTimeout time.Duration
	// Logger receives records of the server's faults; the default is slog.Default().
	Logger *slog.Logger
}

const (
	defaultEndpointTime = 10 * time.Second
	maxEndpoint         = 8 << 10 // maximum bytes of the URL for messages
	maxBefore           = 100     // maximum events before the one with the URL

	acceptTime = 5 * time.Second // how long the server may take to accept the cancellation of a request

	// firstPause is the pause between receiving the URL for messages and sending the first message.
	// A server on Spring drops a response that is ready before the stream's own handler has
	// returned. A client with a warm connection is fast enough to cause that.
	firstPause = 50 * time.Millisecond
)

// Client returns a transport to the server whose stream is at a URL.
func Client(url string) mcp.Transport { return ClientWith(url, ClientOptions{}) }

// ClientWith is like [Client], with options.
func ClientWith(url string, o ClientOptions) mcp.Transport {
	t := &clientTransport{url: url, options: o}
	if t.options.EndpointTimeout <= 0 {
		t.options.EndpointTimeout = defaultEndpointTime
	}
	return t
}

type clientTransport struct {
	url     string
	options ClientOptions
}

// String returns the server's URL without the parts that may be secret.
func (t *clientTransport) String() string { return httplink.Name(t.url) }

// Connect implements [mcp.Transport].
func (t *clientTransport) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	return upstream.Connect(ctx, t.Link, o)
}

// Link opens the stream and waits until the server sent the URL for messages.
func (t *clientTransport) Link(ctx context.Context) (link.Link, error) {
	o := t.options
	e, err := httplink.New(t.url, httplink.Options{HTTP: o.HTTP, Header: o.Header, MaxMessage: o.MaxMessage, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	c := &clientLink{Inbox: pipe.NewInbox(e.Name, e.Log), endpoint: e}
	c.NameSkipped(func() { c.met(tolerance.NotAMessage) })
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := c.open(ctx, o.EndpointTimeout); err != nil {
		c.cancel(nil)
		e.Close()
		return nil, err
	}
	c.reading.Go(c.read)
	return c, nil
}

// A clientLink is one session. The server sends its messages on a stream, and the client sends its
// messages to a URL.
type clientLink struct {
	*pipe.Inbox
	endpoint  *httplink.Endpoint
	messages  *url.URL
	body      *http.Response
	events    *eventstream.Reader
	ctx       context.Context // ends with the link
	cancel    context.CancelCauseFunc
	reading   sync.WaitGroup
	closeOnce sync.Once
}

// open opens the stream and reads the URL for messages (2024-11-05 basic/transports, HTTP with
// SSE).
func (c *clientLink) open(ctx context.Context, within time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	late := fmt.Errorf("the server did not name the URL for messages within %v", within)
	timer := time.AfterFunc(within, func() { c.cancel(late) })
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })()
	err := c.openStream()
	if err == nil {
		c.messages, err = c.readEndpoint()
	}
	if err == nil {
		select {
		case <-time.After(firstPause):
		case <-c.ctx.Done():
			err = context.Cause(c.ctx)
		}
	}
	if err != nil && c.body != nil {
		c.body.Body.Close()
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return err
}

func (c *clientLink) openStream() error {
	resp, err := c.endpoint.Do(c.ctx, http.MethodGet, c.endpoint.URL, http.Header{"Accept": {httplink.EventStream}}, nil)
	switch {
	case err != nil:
		return err
	case !httplink.OK(resp):
		status, _ := c.endpoint.StatusError(resp)
		return status
	}
	c.body = resp
	if found := httplink.MediaType(resp); found != httplink.EventStream {
		if !httplink.MayBeEvents(resp, found) {
			return fmt.Errorf("expected a stream of events (%s), found %q", httplink.EventStream, found)
		}
		c.met(tolerance.ContentType)
	}
	c.events = eventstream.NewReader(resp.Body, c.endpoint.MaxMessage)
	c.events.AcceptUnended(pipe.AreMessages, func() { c.met(tolerance.UnendedEvent) })
	return nil
}

// met records that a tolerance was needed on the stream.
func (c *clientLink) met(t tolerance.Tolerance) {
	t.Met(c.ctx, c.endpoint.Log, c.endpoint.Name, "the stream of the session")
}

// readEndpoint reads events up to the one with the URL for messages. The URL must be on the same
// server as the stream, as credentials are sent to it.
func (c *clientLink) readEndpoint() (*url.URL, error) {
	for before := 0; ; {
		event, err := c.events.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf(`expected the event "endpoint": %w`, err)
		case len(event.Data) == 0:
			continue // only an id or a retry time
		case event.Name != "endpoint":
			if before++; before > maxBefore || pipe.AreMessages(event.Data) {
				return nil, fmt.Errorf(`expected the event "endpoint" first, found %.40q`, event.Name)
			}
			c.met(tolerance.EarlyEvent)
			continue
		case len(event.Data) > maxEndpoint:
			return nil, fmt.Errorf("the URL for messages is over %d bytes long", maxEndpoint)
		}
		return c.resolve(strings.TrimSpace(string(event.Data)))
	}
}

// resolve returns the URL for messages. The parameter ref is relative to the URL of the stream.
func (c *clientLink) resolve(ref string) (*url.URL, error) {
	stream := c.endpoint.URL
	if c.body.Request != nil {
		stream = c.body.Request.URL // after redirects
	}
	messages, err := stream.Parse(ref)
	if err != nil {
		return nil, errors.New("the URL for messages cannot be read")
	}
	if !outside.SameOrigin(messages, stream) {
		return nil, fmt.Errorf("the URL for messages is of another server, %s, which is refused", httplink.Name(messages.String()))
	}
	messages.User = c.endpoint.URL.User
	return messages, nil
}

// read reads the server's messages until the stream ends, which ends the session.
func (c *clientLink) read() {
	defer c.body.Body.Close()
	for {
		event, err := c.events.Next()
		switch {
		case c.ctx.Err() != nil:
			c.Fail(context.Cause(c.ctx))
			return
		case err != nil:
			c.Fail(fmt.Errorf("the stream ended, and the session with it: %w", err))
			return
		case len(event.Data) == 0:
		case event.Name == "" || event.Name == "message":
			c.take(event.Data)
		case event.Name != "endpoint": // a second URL has no effect
			c.met(tolerance.NotAMessage)
		}
	}
}

// take passes the messages of one event to the Inbox.
func (c *clientLink) take(data []byte) {
	lines := pipe.MessageLines(data)
	if lines == nil {
		c.Take(data)
		return
	}
	c.met(tolerance.JoinedEvents)
	for _, line := range lines {
		c.Take(bytes.Clone(line))
	}
}

// Call implements [link.Link].
func (c *clientLink) Call(ctx context.Context, out link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	call, err := c.Expect(out)
	if err != nil {
		return nil, err
	}
	if err := c.post(ctx, out); err != nil {
		return call.Fail(err)
	}
	return call.Wait(ctx)
}

// Send implements [link.Link].
func (c *clientLink) Send(ctx context.Context, out link.Out) error {
	if err := c.post(ctx, out); err != nil {
		return fmt.Errorf("%s: send a message: %w", c.endpoint.Name, err)
	}
	return nil
}

// post sends a message. It accepts any status that means success, as responses come on the stream.
func (c *clientLink) post(ctx context.Context, out link.Out) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	within, cancel := context.WithCancelCause(httplink.Within(c.ctx, ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		givenUp := context.Cause(ctx)
		if out.Arrives {
			givenUp = c.endpoint.AwaitArrival(givenUp, len(out.Message), within.Done(), acceptTime)
		}
		cancel(givenUp)
	})()
	header := http.Header(out.Header)
	if header == nil {
		header = make(http.Header, 1)
	}
	header.Set("Content-Type", httplink.JSON)
	resp, err := c.endpoint.Do(within, http.MethodPost, c.messages, header, out.Message)
	switch {
	case err != nil && within.Err() != nil:
		return context.Cause(within)
	case err != nil:
		return err
	case !httplink.OK(resp):
		status, id := c.endpoint.StatusError(resp)
		return c.refused(within, status, !id.IsZero() && id == out.ID)
	}
	httplink.Discard(resp)
	return nil
}

// refused ends the link if the server no longer knows its session, even if the stream still seems
// open. The flag answered reports that the refusal is the response to the request.
func (c *clientLink) refused(ctx context.Context, status *mcp.StatusError, answered bool) error {
	if !httplink.SessionLost(status, answered) || status.Status == http.StatusBadRequest && c.endpoint.Knows(ctx, c.messages, http.Header{}) {
		return status
	}
	err := fmt.Errorf("%w: %w", link.ErrSessionLost, status)
	c.Fail(err)
	c.cancel(err)
	return err
}

// Close implements [link.Link].
func (c *clientLink) Close() error {
	c.closeOnce.Do(func() {
		c.Closed()
		c.cancel(mcp.ErrClosed)
		c.reading.Wait()
		c.endpoint.Close()
	})
	return nil
}

// Transport returns the name of the transport for observers.
func (c *clientLink) Transport() string { return mcp.TransportSSE }

// ClosingCancels implements [link.Link]. It returns false, as a call has no channel of its own.
func (c *clientLink) ClosingCancels() bool { return false }

// Way implements the method that [link.WayOf] needs.
func (c *clientLink) Way() link.Way { return c.endpoint.Way("") }
