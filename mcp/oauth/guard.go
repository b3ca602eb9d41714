package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
)

const (
	dialTime     = 10 * time.Second
	maxRedirects = 5
)

// Guarded returns an HTTP client for requests to authorization servers, whose addresses come from
// untrusted servers. It sends requests only over https and only to public addresses, which it
// checks after name resolution. Redirects must stay on the same origin. The function allow, if not
// nil, reports whether a host may be private and reached over http. A server on this machine may
// name other servers on this machine.
func Guarded(allow func(host string) bool) *http.Client {
	g := &guard{allow: allow, dialer: net.Dialer{Timeout: dialTime}}
	g.transport = &http.Transport{DialContext: g.dial, TLSHandshakeTimeout: dialTime, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, MaxIdleConns: 10}
	return &http.Client{Transport: g, Timeout: answerTime, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch {
		case len(via) > maxRedirects:
			return errors.New("it redirects in circles")
		case !outside.SameOrigin(req.URL, via[0].URL):
			return fmt.Errorf("it redirects to another origin, %s://%s", req.URL.Scheme, req.URL.Host)
		}
		return nil
	}}
}

type guard struct {
	allow     func(host string) bool
	dialer    net.Dialer
	transport *http.Transport
}

// fromHere is the context key that marks requests caused by a server on this machine.
type fromHere struct{}

// RoundTrip implements [http.RoundTripper].
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Hostname()
	switch {
	case g.allow != nil && g.allow(host):
	case isHere(host):
		if req.Context().Value(fromHere{}) == nil {
			return nil, fmt.Errorf("%s is on this machine, but the server that names it is not", req.URL.Host)
		}
	case req.URL.Scheme != "https":
		return nil, fmt.Errorf("%s://%s is not encrypted; tokens are requested only over https", req.URL.Scheme, req.URL.Host)
	}
	return g.transport.RoundTrip(req)
}

// dial connects to public addresses, and to private addresses of allowed hosts.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := g.dialer
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	here := isHere(host)
	if g.allow == nil || !g.allow(host) {
		d.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if a := at.Addr(); here != a.Unmap().IsLoopback() || !here && !outside.Address(a) {
				return fmt.Errorf("%s has the address %s, which is not on the internet", host, a)
			}
			if g.dialer.ControlContext != nil {
				return g.dialer.ControlContext(ctx, network, address, c)
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}

// isHere reports whether a host name is this machine.
func isHere(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || strings.EqualFold(host, "localhost")
}

// from returns a context that marks the requests that a server causes, if the server is on this
// machine.
func from(ctx context.Context, server *url.URL) context.Context {
	if isHere(server.Hostname()) {
		return context.WithValue(ctx, fromHere{}, true)
	}
	return ctx
}
