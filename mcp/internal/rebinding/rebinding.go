// Package rebinding refuses HTTP requests that a web page may have sent without
// its user's knowledge: by DNS rebinding to a server on this machine, or across
// origins (basic/transports/streamable-http, security).
package rebinding

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Guard decides by the Host and Origin headers. The zero Guard is the default
// one; it must not change while it is used.
type Guard struct {
	// Hosts are names, without a port, under which the server may be reached
	// beside those that are always right: localhost, 127.0.0.1 and [::1] on a
	// loopback address, and any name elsewhere while the list is empty. "*"
	// allows every name.
	Hosts []string
	// Origins are allowed beside the server's own and those on localhost, each
	// as scheme://host[:port]. "*" allows every origin.
	Origins []string
}

// Check returns why the request is refused, nil if it is not.
func (g *Guard) Check(r *http.Request) error {
	if !g.hostAllowed(r) {
		return fmt.Errorf("host %q is not allowed here: add it to the allowed hosts of the server", r.Host)
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if len(origins) > 1 || !g.originAllowed(r, origins[0]) {
		return fmt.Errorf("origin %q is not allowed here: add it to the allowed origins of the server", origins[0])
	}
	return nil
}

func (g *Guard) hostAllowed(r *http.Request) bool {
	local := onLoopback(r)
	if !local && len(g.Hosts) == 0 {
		return true
	}
	name := hostname(r.Host)
	return local && isLocal(name) || slices.ContainsFunc(g.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(strings.Trim(allowed, "[]"), name)
	})
}

func (g *Guard) originAllowed(r *http.Request, origin string) bool {
	for _, allowed := range g.Origins {
		if allowed == "*" || strings.EqualFold(allowed, origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	return isLocal(u.Hostname()) || strings.EqualFold(u.Host, r.Host)
}

// onLoopback reports whether the request came in over a loopback address, which
// only programs on this machine can reach: browsers among them.
func onLoopback(r *http.Request) bool {
	switch addr := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return addr.IP.IsLoopback()
	case net.Addr:
		ip := net.ParseIP(hostname(addr.String()))
		return ip != nil && ip.IsLoopback()
	}
	return false
}

func isLocal(name string) bool {
	switch name {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return strings.EqualFold(name, "localhost")
}

// hostname is the host of host[:port], without brackets.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.IndexByte(host[i:], ']') < 0 && (host[0] == '[' || strings.IndexByte(host, ':') == i) {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}
