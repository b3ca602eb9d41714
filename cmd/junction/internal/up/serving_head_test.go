package up_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

// A slowly connection reads one byte at a time.
type slowly struct{ net.Conn }

func (s slowly) Read(p []byte) (int, error) { return iotest.OneByteReader(s.Conn).Read(p) }

type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return slowly{c}, err
}

func TestConnectionEndsBehindARequestThatTwoParsersCouldReadInTwoWays(t *testing.T) {
	const plain = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
	for _, test := range []struct {
		name, request string
		closed        bool
	}{
		{"a length", plain, false},
		{"chunks", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", false},
		{"no body", "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"a body that looks like a head", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 28\r\n\r\nTransfer-Encoding: chunked\n\n", false},
		{"a length and chunks", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", true},
		{"chunks and a length", "POST /mcp HTTP/1.1\r\nHost: localhost\r\ntransfer-encoding:chunked\r\nCONTENT-LENGTH:2\r\n\r\n2\r\n{}\r\n0\r\n\r\n", true},
		{"a bare LF", "GET /mcp HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", true},
		{"a bare LF at the end", "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\n", true},
		{"bare LFs only", "GET /mcp HTTP/1.1\nHost: localhost\n\n", true},
	} {
		for _, slow := range []bool{false, true} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				buf := make([]byte, 100)
				n, _ := r.Body.Read(buf)
				fmt.Fprintf(w, "read %d", n)
			})}
			up.WatchHeads(server)
			under := l
			if slow {
				under = slowListener{l}
			}
			go server.Serve(up.HeadListener{Listener: under})
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(c)
			for n, request := range []string{plain, test.request} {
				if _, err := c.Write([]byte(request)); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatalf("%s: %v", test.name, err)
				}
				resp.Body.Read(make([]byte, 100))
				resp.Body.Close()
				if want := n == 1 && test.closed; resp.StatusCode != 200 || resp.Close != want {
					t.Errorf("%s, request %d, slow %v: status %d, closed %v, want %v", strings.TrimSpace(test.name), n+1, slow, resp.StatusCode, resp.Close, want)
				}
			}
			c.Close()
			server.Close()
		}
	}
}
