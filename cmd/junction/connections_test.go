package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// A testConn is a connection of an address.
type testConn struct {
	net.Conn
	from   string
	closed atomic.Bool
}

func (c *testConn) RemoteAddr() net.Addr {
	at, _ := net.ResolveTCPAddr("tcp", c.from)
	return at
}

func (c *testConn) Close() error {
	c.closed.Store(true)
	return nil
}

// A testListener accepts what is sent to it.
type testListener struct {
	net.Listener
	conns chan net.Conn
}

func (l testListener) Accept() (net.Conn, error) { return <-l.conns, nil }

// An address with many connections of which no request was let in loses its own oldest ones, and keeps no other out; a connection that
// was let in stays.
func TestConnectionsAreShared(t *testing.T) {
	const most = 16
	l := testListener{conns: make(chan net.Conn, 1)}
	guests, members := share.New(most), share.New(most)
	c := admission.Limit(l, guests, members)
	accept := func(from string) (*testConn, net.Conn) {
		conn := &testConn{from: from}
		l.conns <- conn
		g, err := c.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn, g
	}
	open := func(all []*testConn) (n int) {
		for _, conn := range all {
			if !conn.closed.Load() {
				n++
			}
		}
		return n
	}
	ada, member := accept("192.0.2.9:1")
	request, _ := http.NewRequestWithContext(admission.ConnContext(t.Context(), member), http.MethodGet, "/", nil)
	reach.Admit(request, &mcp.Principal{Issuer: "i", Subject: "ada"})
	var eves []*testConn
	for i := range 10 * most {
		conn, _ := accept(fmt.Sprint("192.0.2.1:", i+1))
		eves = append(eves, conn)
	}
	if n := open(eves); n != most || eves[len(eves)-1].closed.Load() {
		t.Errorf("eve alone has %d open, want %d, the newest among them", n, most)
	}
	var others []*testConn
	for i := range 4 {
		conn, _ := accept(fmt.Sprintf("192.0.2.%d:1", 20+i))
		others = append(others, conn)
		for range most {
			conn, _ := accept("192.0.2.1:1")
			eves = append(eves, conn)
		}
	}
	if n := open(others); n != 4 || ada.closed.Load() {
		t.Errorf("of 4 others %d are open; that of ada is closed: %t", n, ada.closed.Load())
	}
	if n := open(eves); n != most-4 {
		t.Errorf("eve has %d open, want %d", n, most-4)
	}
	member.Close()
	if members.Used() != 0 || guests.Used() != most {
		t.Errorf("%d members and %d guests", members.Used(), guests.Used())
	}
}

// A connection of plain HTTP has its place among the members, too, although its heads are looked at.
func TestConnectionsOfPlainHTTPAreLetIn(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guests, members := share.New(16), share.New(16)
	c := admission.Limit(tcp, guests, members)
	server := &http.Server{ReadHeaderTimeout: time.Second, ConnContext: admission.ConnContext, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reach.Admit(r, &mcp.Principal{Issuer: "i", Subject: "ada"})
	})}
	up.WatchHeads(server)
	go func() { _ = server.Serve(up.HeadListener{Listener: c}) }()
	defer server.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+tcp.Addr().String(), nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if members.Used() != 1 || guests.Used() != 0 {
		t.Errorf("%d members and %d guests", members.Used(), guests.Used())
	}
}

// Requests without a credential that are answered before their body came end within seconds, whatever the path, and others are served
// meanwhile.
func TestBodiesThatDoNotComeKeepNoConnection(t *testing.T) {
	alone(t)
	key := strings.TrimSpace(runs(t, "", "key", "create", "ann").stdout)
	r := serving(t, "up", "--auth", "keys", "everything")
	address := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), launch.EndpointPath)
	for _, path := range []string{"/mcp", "/sse", "/mcp/nothing", "/nothing"} {
		for _, head := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", path, address, head)
			began := time.Now()
			_ = conn.SetReadDeadline(began.Add(10 * time.Second))
			said, err := io.ReadAll(conn)
			if err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.1 4")) {
				t.Errorf("%s with %s: %.40q after %v, %v", path, head, said, time.Since(began), err)
			}
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("with a key: %v, %v", resp, err)
	}
}

func TestServerLinesAreFolded(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_000, 0)
	s := &reach.LineCounter{Log: slog.New(slog.NewTextHandler(&out, nil)), Now: func() time.Time { return now }, Kinds: map[string]*reach.LineCount{}}
	say := func(text string) { fmt.Fprintf(s, "%s\n", text) }
	for i := range 1_000 {
		say(fmt.Sprintf("http: TLS handshake error from 192.0.2.1:%d: EOF", i))
	}
	say("http: Accept error: too many open files")
	now = now.Add(reach.RefusalInterval)
	say("http: TLS handshake error from 192.0.2.1:1: EOF")
	for i := range 1_000 {
		say(fmt.Sprint("something else ", i))
	}
	text := out.String()
	if n := strings.Count(text, "TLS handshake"); n != 2 || !strings.Contains(text, "times=1000") {
		t.Errorf("%d lines of handshakes: %.400s", n, text)
	}
	if n := strings.Count(text, "something else"); n > reach.MaxLineKinds || len(s.Kinds) > reach.MaxLineKinds+1 || !strings.Contains(text, "Accept error") {
		t.Errorf("%d lines and %d kinds of others", n, len(s.Kinds))
	}
}
