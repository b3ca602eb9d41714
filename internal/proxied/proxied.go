// Package proxied finds the client address of a request that passed through proxies.
package proxied

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is the maximum number of proxies that are examined for one request.
const maxHops = 20

// Trusted is a set of trusted proxies. The zero value trusts none.
type Trusted struct {
	networks []netip.Prefix
	sockets  bool // all peers that connect to a Unix socket are trusted proxies
}

// Parse parses a list of trusted proxies. An element is a network such as 10.0.0.0/8, an address,
// or unix for all peers that connect to a Unix socket.
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

// Handler returns a handler that calls next. It sets RemoteAddr to the address of the client if
// trusted proxies report this address.
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

// client returns the address of a request's client, or an invalid address if no trusted proxy
// reports one. A proxy appends to one of two headers, and may pass on a value of the other header
// that the client set. If the headers lead to different clients, client ignores both.
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

// walk examines the hops of a header from the last one on, and returns the first address that is
// not trusted. Each hop was added by the proxy in the hop after it.
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

// forwardedFor returns the client address in an element of the header Forwarded (RFC 7239). A
// client could leave a quote open, which the appending proxy ignores. Commas therefore end elements
// even within quotes.
func forwardedFor(hop string) string {
	for _, pair := range strings.Split(hop, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseAddr parses an address, with or without a port.
func parseAddr(text string) (a netip.Addr, ok bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap().WithZone(""), err == nil
}
