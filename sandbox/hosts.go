package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"golang.org/x/net/netutil"
)

// A host is an entry of [Profile].Hosts.
type host struct {
	name    string     // in lower case; for a wildcard, without the "*."
	suffix  bool       // a wildcard: matches any name below
	address netip.Addr // set in place of a name
	ports   []uint16
	any     bool // matches every public host at every port
}

var usualPorts = []uint16{443, 80}

// unusualPorts lists further ports that a program may reach while its accesses are recorded.
var unusualPorts = []uint16{22, 25, 465, 587, 993, 1433, 3306, 5432, 6379, 6443, 8443, 9200, 27017}

const maxHosts = 200

var hostName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// parseHost parses NAME, *.NAME or an address. :PORT follows if the port is neither 443 nor 80.
func parseHost(text string) (host, error) {
	h := host{ports: usualPorts}
	if strings.Contains(text, "/") {
		return host{}, fmt.Errorf("%q: expected a host name without a scheme or a path", text)
	}
	name, port := text, ""
	switch at := strings.LastIndexByte(text, ':'); {
	case strings.HasPrefix(text, "["):
		end := strings.IndexByte(text, ']')
		if end < 0 || end+1 < len(text) && text[end+1] != ':' {
			return host{}, fmt.Errorf("%q: expected [ADDRESS] or [ADDRESS]:PORT", text)
		}
		name, port = text[1:end], strings.TrimPrefix(text[end+1:], ":")
	case at >= 0 && strings.Count(text, ":") == 1:
		name, port = text[:at], text[at+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return host{}, fmt.Errorf("%q: expected a port from 1 to 65535 after the colon", text)
		}
		h.ports = []uint16{uint16(n)}
	}
	if a, err := netip.ParseAddr(name); err == nil {
		h.address = a.Unmap().WithZone("")
		return h, nil
	}
	h.name = strings.TrimSuffix(strings.ToLower(name), ".")
	if rest, wild := strings.CutPrefix(h.name, "*."); wild {
		h.name, h.suffix = rest, true
		if !strings.Contains(rest, ".") {
			return host{}, fmt.Errorf("%q: expected at least two labels after the *", text)
		}
	}
	if len(h.name) > 253 || !hostName.MatchString(h.name) {
		return host{}, fmt.Errorf("%q: expected a host name, *.DOMAIN or an address, with :PORT for another port than 443 and 80", text)
	}
	return h, nil
}

