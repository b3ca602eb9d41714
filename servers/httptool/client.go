package httptool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/internal/kept"
)

// Defaults of Options, and fixed limits.
const (
	defaultTime      = time.Minute
	defaultMaxAnswer = 8 << 20
	defaultMaxInline = 64 << 10
	defaultMaxKept   = 64 << 20
	defaultKeptTime  = 15 * time.Minute
	maxRedirects     = 5
	maxAtOnce        = 32 // concurrent requests of one Client
	maxIdle          = 8  // idle connections
	dialTime         = 30 * time.Second
)

// Options configures the destination and the limits of requests. The zero value of each field means
// its default.
type Options struct {
	// Base is the http or https base URL of relative paths, without a query. Credentials are sent
	// to its origin only.
	Base string
	// Credentials lists the secrets that every request to the origin of Base carries. Fixed headers
	// count as credentials in a header.
	Credentials []Credential
	// Timeout is the maximum time for a request and its complete response; default one minute.
	Timeout time.Duration
	// MaxAnswer is the maximum size of a response in bytes; default 8 MiB. Clients refuse messages
	// of more than about 16 MiB.
	MaxAnswer int64
	// MaxInline is the maximum size in bytes of a response inside a result; default 64 KiB. A
	// longer response becomes a resource.
	MaxInline int
	// MaxKept is the maximum total size in bytes of responses stored as resources; default 64 MiB.
	// The oldest are dropped first.
	MaxKept int64
	// KeptTime is the time for which a response is stored; default 15 minutes.
	KeptTime time.Duration
	// Transport sends the requests; the default is a new one with the proxies of the environment.
	Transport http.RoundTripper
	// OutsideOnly refuses connections to this machine and to private networks. It checks addresses
	// after names were resolved. It does not apply to Transport, nor to a proxy, which connects
	// itself.
	OutsideOnly bool
	// Logger logs internal faults; default slog.Default().
	Logger *slog.Logger
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// A Client sends the requests of tools. Its methods may be called concurrently. The caller must
// close it.
type Client struct {
	options Options
	base    *url.URL
	http    *http.Client
	turns   *share.Turns // limits the number of concurrent requests
	kept    *kept.Answers
}

// A Request is one request of a tool.
type Request struct {
	Method string
	URL    *url.URL // absolute, or a path with a query below Options.Base
	Header http.Header
	Body   []byte // the header Content-Type describes it
	// Credentials are sent with this request if it goes to the origin of Base.
	Credentials []Credential
}

// An Answer is a response.
type Answer struct {
	Request *Request
	Status  int
	Header  http.Header
	Body    []byte
	// Header and Body never contain the credentials, even if the server repeats them.
}

// NewClient returns a Client. name is part of the URIs of stored responses and may have letters,
// digits, '-', '_' and '.'.
func NewClient(name string, o Options) (*Client, error) {
	base, err := parseBase(o.Base)
	if err != nil {
		return nil, err
	}
	if strings.Trim(name, nameLetters) != "" || name == "" {
		return nil, fmt.Errorf("name %q: expected letters, digits, '-', '_' and '.'", name)
	}
	for _, c := range o.Credentials {
		if err := c.Check(); err != nil {
			return nil, err
		}
		if o.Base == "" {
			return nil, fmt.Errorf("%v: without a base URL it is sent to no origin", c)
		}
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTime)
	o.MaxAnswer = cmp.Or(max(o.MaxAnswer, 0), defaultMaxAnswer)
	o.MaxInline = cmp.Or(max(o.MaxInline, 0), defaultMaxInline)
	o.MaxKept = cmp.Or(max(o.MaxKept, 0), defaultMaxKept)
	o.KeptTime = cmp.Or(max(o.KeptTime, 0), defaultKeptTime)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	c := &Client{options: o, base: base, turns: share.NewTurns(maxAtOnce), kept: &kept.Answers{Prefix: "answer://" + name + "/", Most: o.MaxKept, Age: o.KeptTime}}
	transport := o.Transport
	if transport == nil {
		transport = http.DefaultTransport
		if usual, ok := transport.(*http.Transport); ok { // the program may have replaced http.DefaultTransport
			own := usual.Clone()
			own.MaxIdleConnsPerHost = maxIdle
			transport = own
			if o.OutsideOnly {
				transport = internetTransport(own)
			}
		}
	}
	c.http = &http.Client{Transport: &attaching{transport, base}, CheckRedirect: checkRedirect}
	return c, nil
}

// internetTransport returns a transport that connects only to internet addresses, or to the proxies
// that proxied selects.
func internetTransport(proxied *http.Transport) http.RoundTripper {
	direct := proxied.Clone()
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: dialTime, Control: func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !outside.Address(at.Addr()) {
			return fmt.Errorf("%s is not an address on the internet, but that of the document that refers to it is: if that is right, set a base URL", address)
		}
		return nil
	}}).DialContext
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if proxied.Proxy != nil {
			if proxy, err := proxied.Proxy(r); err != nil || proxy != nil {
				return proxied.RoundTrip(r)
			}
		}
		return direct.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// parseBase parses a base URL. It returns nil for an empty text.
