package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/config/settings"
)

const (
	// PeerLookupPause is the time between two lookups of the names among the peers.
	PeerLookupPause = 3 * time.Second
	// PeerStartTime is how long a replica waits at its start for its own address under these names.
	PeerStartTime = 30 * time.Second
	// MaxPeers is the maximum number of peers that all names together can have.
	MaxPeers = 100

	peerLookupTime = 2 * time.Second // limit of one lookup
)

// Peers holds the origins of the other replicas. Follow looks up the names among them again and
// again. It is safe for concurrent use.
type Peers struct {
	Resolver *net.Resolver         // nil means the default one
	Own      func(netip.Addr) bool // reports whether an address is one of this replica, which is no peer of itself
	Log      *slog.Logger

	found   atomic.Pointer[[]string]          // all origins
	names   atomic.Pointer[map[string]string] // of the addresses with ports that names had
	changed chan struct{}                     // holds a value after Set

	mu     sync.Mutex
	listed []string                // as in the settings
	last   map[string][]netip.Addr // the last addresses of each name; used only by the goroutine of Follow
	failed map[string]bool         // names whose last lookup failed; used only by that goroutine

	ready atomic.Pointer[string] // why the replica is not ready; empty if it is, nil before Follow
}

// NewPeers returns Peers with a list from the settings.
func NewPeers(listed []string) *Peers {
	p := &Peers{changed: make(chan struct{}, 1), last: map[string][]netip.Addr{}, failed: map[string]bool{}, listed: listed}
	if plain, names := p.split(); len(names) == 0 {
		p.found.Store(&plain)
	}
	return p
}

