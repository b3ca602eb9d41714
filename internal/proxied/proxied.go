// Package proxied finds the client of a request that came through proxies.
package proxied

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops limits the examined proxies of one request.
const maxHops = 20

// Trusted holds the trusted proxies. The zero value trusts none.
type Trusted struct {
	networks []netip.Prefix
	sockets  bool // connections to a Unix socket come from a proxy
}

// Parse parses networks such as 10.0.0.0/8, addresses, and unix, for all clients of a Unix socket.
func Parse(all []string) (t Trusted, err error) {
	for _, text := range all {
		if text == "unix" {
			t.sockets = true
			continue
		}
		network, err := netip.ParsePrefix(text)
		if a, fault := netip.ParseAddr(text); fault == nil && a.Zone() == "" {
			network, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return t, fmt.Errorf("expected a network such as 10.0.0.0/8, an address or unix, got %.60q", text)
		}
		t.networks = append(t.networks, network.Masked())
	}
	return t, nil
}

// Handler returns a handler that sets RemoteAddr to the address of the client, as far as trusted
// proxies name it.
func (t Trusted) Handler(next http.Handler) http.Handler {
	if len(t.networks) == 0 && !t.sockets {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client := t.client(r); client.IsValid() {
			r = r.WithContext(r.Context())
			r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
		}
		next.ServeHTTP(w, r)
	})
}

func (t Trusted) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(t.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// client returns the client of a request, or an invalid address if no trusted proxy names it. A
// proxy appends to one of the two headers and may pass on a client's value of the other, so
// different ones are ignored.
func (t Trusted) client(r *http.Request) netip.Addr {
	at, isAddress := parseAddr(r.RemoteAddr)
	if isAddress && !t.trusts(at) || !isAddress && !t.sockets {
		return netip.Addr{}
	}
	var found []netip.Addr
	for name, valueOf := range map[string]func(string) string{"X-Forwarded-For": func(hop string) string { return hop }, "Forwarded": forwardedFor} {
		if values := r.Header.Values(name); len(values) > 0 {
			found = append(found, t.walk(strings.Split(strings.Join(values, ","), ","), valueOf))
		}
	}
	if len(found) == 0 || len(found) == 2 && found[0] != found[1] {
		return netip.Addr{}
	}
	return found[0]
}

// walk reads hops from the nearest on, each named by the one before it, up to the first that is not
// trusted.
func (t Trusted) walk(hops []string, valueOf func(hop string) string) (client netip.Addr) {
	for i, hop := range slices.Backward(hops) {
		a, is := parseAddr(strings.TrimSpace(valueOf(hop)))
		if !is || len(hops)-i > maxHops {
			break
		}
		if client = a; !t.trusts(a) {
			break
		}
	}
	return client
}

// forwardedFor returns the client in an element of Forwarded (RFC 7239). A proxy that appends an
// element ignores quotes that a client left open, so commas always end elements.
func forwardedFor(hop string) string {
	for _, pair := range strings.Split(hop, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseAddr parses an address with or without a port.
func parseAddr(text string) (a netip.Addr, ok bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap().WithZone(""), err == nil
}
