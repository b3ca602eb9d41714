package plainhttp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxBody   = 32 << 10 // bytes; with the headers, it fits in the buffers of two sockets, as a server may respond before it has read the request
	maxHeader = 16 << 10
	maxIdle   = 512 // maximum number of idle connections to all servers
	idleTime  = 90 * time.Second
)

// New returns a RoundTripper that sends small POST requests as the package describes, and passes
// all others to base. base must not change afterwards. The RoundTripper is safe for concurrent use.
// In contrast to base, it does not request compression, and the body of a response fails when the
// context of the request is done. If base has settings that the package does not support, New
// returns base.
func New(base *http.Transport) http.RoundTripper {
	if !canAsk || base.DisableKeepAlives || isLimited(base) {
		return base
	}
	return &transport{base: base}
}

// isLimited reports whether a transport has settings that this package does not support.
func isLimited(base *http.Transport) bool {
	//lint:ignore SA1019 whoever set Dial wants it to be used
	dials := base.Dial != nil && base.DialContext == nil
	return dials || base.ResponseHeaderTimeout > 0 || base.MaxResponseHeaderBytes > 0 || base.MaxConnsPerHost > 0 ||
		base.IdleConnTimeout > 0 && base.IdleConnTimeout < idleTime ||
		base.Protocols != nil && base.Protocols.UnencryptedHTTP2()
}

type transport struct {
	base *http.Transport

	mu    sync.Mutex
	idle  []*conn // the most recently used one is last
	timer *time.Timer
	over  bool // CloseIdleConnections was called after the last request: connections are closed instead of kept
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.takes(req) {
		return t.base.RoundTrip(req)
	}
	ctx := req.Context()
	if ctx.Err() != nil {
		_ = req.Body.Close()
		return nil, context.Cause(ctx)
	}
	address := req.URL.Host
	if req.URL.Port() == "" {
		address = net.JoinHostPort(req.URL.Hostname(), "80")
	}
	for {
		c, used := t.take(address), true
		if c == nil {
			var err error
			if c, err = t.dial(ctx, address); err != nil {
				_ = req.Body.Close()
				return nil, err
			}
			used = false
		}
		resp, err := c.exchange(req)
		if err == nil {
			return resp, nil
		}
		// The server may have closed the connection just before this request. A request of which no
		// byte was sent can be repeated safely.
		if !used || c.sent > 0 || ctx.Err() != nil {
			return nil, err
		}
		again := req.WithContext(ctx)
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
		req = again
	}
}

// takes reports whether this package sends a request itself.
func (t *transport) takes(req *http.Request) bool {
	u, h := req.URL, req.Header
	if req.Method != http.MethodPost || u == nil || u.Scheme != "http" || u.Hostname() == "" || !isASCII(u.Host) {
		return false
	}
	if req.Body == nil || req.GetBody == nil || req.ContentLength <= 0 || req.ContentLength > maxBody {
		return false
	}
	if req.Close || req.TransferEncoding != nil || req.Trailer != nil || h["Expect"] != nil || h["Upgrade"] != nil || h["Connection"] != nil {
		return false
	}
	size := req.ContentLength
	for name, values := range h {
		for _, value := range values {
			size += int64(len(name) + len(value))
		}
		if strings.IndexFunc(name, isOdd) >= 0 || slices.ContainsFunc(values, hasControl) {
			return false // base returns the error for it
		}
	}
	return size <= maxBody+maxHeader && !t.proxied(req) && httptrace.ContextClientTrace(req.Context()) == nil
}

func (t *transport) proxied(req *http.Request) bool {
	if t.base.Proxy == nil {
		return false
	}
	proxy, err := t.base.Proxy(req)
	return err != nil || proxy != nil
}

// isOdd reports whether a character is unusual in a header name.
func isOdd(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

func hasControl(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] == 0x7f {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func (t *transport) dial(ctx context.Context, address string) (*conn, error) {
	dial := t.base.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	nc, err := dial(ctx, "tcp", address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return newConn(t, nc, address), nil
}

// take returns an idle connection to the address that is still open, or nil.
func (t *transport) take(address string) *conn {
	for {
		c := t.last(address)
		if c == nil || c.isOpen() {
			return c
		}
		_ = c.net.Close()
	}
}

func (t *transport) last(address string) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = false
	for i := len(t.idle) - 1; i >= 0; i-- {
		if c := t.idle[i]; c.address == address {
			t.idle = append(t.idle[:i], t.idle[i+1:]...)
			return c
		}
	}
	return nil
}

// keep stores a connection for the next request.
func (t *transport) keep(c *conn) {
	c.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		_ = c.net.Close()
		return
	}
	if len(t.idle) >= maxIdle {
		_ = t.idle[0].net.Close()
		t.idle = append(t.idle[:0], t.idle[1:]...)
	}
	t.idle = append(t.idle, c)
	switch {
	case t.timer == nil:
		t.timer = time.AfterFunc(idleTime, t.closeOld)
	case len(t.idle) == 1:
		t.timer.Reset(idleTime)
	}
}

// closeOld closes the connections that have been idle for idleTime.
func (t *transport) closeOld() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, n := time.Now(), 0
	for n < len(t.idle) && now.Sub(t.idle[n].since) >= idleTime {
		_ = t.idle[n].net.Close()
		n++
	}
	if t.idle = append(t.idle[:0], t.idle[n:]...); len(t.idle) > 0 {
		t.timer.Reset(idleTime - now.Sub(t.idle[0].since))
	}
}

// CloseIdleConnections closes the idle connections. A connection that is in use is closed when its
// request ends. [http.Client.CloseIdleConnections] calls this method.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	for _, c := range t.idle {
		_ = c.net.Close()
	}
	t.idle, t.over = nil, true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.base.CloseIdleConnections()
}
