package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestACallIsRepeatedOnce(t *testing.T) {
	var executed atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(body, &m)
		const ok = `"resultType":"complete","ttlMs":0,"cacheScope":"private"`
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "server/discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{%s,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, m.ID, ok)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{%s,"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`, m.ID, ok)
		case "tools/call":
			executed.Add(1)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": begun\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(404)
		}
	}))
	defer s.Close()
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, add(g, "web", func(ctx context.Context) (*mcp.Client, error) {
		return mcp.DialWith(ctx, streamable.Client(s.URL), mcp.ClientOptions{Name: "web", Bridge: true, Logger: quiet})
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	must(t, g.Settle(ctx))
	c, err := mcp.DialWith(ctx, stream.Pipe(g), mcp.ClientOptions{Logger: quiet})
	must(t, err)
	defer c.Close()
	_, err = c.CallTool(ctx, "web__t", nil)
	if n := executed.Load(); n > 2 {
		t.Errorf("one call was executed %d times: %v", n, err)
	}
	again := new(repeats)
	_, err = mcp.NewClient(g).CallTool(mcp.WithNoteObserver(ctx, again), "web__t", nil)
	if n := again.Load(); n != 1 {
		t.Errorf("one call was noted as sent again %d times: %v", n, err)
	}
}

// A repeats counts the notes about repeated requests.
type repeats struct{ atomic.Int32 }

func (r *repeats) Note(kind string, _ any) {
	if kind == note.Resent {
		r.Add(1)
	}
}