// Set replaces the list.
func (p *Peers) Set(listed []string) {
	p.mu.Lock()
	p.listed = listed
	p.mu.Unlock()
	if plain, names := p.split(); len(names) == 0 {
		p.found.Store(&plain)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Origins returns the origins of the peers.
func (p *Peers) Origins() []string {
	if found := p.found.Load(); found != nil {
		return *found
	}
	return nil
}

// NameOf returns the name that the certificate of the peer at an address with a port must have.
func (p *Peers) NameOf(addr string) string {
	if names := p.names.Load(); names != nil && (*names)[addr] != "" {
		return (*names)[addr]
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// NotReady returns the reason why clients should not yet connect, or "". The other replicas must
// know this one first, to pass on to it what belongs to it.
func (p *Peers) NotReady() string {
	if why := p.ready.Load(); why != nil {
		return *why
	}
	return ""
}

// split returns the origins and the names of the list.
func (p *Peers) split() (origins, names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.listed {
		if name, is := strings.CutPrefix(peer, settings.PeerName); is {
			names = append(names, name)
		} else {
			origins = append(origins, peer)
		}
	}
	return origins, names
}

// Follow looks up the names of the list until stop is called, and whenever the list changes.
func (p *Peers) Follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	began := time.Now()
	if _, names := p.split(); len(names) > 0 {
		p.notReady("the names in peers are not looked up yet")
	}
	var following sync.WaitGroup
	following.Go(func() {
		ticker := time.NewTicker(PeerLookupPause)
		defer ticker.Stop()
		var seen time.Time // when a lookup first found this replica
		for ctx.Err() == nil {
			if p.look(ctx) && seen.IsZero() {
				seen = time.Now()
			}
			p.decide(began, seen)
			select {
			case <-ticker.C:
			case <-p.changed:
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); following.Wait() }
}

// look looks up all names once. It reports whether this replica is among the addresses.
func (p *Peers) look(ctx context.Context) (own bool) {
	found, names := p.split()
	var mu sync.Mutex
	var looking sync.WaitGroup
	now := map[string][]netip.Addr{}
	for _, name := range names {
		looking.Go(func() {
			all, err := p.lookup(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if now[name] = all; err != nil {
				now[name] = p.last[name]
			}
			p.report(ctx, name, err)
		})
	}
	looking.Wait()
	p.last = now
	named := map[string]string{}
	maps.DeleteFunc(p.failed, func(name string, _ bool) bool { _, listed := now[name]; return !listed })
	for _, name := range names {
		scheme, port := schemeAndPort(name)
		for _, addr := range now[name] {
			at := net.JoinHostPort(addr.String(), port)
			origin := scheme + "://" + at
			switch {
			case p.Own(addr):
				own = true
			case len(found) < MaxPeers && !slices.Contains(found, origin):
				found = append(found, origin)
				named[at] = peerName(name)
			}
		}
	}
	p.names.Store(&named)
	p.found.Store(&found)
	return own
}

// decide decides whether a replica that is not ready yet is ready now. Once the names have its
// address, the other replicas look within [PeerLookupPause].
func (p *Peers) decide(began, seen time.Time) {
	if p.NotReady() == "" {
		return
	}
	switch _, names := p.split(); {
	case len(names) == 0 || !seen.IsZero() && time.Since(seen) >= PeerLookupPause:
		p.notReady("")
	case time.Since(began) > PeerStartTime:
		p.Log.Warn("junction: the names in peers do not have the address of this replica, so the others may not know it: compare peers with the DNS", "names", names)
		p.notReady("")
	case !seen.IsZero():
		p.notReady("the other replicas do not know it yet")
	default:
		p.notReady("the names in peers do not have its address yet")
	}
}

func (p *Peers) notReady(why string) { p.ready.Store(&why) }

// lookup returns the addresses of a name, sorted.
func (p *Peers) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	_, host, _ := strings.Cut(name, "://")
	host, _, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, peerLookupTime)
	defer cancel()
	resolver := p.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	all, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for i, addr := range all {
		all[i] = addr.Unmap().WithZone("")
	}
	all = slices.DeleteFunc(all, func(a netip.Addr) bool { return a.IsUnspecified() || a.IsMulticast() })
	slices.SortFunc(all, netip.Addr.Compare)
	if all = slices.Compact(all); len(all) > MaxPeers {
		all = all[:MaxPeers]
	}
	if len(all) == 0 {
		return nil, errors.New("the name has no address of a machine")
	}
	return all, nil
}

// report logs the first failed lookup of a name, and the first one that succeeds again.
func (p *Peers) report(ctx context.Context, name string, err error) {
	switch {
	case ctx.Err() != nil || (err != nil) == p.failed[name]:
	case err != nil:
		p.failed[name] = true
		p.Log.Warn("junction: a name in peers cannot be looked up; its last addresses stay in use", "name", name, "error", err)
	default:
		delete(p.failed, name)
		p.Log.Info("junction: a name in peers can be looked up again", "name", name)
	}
}

// peerName returns the name in a certificate for a name of the list.
func peerName(name string) string {
	_, host, _ := strings.Cut(name, "://")
	host, _, _ = net.SplitHostPort(host)
	return strings.TrimSuffix(host, ".")
}

// schemeAndPort returns these parts of a name of the list, which the settings have checked.
func schemeAndPort(name string) (scheme, port string) {
	scheme, host, _ := strings.Cut(name, "://")
	_, port, _ = net.SplitHostPort(host)
	return scheme, port
}

// ownAddresses returns a function that reports whether an address is one of a listener.
func ownAddresses(l net.Listener) (func(netip.Addr) bool, error) {
	at, is := l.Addr().(*net.TCPAddr)
	if !is {
		return func(netip.Addr) bool { return false }, nil
	}
	if !at.IP.IsUnspecified() {
		own := at.AddrPort().Addr().Unmap().WithZone("")
		return func(a netip.Addr) bool { return a == own }, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("the addresses of this machine: %w", err)
	}
	var own []netip.Addr
	for _, one := range all {
		if network, is := one.(*net.IPNet); is {
			if addr, valid := netip.AddrFromSlice(network.IP); valid {
				own = append(own, addr.Unmap())
			}
		}
	}
	return func(a netip.Addr) bool { return slices.Contains(own, a) }, nil
}
