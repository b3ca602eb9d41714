package unreadbody_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/unreadbody"
)

func TestCloseAnswersBeforeTheBodyComes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unreadbody.Close(w, r)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		head   string
		closes bool
	}{
		"length":  {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", true},
		"chunked": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		"part":    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc", true},
		"none":    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			took := time.Hour
			for attempt := 0; attempt < 5 && took > time.Second; attempt++ { // a machine may be busy
				conn, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				fmt.Fprint(conn, c.head)
				began, in := time.Now(), bufio.NewReader(conn)
				resp, err := http.ReadResponse(in, nil)
				if err != nil || resp.StatusCode != http.StatusUnauthorized || resp.Close != c.closes {
					t.Fatalf("%v, %v", resp, err)
				}
				took = min(took, time.Since(began))
				if c.closes {
					if _, err := io.Copy(io.Discard, in); err != nil {
						t.Errorf("the connection ended after %v, %v", time.Since(began), err)
					}
				}
			}
			if took > time.Second {
				t.Errorf("the response came after %v", took)
			}
		})
	}
}
