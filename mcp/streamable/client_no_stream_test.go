package streamable_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A server without a stream for its own messages should respond with 405. Many have no route for
// GET and respond with 404, as for a lost session. Their session is not lost.
func TestAServerWithoutAStreamIsNotOneThatLostTheSession(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var sessions atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(status)
					return
				}
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.NewDecoder(r.Body).Decode(&m)
				result := `{}`
				switch m.Method {
				case "initialize":
					w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
					result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
				case "tools/call":
					result = `{"content":[]}`
				case "notifications/initialized":
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			}))
			defer s.Close()
			c, err := mcp.DialWith(t.Context(), streamable.Client(s.URL), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 20 {
				if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
					t.Fatal(err)
				}
			}
			if n := sessions.Load(); n != 1 {
				t.Errorf("%d sessions were begun", n)
			}
		})
	}
}
