package up_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"golang.org/x/net/dns/dnsmessage"
)

// A nameServer is a DNS server with the addresses of one name. Without any, it answers that it has failed.
type nameServer struct {
	net.PacketConn
	mu  sync.Mutex
	all []netip.Addr
}

func startNameServer(t *testing.T) *nameServer {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{PacketConn: c}
	var serving sync.WaitGroup
	serving.Go(s.serve)
	t.Cleanup(func() { c.Close(); serving.Wait() })
	return s
}

func (s *nameServer) set(all ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
	for _, one := range all {
		s.all = append(s.all, netip.MustParseAddr(one))
	}
}

func (s *nameServer) serve() {
	b := make([]byte, 4096)
	for {
		n, from, err := s.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		m.Response, m.Additionals = true, nil
		s.mu.Lock()
		q := m.Questions[0]
		if len(s.all) == 0 {
			m.RCode = dnsmessage.RCodeServerFailure
		}
		for _, a := range s.all {
			h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}
			switch {
			case a.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			case a.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
		s.mu.Unlock()
		if packed, err := m.Pack(); err == nil {
			_, _ = s.WriteTo(packed, from)
		}
	}
}

// resolver returns a resolver that asks the server.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.LocalAddr().String())
	}}
}

// await waits until a condition holds.
func await(t *testing.T, about string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(about)
		}
	}
}

func TestPeersFollowTheirNames(t *testing.T) {
	t.Parallel()
	dns := startNameServer(t)
	printed := new(clitest.SafeBuffer)
	p := up.NewPeers([]string{"http://10.9.9.9:1", "dns+http://peers.test.:7717"})
	p.Resolver, p.Log = dns.resolver(), slog.New(slog.NewTextHandler(printed, nil))
	p.Own = func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.1") }
	dns.set("10.0.0.3", "10.0.0.2", "10.0.0.1", "fd00::2", "0.0.0.0", "224.0.0.1")
	began := time.Now()
	defer p.Follow(t.Context())()
	want := []string{"http://10.9.9.9:1", "http://10.0.0.2:7717", "http://10.0.0.3:7717", "http://[fd00::2]:7717"}
	await(t, "the addresses are not found", func() bool { return slices.Equal(p.Origins(), want) })
	if p.NotReady() == "" {
		t.Error("it is ready before the other replicas can know it")
	}
	await(t, "it does not become ready", func() bool { return p.NotReady() == "" })
	if took := time.Since(began); took < up.PeerLookupPause {
		t.Errorf("it is ready after %v", took)
	}

	dns.set()
	p.Set([]string{"dns+http://peers.test.:7718"}) // looks at once
	await(t, "the failure is not reported", func() bool { return strings.Contains(printed.String(), "cannot be looked up") })
	if got := p.Origins(); len(got) != 0 { // another name, which was never found
		t.Error(got)
	}
	dns.set("10.0.0.1", "10.0.0.4")
	p.Set([]string{"dns+http://peers.test.:7718"})
	await(t, "the address is not found again", func() bool { return slices.Equal(p.Origins(), []string{"http://10.0.0.4:7718"}) })
	dns.set()
	p.Set([]string{"dns+http://peers.test.:7718"})
	await(t, "the second failure is not reported", func() bool { return strings.Count(printed.String(), "cannot be looked up") == 2 })
	if got := p.Origins(); !slices.Equal(got, []string{"http://10.0.0.4:7718"}) {
		t.Errorf("without DNS the peers are %v", got)
	}
	if p.NotReady() != "" {
		t.Error("without DNS it is no longer ready")
	}
	p.Set([]string{"http://10.9.9.9:1"})
	await(t, "the list without names is not used", func() bool { return slices.Equal(p.Origins(), []string{"http://10.9.9.9:1"}) })
}

func TestPeersAreLimited(t *testing.T) {
	t.Parallel()
	dns := startNameServer(t)
	var all []string
	for i := range 60 {
		all = append(all, fmt.Sprintf("10.1.0.%d", i+1))
	}
	dns.set(all...)
	p := up.NewPeers([]string{"dns+http://peers.test.:7717", "dns+http://others.test.:7718"})
	p.Resolver, p.Log, p.Own = dns.resolver(), slog.New(slog.NewTextHandler(new(clitest.SafeBuffer), nil)), func(netip.Addr) bool { return false }
	defer p.Follow(t.Context())()
	await(t, "no addresses are found", func() bool { return len(p.Origins()) > 0 })
	if n := len(p.Origins()); n != up.MaxPeers {
		t.Errorf("%d peers", n)
	}
}
