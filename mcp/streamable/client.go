package streamable

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/upstream"
)

// ClientOptions holds the settings of a client. The zero value of each field is its default.
type ClientOptions struct {
	// HTTP sends the requests. By default, each connection makes a client. The Timeout of HTTP
	// should be 0, as streams can last long. Only redirects to the same server are followed, even
	// if CheckRedirect allows others.
	HTTP *http.Client
	// Header is sent with every request, such as Authorization.
	Header http.Header
	// MaxMessage is the maximum size of an accepted message in bytes. The default is 16 MiB.
	MaxMessage int
	// MaxRetries is the maximum number of consecutive failed attempts to resume the stream of a
	// call. After that, the call fails. The default is 8; a negative value disables resuming.
	MaxRetries int
	// Logger receives records of the server's faults. The default is slog.Default().
	Logger *slog.Logger
}

const defaultMaxRetries = 8

// The headers of the transport (2025-11-25 basic/transports).
const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"
)

// methodInitialize begins a session, so the request is sent without one.
const methodInitialize = "initialize"

// Client returns a transport to the server at a URL. It falls back to HTTP+SSE for servers without
// Streamable HTTP.
func Client(url string) mcp.Transport { return ClientWith(url, ClientOptions{}) }

// ClientWith is like [Client], with options.
func ClientWith(url string, o ClientOptions) mcp.Transport {
	t := &clientTransport{url: url, options: o}
	t.options.MaxRetries = cmp.Or(t.options.MaxRetries, defaultMaxRetries)
	return t
}

type clientTransport struct {
	url     string
	options ClientOptions
}

// Connect implements [mcp.Transport].
func (t *clientTransport) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	return upstream.Connect(ctx, t.Link, o)
}

