package streamable

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// ClientOptions are what the client can be told; the zero value of each field
// means its default.
type ClientOptions struct {
	// HTTP sends the requests; default a client of each connection's own. Its
	// Timeout should be 0, because streams last. Of redirects only those to the
	// same server are followed, whatever it says.
	HTTP *http.Client
	// Header is sent with every request, such as Authorization.
	Header http.Header
	// MaxMessage is the size of the largest message accepted, in bytes; default 16 MiB.
	MaxMessage int
	// MaxRetries is how many attempts in a row to resume the stream of a call may
	// fail before the call does; default 8. Negative means that none is made.
	MaxRetries int
	// Logger is told what the server does wrong; default slog.Default().
	Logger *slog.Logger
}

const (
	defaultMaxRetries = 8
	deleteTime        = 2 * time.Second // for ending the session when the link is closed
	maxSessionID      = 1 << 10
)

// Headers of the transport (2025-11-25 basic/transports).
const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"
)

// methodInitialize begins a session, and so goes without one.
const methodInitialize = "initialize"

// Client returns a transport to the server at a URL. It falls back to HTTP+SSE
// for servers that know nothing newer. options, at most one, may be left away.
func Client(url string, options ...ClientOptions) mcp.Transport {
	t := &clientTransport{url: url}
	if len(options) > 0 {
		t.options = options[0]
	}
	if t.options.MaxRetries == 0 {
		t.options.MaxRetries = defaultMaxRetries
	}
	return t
}

type clientTransport struct {
	url     string
	options ClientOptions
}

