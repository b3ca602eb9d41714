// Package rebinding rejects HTTP requests that a web page may have sent without the knowledge of
// its user: by DNS rebinding to a server on this machine, or across origins
// (basic/transports/streamable-http, security).
package rebinding

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A Guard checks the Host and Origin headers of requests. The zero Guard has the default settings.
// A Guard must not be changed while it is in use.
//
// With DNS rebinding, the requests of a page contain the host name of the page's own site in both
// headers. A Guard therefore accepts only hosts that no foreign site can have: localhost, the
// address of the connection, and the names in Hosts. It does not check the host of requests that
// arrived over other networks than TCP, as browsers cannot send these.
type Guard struct {
	// Hosts lists further host names, without ports, under which clients reach the server. "*"
	// allows every name.
	Hosts []string
	// Origins lists allowed origins, in the form scheme://host[:port]. The origin of the server
	// itself is always allowed. Origins on localhost are allowed if the request was sent to
	// localhost. "*" allows every origin.
	Origins []string
}

// Check returns nil if the request is allowed, and otherwise the reason why not.
func (g *Guard) Check(r *http.Request) error {
	local, isTCP := localAddress(r)
	name := hostname(r.Host)
	if isTCP && !g.hostAllowed(name, local) {
		return fmt.Errorf("host %q is not allowed here, as a web page could have been rebound to it: if it is a name of this server, add it to AllowedHosts (junction: --allow-host)", r.Host)
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	onLocalhost := isLocal(name) || local.IsLoopback()
	if len(origins) > 1 || !g.originAllowed(r, origins[0], onLocalhost) {
		return fmt.Errorf("origin %q is not allowed here: if its pages may use this server, add it to AllowedOrigins (junction: --allow-origin)", origins[0])
	}
	return nil
}

func (g *Guard) hostAllowed(name string, local netip.Addr) bool {
	if isLocal(name) {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil && local.IsValid() && ip.Unmap().WithZone("") == local {
		return true
	}
	return slices.ContainsFunc(g.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(strings.Trim(allowed, "[]"), name)
	})
}

func (g *Guard) originAllowed(r *http.Request, origin string, onLocalhost bool) bool {
	if g.lists(origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	return onLocalhost && isLocal(u.Hostname()) || strings.EqualFold(u.Host, r.Host)
}

// Shares reports whether pages of the request's origin may read responses. If Origins is empty,
// pages of every allowed origin may; otherwise only pages of the listed origins may. If Origins is
// not empty, a page on localhost can therefore send requests without reading responses.
func (g *Guard) Shares(r *http.Request) bool {
	return len(g.Origins) == 0 || g.lists(r.Header.Get("Origin"))
}

// lists reports whether an origin is one of g.Origins.
func (g *Guard) lists(origin string) bool {
	return slices.ContainsFunc(g.Origins, func(allowed string) bool { return allowed == "*" || strings.EqualFold(allowed, origin) })
}

// localAddress returns the local address of the request's connection. isTCP is false only if the
// connection is known to use another network.
func localAddress(r *http.Request) (_ netip.Addr, isTCP bool) {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	switch addr := addr.(type) {
	case nil:
		return netip.Addr{}, true
	case *net.TCPAddr:
		return addr.AddrPort().Addr().Unmap().WithZone(""), true
	}
	at, err := netip.ParseAddrPort(addr.String()) // another type of address, of a listener that wraps connections
	return at.Addr().Unmap().WithZone(""), err == nil || strings.HasPrefix(addr.Network(), "tcp")
}

func isLocal(name string) bool {
	switch name {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return strings.EqualFold(name, "localhost")
}

// hostname returns the host of host[:port], without brackets.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.IndexByte(host[i:], ']') < 0 && (host[0] == '[' || strings.IndexByte(host, ':') == i) {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}