// Link returns a link to the server. It sends nothing before the first message.
func (t *clientTransport) Link(ctx context.Context) (link.Link, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := t.options
	e, err := httplink.New(t.url, httplink.Options{HTTP: o.HTTP, Header: o.Header, MaxMessage: o.MaxMessage, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	c := &clientLink{transport: t, endpoint: e, log: e.Log, sends: []string{httplink.JSON}, accepts: []string{httplink.JSON + ", " + httplink.EventStream}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// String returns the server's URL without the parts that may be secret.
func (t *clientTransport) String() string { return httplink.Name(t.url) }

// A clientLink is a connection to one server. It stores the session and the protocol version for
// later requests.
type clientLink struct {
	transport *clientTransport
	endpoint  *httplink.Endpoint
	log       *slog.Logger
	sends     []string // Content-Type of all messages
	accepts   []string
	ctx       context.Context // ends with the link
	cancel    context.CancelCauseFunc
	owned     sync.WaitGroup
	closeOnce sync.Once

	mu      sync.Mutex
	closed  bool
	session *clientSession // nil without a session
	begun   jsonrpc.ID     // id of the initialize request that began the session
	lost    bool           // set if the server lost the session, and no handshake followed yet
	version string         // protocol version of the last message
}

var _ link.Fallback = (*clientLink)(nil)

// Send implements [link.Link]. It repeats a response to the server until that took it, as the
// request of the server waits for the response. A server ignores further responses.
func (c *clientLink) Send(ctx context.Context, out link.Out) error {
	if ctx.Err() != nil {
		return c.failure(ctx, "send a message", nil)
	}
	s := new(clientScope)
	s.begin(ctx, c, link.Out{})
	defer s.end()
	for pause := firstBackoff; ; pause = min(2*pause, maxResponsePause) {
		resp, _, err := c.post(s.ctx, out)
		if err == nil {
			httplink.Discard(resp)
			return nil
		}
		if out.Method != "" || !passes(err) || idle.Wait(s.ctx, pause) != nil {
			return c.failure(s.ctx, "send a message", err)
		}
	}
}

// post sends a message. It returns the response, whose status means success, and the session that
// it belongs to.
func (c *clientLink) post(ctx context.Context, out link.Out) (*http.Response, *clientSession, error) {
	header := http.Header(out.Header)
	if header == nil {
		header = make(http.Header, 3)
	}
	header["Content-Type"], header["Accept"] = c.sends, c.accepts
	session, err := c.sessionFor(out, header.Get(headerVersion))
	if err != nil {
		return nil, nil, err
	}
	if session != nil {
		header[headerSession] = session.header
	}
	resp, err := c.endpoint.Do(ctx, http.MethodPost, c.endpoint.URL, header, out.Message)
	if err != nil {
		return nil, nil, err
	}
	if !httplink.OK(resp) {
		return nil, nil, c.statusError(ctx, resp, session, out.ID, false)
	}
	return resp, c.accepted(resp, out, session), nil
}

// get opens a stream of the session. If lastID is not empty, the stream resumes after that event.
func (c *clientLink) get(ctx context.Context, session *clientSession, lastID string) (*http.Response, error) {
	if session.isLost() {
		return nil, link.ErrSessionLost
	}
	header := c.sessionHeader(session)
	header.Set("Accept", httplink.EventStream)
	if lastID != "" {
		header.Set(headerLastEvent, lastID)
	}
	resp, err := c.endpoint.Do(ctx, http.MethodGet, c.endpoint.URL, header, nil)
	if err != nil {
		return nil, err
	}
	if !httplink.OK(resp) {
		return nil, c.statusError(ctx, resp, session, "", true)
	}
	if found := httplink.MediaType(resp); found != httplink.EventStream {
		if !httplink.MayBeEvents(resp, found) {
			resp.Body.Close()
			return nil, &notStream{found}
		}
		c.met(tolerance.ContentType)
	}
	return resp, nil
}

// A notStream is the error for a response that is not a stream of events.
type notStream struct{ mediaType string }

func (e *notStream) Error() string {
	return fmt.Sprintf("expected a stream of events (%s), found %q", httplink.EventStream, e.mediaType)
}

// failure adds the failed operation to an error. If ctx is done, its cause replaces err. The caller
// adds the server.
func (c *clientLink) failure(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Done implements [link.Link]. Only Close ends the link, as each request may use another
// connection.
func (c *clientLink) Done() <-chan struct{} { return c.ctx.Done() }

// Err implements [link.Link].
func (c *clientLink) Err() error {
	if c.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c.endpoint.Name, context.Cause(c.ctx))
}

// Transport returns the name of the transport for observers.
func (c *clientLink) Transport() string { return mcp.TransportHTTP }

// ClosingCancels implements [link.Link].
func (c *clientLink) ClosingCancels() bool { return true }

// Older implements [link.Fallback].
func (c *clientLink) Older(ctx context.Context) (link.Link, error) {
	o := c.transport.options
	older := httpsse.ClientWith(c.transport.url, httpsse.ClientOptions{
		HTTP: o.HTTP, Header: o.Header, MaxMessage: o.MaxMessage, Logger: o.Logger,
	})
	return older.(link.Linker).Link(ctx)
}

// Close implements [link.Link].
func (c *clientLink) Close() error {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.cancel(mcp.ErrClosed)
		c.owned.Wait()
		c.endSession()
		c.endpoint.Close()
	})
	return nil
}

// own runs f in a goroutine that Close waits for. It reports false if the link is closed.
func (c *clientLink) own(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.owned.Go(f)
	return true
}

// A clientScope is the context of the HTTP requests of one call. It ends with the caller's context
// and with the link, but can outlive the call.
type clientScope struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	release func() bool   // detaches it from the caller's context
	arrived chan struct{} // closed when the server has the request; nil unless out.Arrives is set
}

// begin initializes the scope of a call. The receiver must be the zero value.
func (s *clientScope) begin(ctx context.Context, c *clientLink, out link.Out) {
	s.ctx, s.cancel = context.WithCancelCause(httplink.Within(c.ctx, ctx))
	arrives, size := out.Arrives, len(out.Message) // copied, so that the closure does not keep the message in memory
	var sent time.Time
	if arrives {
		s.arrived, sent = make(chan struct{}), time.Now()
	}
	s.release = context.AfterFunc(ctx, func() {
		givenUp := context.Cause(ctx)
		if arrives {
			givenUp = c.endpoint.AwaitArrival(givenUp, size, s.arrived, arriveTime-time.Since(sent))
		}
		s.cancel(givenUp)
	})
}

func (s *clientScope) end() {
	s.release()
	s.cancel(nil)
}

// Way implements the method that [link.WayOf] needs.
func (c *clientLink) Way() link.Way {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return c.endpoint.Way("")
	}
	return c.endpoint.Way(c.session.id)
}