// hostText returns a host in the syntax of a profile: with its port, unless that is 443 or 80.
func hostText(host string, port uint16) string {
	if slices.Contains(usualPorts, port) {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// hosts holds the hosts of a profile.
type hosts []host

func parseHosts(list []string) hosts {
	var all hosts
	for _, text := range list {
		if h, err := parseHost(text); err == nil { // New has checked the syntax
			all = append(all, h)
			if h.name == "localhost" && !h.suffix {
				all = append(all, host{address: netip.MustParseAddr("127.0.0.1"), ports: h.ports}, host{address: netip.IPv6Loopback(), ports: h.ports})
			}
		}
	}
	return all
}

// hasName reports whether the program may resolve a name.
func (all hosts) hasName(name string) bool {
	return slices.ContainsFunc(all, func(h host) bool { return h.matches(name) })
}

func (h host) matches(name string) bool {
	if h.any {
		return true
	}
	if h.suffix {
		return strings.HasSuffix(name, "."+h.name)
	}
	return h.name != "" && h.name == name
}

// allowsName reports whether the program may connect to a port of a name.
func (all hosts) allowsName(name string, port uint16) bool {
	return slices.ContainsFunc(all, func(h host) bool { return h.matches(name) && (h.any || slices.Contains(h.ports, port)) })
}

// allowsAddress reports whether the program may connect to a port of an address that it did not get
// from a name.
func (all hosts) allowsAddress(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(all, func(h host) bool { return h.any && isPublic(a) || h.address == a && slices.Contains(h.ports, port) })
}

// ports returns the ports at which the network listens: those of all hosts, and the usual ones, so
// that refusals there are noticed.
func (all hosts) ports() []uint16 {
	ports := slices.Clone(usualPorts)
	for _, h := range all {
		ports = append(ports, h.ports...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// isPublic reports whether an address is a public internet address, and not that of this machine or
// its networks.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !outside.Address(a) {
		return false
	}
	here, err := net.InterfaceAddrs() // read each time, because a machine can change networks
	return err == nil && !isAmong(a, here)
}

// isAmong reports whether an address belongs to this machine or its directly connected networks.
// These can have public addresses, too.
func isAmong(a netip.Addr, here []net.Addr) bool {
	return slices.ContainsFunc(here, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err != nil || p.Addr().Unmap() == a || p.Contains(a) // an address in an unknown form counts as a match
	})
}

// allowedHosts returns the hosts that the program may reach. While its accesses are recorded, they
// include all public hosts.
func (s *Sandbox) allowedHosts() hosts {
	all := parseHosts(s.profile.Hosts)
	if s.o.Record != nil {
		all = append(all, host{any: true, ports: unusualPorts})
	}
	return all
}

// connectTime is the maximum time for connecting to a host.
const connectTime = 20 * time.Second

// A reach connects to the hosts that a profile allows.
type reach struct {
	allowed hosts
	refuse  func(Refusal)
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

func (s *Sandbox) newReach(refuse func(Refusal)) reach {
	return reach{allowed: s.allowedHosts(), refuse: refuse, dial: new(net.Dialer).DialContext, lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	}}
}

// to connects to a host, given as the name or address that the program uses.
func (r *reach) to(ctx context.Context, host string, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap().WithZone("")
		if !r.allowed.allowsAddress(a, port) {
			return nil, r.reject(a.String(), port, "it is not among the hosts of the profile")
		}
		return r.dial(ctx, "tcp", netip.AddrPortFrom(a, port).String())
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	switch {
	case len(name) > 253 || !hostName.MatchString(name):
		return nil, fmt.Errorf("%.300q is not a host name", host)
	case !r.allowed.hasName(name):
		return nil, r.reject(name, port, "it is not among the hosts of the profile")
	case !r.allowed.allowsName(name, port):
		return nil, r.reject(name, port, "the profile allows only other ports of this host")
	}
	return r.resolved(ctx, name, port)
}

// resolved connects to an allowed name. It tries its addresses in order.
func (r *reach) resolved(ctx context.Context, name string, port uint16) (net.Conn, error) {
	addresses, err := r.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	failure := error(nil)
	for i, a := range addresses {
		a = a.Unmap().WithZone("")
		if !isPublic(a) && !r.allowed.allowsAddress(a, port) {
			failure = r.reject(a.String(), port, fmt.Sprintf("%s has this address, which is not on the internet or belongs to this machine or its networks", name))
			continue
		}
		conn, err := r.dialOneOf(ctx, len(addresses)-i, netip.AddrPortFrom(a, port))
		if err == nil {
			return conn, nil
		}
		failure = err
	}
	if failure == nil {
		failure = fmt.Errorf("%s has no address", name)
	}
	return nil, failure
}

// dialOneOf connects to an address, of which left are still to be tried. It leaves time for the
// others, because the first may be in a network that drops packets.
func (r *reach) dialOneOf(ctx context.Context, left int, at netip.AddrPort) (net.Conn, error) {
	const least = 2 * time.Second
	if until, has := ctx.Deadline(); has && left > 1 {
		share, cancel := context.WithTimeout(ctx, max(least, time.Until(until)/time.Duration(left)))
		defer cancel()
		ctx = share
	}
	return r.dial(ctx, "tcp", at.String())
}

// reject reports that a connection was refused, and returns the error. All refused connections are
// reported here.
func (r *reach) reject(host string, port uint16, reason string) error {
	refusal := Refusal{What: "connect to " + net.JoinHostPort(host, fmt.Sprint(port)), Reason: reason, Allow: []string{"--host", hostText(host, port)}}
	r.refuse(refusal)
	return errors.New(refusal.String())
}

// pass copies data until from ends, and then ends to. The kernel copies, one pipe buffer at a time.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if tcp, ok := to.(*net.TCPConn); ok && err == nil {
		tcp.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}

// A proxy is an HTTP proxy for programs that can reach only one local port. It connects them to the
// hosts of their profile.
type proxy struct {
	reach
	address string // its own address, 127.0.0.1:PORT

	ctx     context.Context
	cancel  context.CancelFunc
	server  *http.Server
	running sync.WaitGroup
}

const maxProxyHeader = 64 << 10 // bytes of a request's header

func serveProxy(r reach) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{reach: r, address: l.Addr().String()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return p.connect(ctx, address)
		}},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.server = &http.Server{ReadHeaderTimeout: connectTime, IdleTimeout: connectTime, MaxHeaderBytes: maxProxyHeader, ErrorLog: forward.ErrorLog,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // counted while Serve runs
				p.running.Add(1)
			case http.StateHijacked, http.StateClosed: // the handler counts a hijacked connection until it returns
				p.running.Done()
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.running.Add(1)
			defer p.running.Done()
			switch {
			case r.Method == http.MethodConnect:
				p.tunnel(w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				forward.ServeHTTP(w, r)
			default:
				http.Error(w, "this is a proxy, for CONNECT and http:// addresses", http.StatusBadRequest)
			}
		})}
	p.running.Go(func() { p.server.Serve(netutil.LimitListener(l, maxConnections)) })
	return p, nil
}

// connect connects to HOST:PORT.
func (p *proxy) connect(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(p.ctx, cancel) // because a Transport's connection outlives its first request
	defer stop()
	return p.to(ctx, host, uint16(number))
}

// tunnel copies data between both sides without inspecting it.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	outside, err := p.connect(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer outside.Close()
	inside, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer inside.Close()
	stop := context.AfterFunc(p.ctx, func() {
		inside.Close()
		outside.Close()
	})
	defer stop()
	early := make([]byte, buffered.Reader.Buffered()) // data that came together with the request
	if _, err := io.ReadFull(buffered, early); err != nil {
		return
	}
	if _, err := io.WriteString(inside, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil {
		return
	}
	if _, err := outside.Write(early); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(outside, inside) })
	pass(inside, outside)
	both.Wait()
}

// close ends all connections and waits for them.
func (p *proxy) close() {
	p.cancel()
	p.server.Close()
	p.running.Wait()
}
