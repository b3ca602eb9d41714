package up_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

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
	accept := func(from string) (*clitest.TestConn, net.Conn) {
		conn := &clitest.TestConn{From: from}
		l.conns <- conn
		g, err := c.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn, g
	}
	open := func(all []*clitest.TestConn) (n int) {
		for _, conn := range all {
			if !conn.Closed.Load() {
				n++
			}
		}
		return n
	}
	ada, member := accept("192.0.2.9:1")
	request, _ := http.NewRequestWithContext(admission.ConnContext(t.Context(), member), http.MethodGet, "/", nil)
	up.Admit(request, &mcp.Principal{Issuer: "i", Subject: "ada"})
	var eves []*clitest.TestConn
	for i := range 10 * most {
		conn, _ := accept(fmt.Sprint("192.0.2.1:", i+1))
		eves = append(eves, conn)
	}
	if n := open(eves); n != most || eves[len(eves)-1].Closed.Load() {
		t.Errorf("eve alone has %d open, want %d, the newest among them", n, most)
	}
	var others []*clitest.TestConn
	for i := range 4 {
		conn, _ := accept(fmt.Sprintf("192.0.2.%d:1", 20+i))
		others = append(others, conn)
		for range most {
			conn, _ := accept("192.0.2.1:1")
			eves = append(eves, conn)
		}
	}
	if n := open(others); n != 4 || ada.Closed.Load() {
		t.Errorf("of 4 others %d are open; that of ada is closed: %t", n, ada.Closed.Load())
	}
	if n := open(eves); n != most-4 {
		t.Errorf("eve has %d open, want %d", n, most-4)
	}
	member.Close()
	if members.Used() != 0 || guests.Used() != most {
		t.Errorf("%d members and %d guests", members.Used(), guests.Used())
	}
}

func TestServerLinesAreFolded(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_000, 0)
	s := &cli.LineCounter{Log: slog.New(slog.NewTextHandler(&out, nil)), Now: func() time.Time { return now }, Kinds: map[string]*cli.LineCount{}}
	say := func(text string) { fmt.Fprintf(s, "%s\n", text) }
	for i := range 1_000 {
		say(fmt.Sprintf("http: TLS handshake error from 192.0.2.1:%d: EOF", i))
	}
	say("http: Accept error: too many open files")
	now = now.Add(cli.RefusalInterval)
	say("http: TLS handshake error from 192.0.2.1:1: EOF")
	for i := range 1_000 {
		say(fmt.Sprint("something else ", i))
	}
	text := out.String()
	if n := strings.Count(text, "TLS handshake"); n != 2 || !strings.Contains(text, "times=1000") {
		t.Errorf("%d lines of handshakes: %.400s", n, text)
	}
	if n := strings.Count(text, "something else"); n > cli.MaxLineKinds || len(s.Kinds) > cli.MaxLineKinds+1 || !strings.Contains(text, "Accept error") {
		t.Errorf("%d lines and %d kinds of others", n, len(s.Kinds))
	}
}
