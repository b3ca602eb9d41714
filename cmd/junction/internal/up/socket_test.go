package up_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

// A body that never arrives must not keep a connection of the socket open, even if the Handler
// removes the deadline.
func TestBodyThatDoesNotComeKeepsNoConnectionOfTheSocket(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"as others do": func(http.ResponseWriter, *http.Request) {},
		"without a deadline": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		},
	} {
		for _, head := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			t.Run(name+", "+head, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := clitest.PipeListener{Conns: make(chan net.Conn)}
					l.Closed, l.End = context.WithCancel(t.Context())
					server := &http.Server{Handler: up.ReadWhole(h), ReadHeaderTimeout: up.AdminTime, ReadTimeout: up.AdminTime}
					ended := make(chan struct{})
					go func() { defer close(ended); _ = server.Serve(l) }()
					here, there := net.Pipe()
					l.Conns <- there
					began := time.Now()
					_ = here.SetDeadline(began.Add(time.Hour))
					fmt.Fprintf(here, "POST / HTTP/1.1\r\nHost: junction\r\n%s\r\n\r\n", head)
					if _, err := io.Copy(io.Discard, here); err != nil || time.Since(began) > 2*up.AdminTime {
						t.Errorf("the connection ends after %v: %v", time.Since(began), err)
					}
					here.Close()
					server.Close()
					<-ended
				})
			})
		}
	}
}
