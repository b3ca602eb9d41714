package httplink

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/plainhttp"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

const (
	maxRedirects = 5
	maxIdle      = 512 // idle connections to one server

	maxArriving      = 256     // cancelled requests of one connection that have not arrived yet
	maxArrivingBytes = 8 << 20 // bytes of their messages; one message may always wait

	closingArriveTime = 200 * time.Millisecond // how long such a request may take to arrive when its connection is closed
)

// Options holds the settings of an Endpoint. The zero value of each field is its default.
type Options struct {
	HTTP       *http.Client // default: a new client
	Header     http.Header  // sent with every request
	MaxMessage int          // maximum bytes of one message; default 16 MiB
	Logger     *slog.Logger // default: slog.Default()
}

// An Endpoint is the URL of one server.
type Endpoint struct {
	URL        *url.URL
	Name       string // URL for errors, without parts that may be secret
	MaxMessage int
	Log        *slog.Logger

	client    *http.Client
	own       bool // set if the Endpoint must close client
	header    http.Header
	transport http.RoundTripper // transport of client, if client does nothing else but follow redirects; otherwise nil

	exchanges Exchanges
	long      sync.Pool // of *bytes.Buffer, to read long messages

	mu            sync.Mutex
	arriving      int // requests in AwaitArrival
	arrivingBytes int // bytes of their messages
}

// Name returns the form of a URL for errors: without userinfo, query and fragment, and without keys
// in its path.
func Name(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return "a URL that cannot be read"
	}
	return nameOf(u)
}

func nameOf(u *url.URL) string {
	const most = 200
	if plain := u.Scheme + "://" + u.Host + u.Path; len(plain) <= most && strings.HasPrefix(u.Path, "/") && redact.IsPlainURL(plain) {
		return plain
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plaintext.Line(redact.URL(shown.String()), most)
}

// New returns the Endpoint of an absolute URL with the scheme http or https.
func New(rawURL string, o Options) (*Endpoint, error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server's URL cannot be read: %w", bare(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("expected a server's URL that starts with http:// or https://, found the scheme %.20q", u.Scheme)
	case u.Host == "":
		return nil, fmt.Errorf("expected a server's URL with a host, found none")
	}
	e := &Endpoint{URL: u, Name: nameOf(u), MaxMessage: o.MaxMessage, Log: o.Logger, header: o.Header}
	e.MaxMessage = cmp.Or(max(e.MaxMessage, 0), mcp.DefaultMaxMessage)
	e.Log = cmp.Or(e.Log, slog.Default())
	e.client, e.own = client(o.HTTP)
	if c := e.client; c.Transport != nil && c.Jar == nil && c.Timeout == 0 && u.User == nil {
		e.transport = c.Transport // Client.Do copies the headers of every request for redirects
	}
	return e, nil
}

// client returns a client that follows redirects only within the same server. It reports whether
// the client is new.
func client(given *http.Client) (_ *http.Client, own bool) {
	c := new(http.Client)
	if given != nil {
		*c = *given
	} else if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		t := standard.Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdle, maxIdle
		c.Transport, own = plainhttp.New(t), true
	}
	theirs := c.CheckRedirect
	c.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if err := mayFollow(next, via); err != nil || theirs == nil {
			return err
		}
		return theirs(next, via)
	}
	return c, own
}

// mayFollow refuses a redirect that would send credentials to another server or without encryption,
// or that would change the method.
func mayFollow(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("redirected more than %d times", maxRedirects)
	case first.URL.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("redirected from https to %s, which is not followed", nameOf(next.URL))
	case !outside.SameOrigin(first.URL, next.URL) && !upgraded(first.URL, next.URL):
		return fmt.Errorf("redirected to another server, %s; if that is right, use its URL", nameOf(next.URL))
	case next.Method != first.Method:
		return fmt.Errorf("redirected to %s in a way that turns %s into %s; if that is right, use its URL", nameOf(next.URL), first.Method, next.Method)
	}
	return nil
}

// upgraded reports whether b is the same host as a with https, both at the standard ports.
func upgraded(a, b *url.URL) bool {
	return a.Scheme == "http" && b.Scheme == "https" && outside.Port(a) == "80" && outside.Port(b) == "443" &&
		strings.EqualFold(a.Hostname(), b.Hostname())
}

