package streamable

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// Close of an httptest.Server waits for streams. The endpoint ends them, even if a client that opened
// one is still connected.
func TestHTTPServersCloseAfterTheEndpoint(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			s := mcp.NewServer("s", "1")
			endpoint := Handler(s)
			server := httptest.NewServer(endpoint)
			c, err := mcp.DialWith(t.Context(), Client(server.URL), mcp.ClientOptions{Revision: revision, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			endpoint.Close()
			closed := make(chan struct{})
			go func() {
				server.Close()
				close(closed)
			}()
			select {
			case <-closed:
			case <-time.After(time.Minute):
				t.Fatal("it is still open after a minute")
			}
		})
	}
}
