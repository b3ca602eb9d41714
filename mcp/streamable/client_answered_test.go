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

// An error about the argument "session" does not end the session.
func TestAnErrorThatMentionsASessionEndsNone(t *testing.T) {
	answersAnError(t, http.StatusBadRequest, `payment done, but unknown argument \"session\"`)
}

// Other errors do not end it either, whatever their status.
func TestAnErrorWithTheStatusOfALostSessionEndsNone(t *testing.T) {
	answersAnError(t, http.StatusNotFound, "payment done, but no receipt was found")
}

// answersAnError calls a tool of a legacy server that responds with an error.
func answersAnError(t *testing.T, status int, text string) {
	t.Helper()
	var begun, called atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", begun.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, m.ID)
		case "notifications/initialized":
			w.WriteHeader(202)
		case "tools/call":
			called.Add(1)
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"%s"}}`, m.ID, text)
		default:
			w.WriteHeader(405)
		}
	}))
	defer s.Close()
	c, err := mcp.DialWith(t.Context(), streamable.Client(s.URL), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.CallTool(t.Context(), "pay", nil)
	if n := called.Load(); n != 1 {
		t.Errorf("a call that the server answered was made %d times, in %d sessions: %v", n, begun.Load(), err)
	}
}