// Connect implements [mcp.Transport]. Nothing is sent before the first message.
func (t *clientTransport) Connect(ctx context.Context) (link.Link, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect to %s: %w", t, context.Cause(ctx))
	}
	o := t.options
	e, err := httplink.New(t.url, httplink.Options{HTTP: o.HTTP, Header: o.Header, MaxMessage: o.MaxMessage, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	c := &clientLink{transport: t, endpoint: e, log: e.Log}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// String names the server: its URL without what may be secret.
func (t *clientTransport) String() string { return httplink.Name(t.url) }

// clientLink is a connection to one server, which exists only as what later
// requests repeat: the session and the protocol version.
type clientLink struct {
	transport *clientTransport
	endpoint  *httplink.Endpoint
	log       *slog.Logger
	ctx       context.Context // ends with the link
	cancel    context.CancelCauseFunc
	owned     sync.WaitGroup
	closeOnce sync.Once

	mu      sync.Mutex
	closed  bool
	session string
	version string // of the last message
}

var _ link.Fallback = (*clientLink)(nil)

// Send implements [link.Link].
func (c *clientLink) Send(ctx context.Context, out link.Out) error {
	if ctx.Err() != nil {
		return c.failure(ctx, "send a message", nil)
	}
	s := c.scope(ctx)
	defer s.end()
	resp, err := c.post(s.ctx, out)
	if err != nil {
		return c.failure(s.ctx, "send a message", err)
	}
	httplink.Discard(resp)
	return nil
}

// post sends a message and returns an answer that says success.
func (c *clientLink) post(ctx context.Context, out link.Out) (*http.Response, error) {
	header := make(http.Header, len(out.Header)+4)
	for name, value := range out.Header {
		header.Set(name, value)
	}
	header.Set("Content-Type", httplink.JSON)
	header.Set("Accept", httplink.JSON+", "+httplink.EventStream)
	c.mu.Lock()
	c.version = header.Get(headerVersion)
	session := c.session
	c.mu.Unlock()
	if session != "" && out.Method != methodInitialize {
		header.Set(headerSession, session)
	} else {
		session = ""
	}
	resp, err := c.endpoint.Do(ctx, http.MethodPost, c.endpoint.URL, header, out.Message)
	if err != nil {
		return nil, err
	}
	if !httplink.OK(resp) {
		return nil, c.statusError(resp, session)
	}
	c.keepSession(resp, out.Method)
	return resp, nil
}

// get opens a stream of the server's, which goes on behind the event called
// lastID if that is not empty.
func (c *clientLink) get(ctx context.Context, lastID string) (*http.Response, error) {
	header, session := c.sessionHeader()
	header.Set("Accept", httplink.EventStream)
	if lastID != "" {
		header.Set(headerLastEvent, lastID)
	}
	resp, err := c.endpoint.Do(ctx, http.MethodGet, c.endpoint.URL, header, nil)
	if err != nil {
		return nil, err
	}
	if !httplink.OK(resp) {
		return nil, c.statusError(resp, session)
	}
	if found := httplink.MediaType(resp); found != httplink.EventStream {
		resp.Body.Close()
		return nil, &noStream{found}
	}
	return resp, nil
}

// noStream is the error for a stream that is none.
type noStream struct{ mediaType string }

func (e *noStream) Error() string {
	return fmt.Sprintf("expected a stream of events (%s), found %q", httplink.EventStream, e.mediaType)
}

// sessionHeader returns the headers of a request without a message.
func (c *clientLink) sessionHeader() (_ http.Header, session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	header := make(http.Header, 4)
	if c.session != "" {
		header.Set(headerSession, c.session)
	}
	if c.version != "" {
		header.Set(headerVersion, c.version)
	}
	return header, c.session
}

// keepSession remembers the session that the server assigned.
func (c *clientLink) keepSession(resp *http.Response, method string) {
	session := resp.Header.Get(headerSession)
	if session == "" && method != methodInitialize {
		return
	}
	if !validSession(session) {
		c.log.Warn("mcp: the server assigned a session id that the protocol does not allow; it is not used", "server", c.endpoint.Name)
		session = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// validSession reports whether an id consists of visible ASCII characters.
func validSession(id string) bool {
	for _, b := range []byte(id) {
		if b < 0x21 || b > 0x7e {
			return false
		}
	}
	return len(id) <= maxSessionID
}

// statusError makes the error of a status other than success. Status 404 to a
// request within a session means that the session is gone.
func (c *clientLink) statusError(resp *http.Response, session string) error {
	status := c.endpoint.StatusError(resp)
	if status.Status != http.StatusNotFound || session == "" {
		return status
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.session = ""
	}
	return fmt.Errorf("%w: %w", link.ErrSessionLost, status)
}

// failure says what did not work. When ctx is done, that is why.
func (c *clientLink) failure(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s: %s: %w", c.endpoint.Name, what, err)
}

// Dead implements [link.Link]: nothing but Close ends the link, as every request
// may find a connection of its own.
func (c *clientLink) Dead() <-chan struct{} { return c.ctx.Done() }

// Err implements [link.Link].
func (c *clientLink) Err() error {
	if c.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c.endpoint.Name, context.Cause(c.ctx))
}

// ClosingCancels implements [link.Link].
func (c *clientLink) ClosingCancels() bool { return true }

// Older implements [link.Fallback].
func (c *clientLink) Older(ctx context.Context) (link.Link, error) {
	o := c.transport.options
	return httpsse.Client(c.transport.url, httpsse.ClientOptions{
		HTTP: o.HTTP, Header: o.Header, MaxMessage: o.MaxMessage, Logger: o.Logger,
	}).Connect(ctx)
}

// Close implements [link.Link].
func (c *clientLink) Close() error {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.cancel(link.ErrClosed)
		c.owned.Wait()
		c.endSession()
		c.endpoint.Close()
	})
	return nil
}

// endSession tells the server that its session can go. It need not obey.
func (c *clientLink) endSession() {
	header, session := c.sessionHeader()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteTime)
	defer cancel()
	resp, err := c.endpoint.Do(ctx, http.MethodDelete, c.endpoint.URL, header, nil)
	if err != nil {
		c.log.Debug("mcp: the session could not be ended", "server", c.endpoint.Name, "error", err)
		return
	}
	httplink.Discard(resp)
}

// own runs f in a goroutine that Close waits for, unless the link is closed.
func (c *clientLink) own(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.owned.Go(f)
	return true
}

// A clientScope is the time of one call's requests. It ends with the caller's
// context and with the link, but can outlast the call.
type clientScope struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	release  func() bool // from the caller's context
	withLink func() bool
}

func (c *clientLink) scope(ctx context.Context) *clientScope {
	s := new(clientScope)
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.release = context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })
	s.withLink = context.AfterFunc(c.ctx, func() { s.cancel(context.Cause(c.ctx)) })
	return s
}

func (s *clientScope) end() {
	s.release()
	s.withLink()
	s.cancel(nil)
}
