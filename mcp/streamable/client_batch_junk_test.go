package streamable

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A response that has come but is invalid because of trailing data is not requested again.
func TestBatchWithMoreBehindItIsNotResumed(t *testing.T) {
	for _, form := range []string{`[%s] x`, `[%s] {}`, `[%s]]`, `%s x`, `[{"jsonrpc":"2.0","method":"notifications/message"},%s] x`} {
		resumed := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			id := string(jsonrpc.Get(body, "id"))
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.Method == http.MethodGet:
				if r.Header.Get("Last-Event-Id") != "" {
					resumed++
				}
				w.WriteHeader(http.StatusMethodNotAllowed)
			case strings.Contains(string(body), "tools/call"):
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "id: 1\ndata: "+form+"\n\n", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id))
			case strings.Contains(string(body), `"initialize"`):
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, id)
			case id == "":
				w.WriteHeader(http.StatusAccepted)
			default:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
			}
		}))
		c, err := mcp.Dial(t.Context(), Client(s.URL))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.CallTool(t.Context(), "x", map[string]any{})
		if err == nil || !strings.Contains(err.Error(), "the reply is not valid") || resumed != 0 {
			t.Errorf("%s: resumed %d times, %v", form, resumed, err)
		}
		c.Close()
		s.CloseClientConnections()
		s.Close()
	}
}