func parseBase(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("base URL: it cannot be read; expected one such as https://api.example.com/v1") // the parser's error would repeat the URL
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("base URL: expected http://HOST or https://HOST, got %q", base.Redacted())
	case base.User != nil:
		return nil, errors.New("base URL: it has a password: pass that as a credential")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("base URL: it has a query or a fragment, which would be lost: pass a key in the query as a credential")
	}
	return base, nil
}

// Close closes idle connections and drops the stored responses.
func (c *Client) Close() error {
	c.kept.Close()
	c.http.CloseIdleConnections()
	return nil
}

// Offer registers the stored responses as resources of a server.
func (c *Client) Offer(s *mcp.Server) {
	s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: c.kept.Prefix + "{id}", Name: "answer", Title: "An answer of the API",
		Description: "The whole answer to a tool call, linked from the result. It is kept for " + c.kept.Age.String() + " at most.",
	}, c.kept.Read)
}

// Send sends a request. Errors omit the query of the URL, because it may contain secrets.
func (c *Client) Send(ctx context.Context, r *Request) (*Answer, error) {
	for _, credential := range r.Credentials {
		if err := credential.Check(); err != nil {
			return nil, err
		}
	}
	target, err := c.resolve(r.URL)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	done, err := c.turns.Wait(limited, share.Of(ctx))
	if err != nil {
		return nil, c.failure(ctx, r, err)
	}
	defer done()
	all := append(append([]Credential(nil), c.options.Credentials...), r.Credentials...)
	request, err := http.NewRequestWithContext(context.WithValue(limited, attachKey{}, all), r.Method, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, c.failure(ctx, r, err)
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if request.Header.Get("Accept") == "" {
		request.Header.Set("Accept", "application/json, */*;q=0.5")
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "junction")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.failure(ctx, r, err, all...)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.options.MaxAnswer+1))
	if err != nil {
		return nil, c.failure(ctx, r, err)
	}
	if int64(len(body)) > c.options.MaxAnswer {
		return nil, fmt.Errorf("%s: the answer (status %d) is larger than %d bytes: request less, with a filter or by page", r.name(), response.StatusCode, c.options.MaxAnswer)
	}
	return &Answer{Request: r, Status: response.StatusCode, Header: hideAll(response.Header, all), Body: hide(body, all)}, nil
}

// resolve returns the absolute URL of u.
func (c *Client) resolve(u *url.URL) (*url.URL, error) {
	switch {
	case u.IsAbs() && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil:
		return u, nil
	case u.IsAbs() || u.Host != "":
		return nil, errors.New("expected an http or https URL without a password")
	case c.base == nil:
		return nil, errors.New("a path needs a base URL, and there is none: set one")
	}
	joined := *c.base
	escaped := strings.TrimSuffix(c.base.EscapedPath(), "/") + "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	joined.Path, joined.RawPath, joined.RawQuery = path, escaped, u.RawQuery
	return &joined, nil
}

// name returns the method and the path of a request, without its query.
func (r *Request) name() string { return r.Method + " " + r.URL.EscapedPath() }

// failure returns the error of a request without a response.
func (c *Client) failure(ctx context.Context, r *Request, err error, credentials ...Credential) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // drops the URL
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v", r.name(), c.options.Timeout)
	}
	if said := hide([]byte(err.Error()), credentials); string(said) != err.Error() {
		err = errors.New(string(said))
	}
	return fmt.Errorf("%s: %w", r.name(), err)
}

// hide replaces secrets in the body of a response.
func hide(body []byte, credentials []Credential) []byte {
	for _, c := range credentials {
		for _, form := range c.forms() {
			body = bytes.ReplaceAll(body, []byte(form), []byte("***"))
		}
	}
	return body
}

// hideAll replaces secrets in headers, for example in a link to the next page with the key in its
// query.
func hideAll(h http.Header, credentials []Credential) http.Header {
	hidden := make(http.Header, len(h))
	for name, values := range h {
		for _, v := range values {
			hidden.Add(name, string(hide([]byte(v), credentials)))
		}
	}
	return hidden
}

// checkRedirect allows a redirect within the origin, unless it would change the request's method.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("it was redirected more than %d times", maxRedirects)
	case !outside.SameOrigin(first.URL, next.URL):
		return fmt.Errorf("it was redirected to another origin, %s://%s, which is refused", next.URL.Scheme, next.URL.Host)
	case next.Method != first.Method && next.Response.StatusCode != http.StatusSeeOther:
		return http.ErrUseLastResponse // following it would turn a writing request into a reading one
	}
	return nil
}

// attachKey is the context key for the credentials of a request.
type attachKey struct{}

// attaching is a transport that adds the credentials just before a request is sent, if it goes to
// their origin. So they cannot get into logs, errors, or redirects to other origins.
type attaching struct {
	next http.RoundTripper
	base *url.URL
}

func (a *attaching) RoundTrip(r *http.Request) (*http.Response, error) {
	credentials, _ := r.Context().Value(attachKey{}).([]Credential)
	if len(credentials) > 0 && a.base != nil && outside.SameOrigin(a.base, r.URL) {
		r = r.Clone(r.Context())
		for _, c := range credentials {
			c.attach(r)
		}
	}
	return a.next.RoundTrip(r)
}

func (a *attaching) CloseIdleConnections() {
	if c, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
