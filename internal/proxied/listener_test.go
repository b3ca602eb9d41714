package proxied

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

// v2 is a header of version 2 for 203.0.113.7:1234.
const v2 = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x07\x7f\x00\x00\x01\x04\xd2\x00\x50"

func TestConnectionsOfTrustedProxiesHaveTheAddressOfTheClient(t *testing.T) {
	for name, tt := range map[string]struct {
		trusted, begin string
		want           string // address of the client; empty if the connection is closed
		status         string
	}{
		"version 1":                  {"127.0.0.1", "PROXY TCP4 203.0.113.7 127.0.0.1 1234 80\r\n", "203.0.113.7", ""},
		"version 1 of IPv6":          {"127.0.0.0/8", "PROXY TCP6 2001:db8::7 ::1 1234 80\r\n", "2001:db8::7", ""},
		"version 2":                  {"127.0.0.1", v2, "203.0.113.7", ""},
		"a health check":             {"127.0.0.1", "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00", "127.0.0.1", ""},
		"an unknown client":          {"127.0.0.1", "PROXY UNKNOWN\r\n", "127.0.0.1", ""},
		"no header":                  {"127.0.0.1", "", "", ""},
		"half a header":              {"127.0.0.1", "PROXY TCP4 203.0", "", ""},
		"a malformed one":            {"127.0.0.1", "PROXY TCP4 x y 1 2\r\n", "", ""},
		"a long one":                 {"127.0.0.1", "PROXY TCP4 " + strings.Repeat("1", 200) + "\r\n", "", ""},
		"two headers":                {"127.0.0.1", v2 + "PROXY TCP4 198.51.100.1 127.0.0.1 1 2\r\n", "", "400"},
		"another client":             {"192.0.2.0/24", "", "127.0.0.1", ""},
		"another client with header": {"192.0.2.0/24", "PROXY TCP4 203.0.113.7 127.0.0.1 1234 80\r\n", "", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trusted, err := Parse([]string{tt.trusted})
			if err != nil {
				t.Fatal(err)
			}
			plain, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, share.Site(r.RemoteAddr))
			}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
			l := trusted.Listen(plain, slog.New(slog.DiscardHandler))
			done := make(chan error, 1)
			go func() { done <- server.Serve(l) }()
			defer func() { server.Close(); <-done }()
			conn, err := net.Dial("tcp", plain.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.WriteString(conn, tt.begin+"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			switch {
			case err != nil && tt.want == "" && tt.status == "":
				return
			case err != nil:
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			want := tt.want
			if want == "2001:db8::7" {
				want = "2001:db8::" // a site in IPv6
			}
			if tt.status != "" && !strings.HasPrefix(response.Status, tt.status) || tt.status == "" && (string(body) != want || want == "") {
				t.Errorf("%s %s", response.Status, body)
			}
		})
	}
}

// A pipeListener accepts the connections of a channel.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// A peer is a connection from an address.
type peer struct {
	net.Conn
	at string
}

func (p peer) RemoteAddr() net.Addr {
	at, _ := net.ResolveTCPAddr("tcp", p.at)
	return at
}

// A proxy that sends no header keeps out nobody, and its connections end.
func TestSlowProxiesKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trusted, err := Parse([]string{"10.0.0.0/8"})
		if err != nil {
			t.Fatal(err)
		}
		plain := &pipeListener{make(chan net.Conn), make(chan struct{})}
		l := trusted.Listen(plain, slog.New(slog.DiscardHandler))
		ended := make(chan bool, 2*maxProxyHeaders)
		connect := func(at string) net.Conn {
			near, far := net.Pipe()
			plain.conns <- peer{far, at}
			return near
		}
		for range maxProxyHeaders + 10 {
			near := connect("10.0.0.1:1")
			go func() {
				_, err := near.Read(make([]byte, 1))
				ended <- err != nil
			}()
		}
		go connect("192.0.2.1:1")
		if c, err := l.Accept(); err != nil || c.RemoteAddr().String() != "192.0.2.1:1" {
			t.Errorf("another client: %v, %v", c, err)
		}
		time.Sleep(proxyHeaderTime + time.Second)
		synctest.Wait()
		if len(ended) != maxProxyHeaders+10 {
			t.Errorf("%d connections have ended", len(ended))
		}
		connect("10.0.0.2:1")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Accept(); err == nil {
			t.Error("a closed listener accepts")
		}
	})
}
