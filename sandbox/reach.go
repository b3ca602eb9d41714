package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// connectTime is how long it may take to reach a host.
const connectTime = 20 * time.Second

// A reach is what a program may connect to, as far as its profile allows.
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

// to connects to a host as a program names it.
func (r *reach) to(ctx context.Context, host string, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap().WithZone("")
		if !r.allowed.allowsAddress(a, port) {
			return nil, r.refused(a.String(), port, "it is not among the hosts of the profile")
		}
		return r.dial(ctx, "tcp", netip.AddrPortFrom(a, port).String())
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	switch {
	case len(name) > 253 || !hostName.MatchString(name):
		return nil, fmt.Errorf("%.300q is no host name", host)
	case !r.allowed.hasName(name):
		return nil, r.refused(name, port, "it is not among the hosts of the profile")
	case !r.allowed.allowsName(name, port):
		return nil, r.refused(name, port, "the profile has other ports of this host only")
	}
	return r.resolved(ctx, name, port)
}

// resolved connects to a name that the profile has, at the first of its addresses that responds.
func (r *reach) resolved(ctx context.Context, name string, port uint16) (net.Conn, error) {
	addresses, err := r.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	failure := error(nil)
	for i, a := range addresses {
		a = a.Unmap().WithZone("")
		if !isPublic(a) && !r.allowed.allowsAddress(a, port) {
			failure = r.refused(a.String(), port, fmt.Sprintf("%s has this address, which is none of the internet", name))
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

// dialOneOf connects to the first of so many addresses, and leaves time for the others: one may be of a network that says nothing.
func (r *reach) dialOneOf(ctx context.Context, left int, at netip.AddrPort) (net.Conn, error) {
	const least = 2 * time.Second
	if until, has := ctx.Deadline(); has && left > 1 {
		share, cancel := context.WithTimeout(ctx, max(least, time.Until(until)/time.Duration(left)))
		defer cancel()
		ctx = share
	}
	return r.dial(ctx, "tcp", at.String())
}

// refused says that a connection is. Each refusal of one, whoever found it, is made here.
func (r *reach) refused(host string, port uint16, reason string) error {
	refusal := Refusal{What: "connect to " + net.JoinHostPort(host, fmt.Sprint(port)), Reason: reason, Allow: []string{"--host", hostText(host, port)}}
	r.refuse(refusal)
	return errors.New(refusal.String())
}

// pass copies until one side ends, and says so to the other. The kernel copies, a pipe's worth at a time.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if tcp, ok := to.(*net.TCPConn); ok && err == nil {
		tcp.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}