// Do sends a request to u, a URL of the same server. It adds those headers of the Options that
// header lacks. The caller must close the body of the response. Errors contain only their cause,
// and no URL.
func (e *Endpoint) Do(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*http.Response, error) {
	watched, w := e.exchanges.watching(ctx)
	req, err := e.request(watched, method, u, header, body)
	if err != nil {
		return nil, bare(err)
	}
	resp, err := e.do(w, req, u, header, body)
	if err != nil {
		return nil, bare(err)
	}
	if resp.Header[headerCoding] != nil && decode(resp, header[headerCodes]) {
		tolerance.ContentCoding.Met(ctx, e.Log, e.Name, method)
	}
	return resp, nil
}

// do sends a request. It follows redirects with copies of the request.
func (e *Endpoint) do(w *watch, req *http.Request, u *url.URL, header http.Header, body []byte) (*http.Response, error) {
	client := *e.client
	if e.transport != nil {
		resp, err := w.trip(e.transport, req)
		if err != nil || resp.StatusCode/100 != 3 {
			return resp, err
		}
		client.Transport = &received{e.transport, w, resp}
		if req, err = e.request(req.Context(), req.Method, u, header, body); err != nil {
			return nil, err
		}
	} else if w != nil {
		client.Transport = &received{cmp.Or(client.Transport, http.DefaultTransport), w, nil}
	}
	return client.Do(req)
}

// A received is a RoundTripper that returns response for the first request, unless response is nil.
type received struct {
	next     http.RoundTripper
	watch    *watch
	response *http.Response
}

// RoundTrip implements [http.RoundTripper].
func (r *received) RoundTrip(req *http.Request) (*http.Response, error) {
	if resp := r.response; resp != nil {
		r.response, resp.Request = nil, req
		return resp, nil
	}
	return r.watch.trip(r.next, req)
}

func (e *Endpoint) request(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*http.Request, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "", reader) // u is parsed already
	if err != nil {
		return nil, err
	}
	req.URL, req.Host = u, strings.TrimSuffix(u.Host, ":")
	for name, values := range e.header {
		if name = http.CanonicalHeaderKey(name); header[name] == nil {
			header[name] = values
		}
	}
	askCoding(header, method, u.Scheme)
	req.Header = header
	return req, nil
}

// AwaitArrival waits until a cancelled request of size bytes has arrived at the server. A server
// ignores a cancellation that arrives before the request (basic/utilities/cancellation).
// AwaitArrival does not wait if too many requests wait already. Otherwise a client that repeatedly
// calls and cancels could fill the memory. It returns givenUp, which also wraps link.ErrMayArrive
// if the request is not known to have arrived.
func (e *Endpoint) AwaitArrival(givenUp error, size int, arrived <-chan struct{}, within time.Duration) error {
	select {
	case <-arrived:
		return givenUp
	default:
	}
	late := fmt.Errorf("%w; %w", givenUp, link.ErrMayArrive)
	if !e.addArriving(size) {
		return late
	}
	defer e.removeArriving(size)
	if errors.Is(givenUp, mcp.ErrClosed) {
		within = min(within, closingArriveTime)
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-arrived:
		return givenUp
	case <-timer.C:
		return late
	}
}

func (e *Endpoint) addArriving(size int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.arriving >= maxArriving || e.arriving > 0 && e.arrivingBytes+size > maxArrivingBytes {
		return false
	}
	e.arriving++
	e.arrivingBytes += size
	return true
}

func (e *Endpoint) removeArriving(size int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arriving--
	e.arrivingBytes -= size
}

// bare removes the URL from an error, as it may contain secrets.
func bare(err error) error {
	for {
		wrapped, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = wrapped.Err
	}
}

// Close closes idle connections if the Endpoint made its client.
func (e *Endpoint) Close() {
	if e.own {
		e.client.CloseIdleConnections()
	}
}

// Way describes how messages travel to the endpoint. The parameter session is the session's id, or
// empty.
func (e *Endpoint) Way(session string) link.Way {
	w := link.Way{Network: "tcp", Protocol: "http", Address: e.URL.Hostname(), Session: redact.Digest(session)}
	w.Port, _ = strconv.Atoi(outside.Port(e.URL))
	return w
}
