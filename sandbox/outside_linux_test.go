package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// An outsideTest is a network with names and hosts of the test. get makes the program's end of a
// connection.
type outsideTest struct {
	*network
	t       *testing.T
	mu      sync.Mutex
	refused []string
	dialled []string
	port    uint16
}

// newOutside permits hosts; PORT in them stands for the port that the program connects to.
func newOutside(t *testing.T, addresses map[string][]string, answer func(net.Conn), allowed ...string) *outsideTest {
	t.Helper()
	l, err := net.Listen("tcp", "127.64.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &outsideTest{t: t, port: netip.MustParseAddrPort(l.Addr().String()).Port()}
	for i := range allowed {
		allowed[i] = strings.Replace(allowed[i], "PORT", fmt.Sprint(o.port), 1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	refuse := func(r Refusal) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.refused = append(o.refused, strings.ReplaceAll(r.What+": "+r.Reason, fmt.Sprint(o.port), "PORT"))
	}
	hosts := parseHosts(allowed)
	o.network = &network{names: newNames(hosts, refuse), ctx: ctx, cancel: cancel, listeners: []net.Listener{l}, slots: make(chan struct{}, maxConnections)}
	o.names.first = netip.MustParseAddr("127.64.0.1") // address of the listener
	o.reach = reach{allowed: hosts, refuse: refuse,
		lookup: func(_ context.Context, name string) (all []netip.Addr, err error) {
			for _, a := range addresses[name] {
				all = append(all, netip.MustParseAddr(a))
			}
			if all == nil {
				err = errors.New("no such host")
			}
			return all, err
		},
		dial: func(_ context.Context, _, address string) (net.Conn, error) {
			o.mu.Lock()
			o.dialled = append(o.dialled, strings.ReplaceAll(address, fmt.Sprint(o.port), "PORT"))
			o.mu.Unlock()
			if strings.HasPrefix(address, "1.0.0.0:") {
				return nil, errors.New("it does not answer")
			}
			ours, theirs := net.Pipe()
			o.running.Go(func() { answer(theirs) })
			return ours, nil
		}}
	o.running.Go(func() { o.accept(l) })
	t.Cleanup(o.close)
	return o
}

func hello(conn net.Conn) {
	conn.Write([]byte("hello"))
	conn.Close()
}

// get connects like the program to the first name that it resolved.
func (o *outsideTest) get() string {
	conn, err := net.Dial("tcp", o.listeners[0].Addr().String())
	if err != nil {
		return "nothing"
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	if err != nil {
		return "nothing"
	}
	return string(got)
}

func TestConnectionsGoWhereTheProfileSays(t *testing.T) {
	for _, test := range []struct {
		name      string
		addresses []string
		allowed   []string
		got       string
		dialled   []string
		refused   []string
	}{
		{name: "a host", addresses: []string{"1.2.3.4"}, allowed: []string{"api.example.com:PORT"}, got: "hello", dialled: []string{"1.2.3.4:PORT"}},
		{name: "one with an address that does not answer", addresses: []string{"1.0.0.0", "1.2.3.4"}, allowed: []string{"api.example.com:PORT"}, got: "hello", dialled: []string{"1.0.0.0:PORT", "1.2.3.4:PORT"}},
		{name: "another port", addresses: []string{"1.2.3.4"}, allowed: []string{"api.example.com:1"}, got: "nothing",
			refused: []string{"connect to api.example.com:PORT: the profile allows only other ports of this host"}},
		{name: "a name for this machine", addresses: []string{"127.0.0.1"}, allowed: []string{"api.example.com:PORT"}, got: "nothing",
			refused: []string{"connect to 127.0.0.1:PORT: api.example.com has this address, which is not on the internet or belongs to this machine or its networks"}},
		{name: "a name for the metadata service", addresses: []string{"::ffff:169.254.169.254"}, allowed: []string{"api.example.com:PORT"}, got: "nothing",
			refused: []string{"connect to 169.254.169.254:PORT: api.example.com has this address, which is not on the internet or belongs to this machine or its networks"}},
		{name: "a private address that the profile has, too", addresses: []string{"10.0.0.5"}, allowed: []string{"api.example.com:PORT", "10.0.0.5:PORT"}, got: "hello", dialled: []string{"10.0.0.5:PORT"}},
		{name: "a private address of which it has another port", addresses: []string{"10.0.0.5"}, allowed: []string{"api.example.com:PORT", "10.0.0.5"}, got: "nothing",
			refused: []string{"connect to 10.0.0.5:PORT: api.example.com has this address, which is not on the internet or belongs to this machine or its networks"}},
		{name: "a name without addresses", allowed: []string{"api.example.com:PORT"}, got: "nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOutside(t, map[string][]string{"api.example.com": test.addresses}, hello, test.allowed...)
			if a, ok := o.names.address("api.example.com"); !ok || a != o.names.first {
				t.Fatal(a)
			}
			if got := o.get(); got != test.got {
				t.Errorf("got %q, want %q", got, test.got)
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if !slices.Equal(o.dialled, test.dialled) || !slices.Equal(o.refused, test.refused) {
				t.Errorf("dialled %q, refused %q", o.dialled, o.refused)
			}
		})
	}
}

func TestAnAddressWithoutANameIsRefused(t *testing.T) {
	o := newOutside(t, nil, hello, "api.example.com:PORT")
	if got := o.get(); got != "nothing" {
		t.Error(got)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if want := []string{"connect to 127.64.0.1:PORT: it is not among the hosts of the profile"}; !slices.Equal(o.refused, want) || o.dialled != nil {
		t.Errorf("refused %q, dialled %q", o.refused, o.dialled)
	}
}

func TestBothDirectionsAreCarriedToTheirEnds(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	o := newOutside(t, map[string][]string{"api.example.com": {"1.2.3.4"}}, func(conn net.Conn) {
		defer conn.Close()
		b := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Error(err)
		}
		conn.Write(b)
	}, "api.example.com:PORT")
	o.names.address("api.example.com")
	conn, err := net.Dial("tcp", o.listeners[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go conn.Write(sent)
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	carried := make(chan struct{}, maxConnections)
	o := newOutside(t, map[string][]string{"api.example.com": {"1.2.3.4"}}, func(conn net.Conn) {
		carried <- struct{}{}
		io.Copy(io.Discard, conn)
	}, "api.example.com:PORT")
	o.names.address("api.example.com")
	for range maxConnections {
		conn, err := net.Dial("tcp", o.listeners[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for range maxConnections {
		<-carried
	}
	if got := o.get(); got != "nothing" {
		t.Error(got)
	}
	o.close() // ends all open connections
	o.mu.Lock()
	defer o.mu.Unlock()
	if want := []string{"connect to one more host: the program has 128 others"}; !slices.Equal(o.refused, want) {
		t.Errorf("refused %q", o.refused)
	}
}

func TestLastRefusalsAreReported(t *testing.T) {
	resolver, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	program, err := net.Dial("udp", resolver.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, name := range []string{"one.example.", "two.example."} {
		q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
		packet, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	var refused []string
	refuse := func(r Refusal) { refused = append(refused, r.What) }
	n := &network{reach: reach{refuse: refuse}, names: newNames(nil, refuse), resolver: resolver, cancel: func() {}}
	// The resolver has no server when the program ends; its connections are reported before.
	u := &unreachable{ports: usualPorts, network: n}
	u.see(watch.Access{Kind: watch.Connect, Address: "1.2.3.4:443"})
	n.close()
	if want := []string{"connect to 1.2.3.4:443", "look up one.example", "look up two.example"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
}

func TestNamesAreResolvedWithoutAskingAnybody(t *testing.T) {
	var refused []string
	n := newNames(parseHosts([]string{"api.example.com", "*.example.org"}), func(r Refusal) { refused = append(refused, r.What) })
	ask := func(name string, kind dnsmessage.Type) string {
		q := dnsmessage.Message{Header: dnsmessage.Header{ID: 9, RecursionDesired: true}, Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
		packet, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(n.answer(packet)); err != nil || m.ID != 9 || !m.Response || len(m.Questions) != 1 {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		text := strings.TrimPrefix(m.RCode.String(), "RCode")
		for _, a := range m.Answers {
			text += fmt.Sprint(" ", netip.AddrFrom4(a.Body.(*dnsmessage.AResource).A))
		}
		return text
	}
	for _, test := range []struct {
		name string
		kind dnsmessage.Type
		want string
	}{
		{"api.example.com.", dnsmessage.TypeA, "Success 22.64.0.1"},
		{"API.example.COM.", dnsmessage.TypeA, "Success 22.64.0.1"},
		{"api.example.com.", dnsmessage.TypeAAAA, "Success"},
		{"api.example.com.", dnsmessage.TypeTXT, "Success"},
		{"a.example.org.", dnsmessage.TypeA, "Success 22.64.0.2"},
		{"b.example.org.", dnsmessage.TypeA, "Success 22.64.0.3"},
		{"example.org.", dnsmessage.TypeA, "NameError"},
		{"evil.example.", dnsmessage.TypeA, "NameError"},
		{"localhost.", dnsmessage.TypeA, "Success 127.0.0.1"},
	} {
		if got := ask(test.name, test.kind); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if want := []string{"look up example.org", "look up evil.example"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q", refused)
	}
	if !isPublic(firstName) { // servers that fetch pages refuse other addresses
		t.Errorf("%s is no address of the internet", firstName)
	}
	if n.name(netip.MustParseAddr("22.64.0.2")) != "a.example.org" || n.name(netip.MustParseAddr("127.0.0.1")) != "" {
		t.Error("addresses are not known again")
	}
	for i := len(n.addresses); i < maxNames; i++ {
		ask(fmt.Sprintf("n%d.example.org.", i), dnsmessage.TypeA)
	}
	if got := ask("one-more.example.org.", dnsmessage.TypeA); got != "ServerFailure" || len(n.addresses) != maxNames || len(n.byAddress) != maxNames {
		t.Errorf("one more: %s, of %d names with %d addresses", got, len(n.addresses), len(n.byAddress))
	}
}

func FuzzQuestions(f *testing.F) {
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("api.example.com."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packet, err := q.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packet)
	f.Fuzz(func(t *testing.T, question []byte) {
		n := newNames(parseHosts([]string{"*.example.com"}), func(Refusal) {})
		reply := n.answer(question)
		var m dnsmessage.Message
		if reply != nil && m.Unpack(reply) != nil {
			t.Errorf("%x is no message", reply)
		}
	})
}
