package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

type hostileHandler struct{ gate chan struct{} }

func (h hostileHandler) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "server/discover" {
		<-h.gate
		return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{}}`)}, nil
	}
	<-ctx.Done()
	return mcp.Result{}, ctx.Err()
}

type hostileOut struct{}

func (hostileOut) Send(context.Context, []byte) error { return nil }

// HTTP+SSE accepts messages of one connection concurrently.
func TestTwoInitializesAtOnceLeakNoSession(t *testing.T) {
	h := hostileHandler{make(chan struct{})}
	e, err := New(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := e.NewConnection(t.Context(), hostileOut{}, nil)
	var accepting sync.WaitGroup
	for i := range 50 {
		accepting.Go(func() {
			var j Job
			if c.Accept(&j, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"experimental":{"x":{"y":%q}}},"clientInfo":{"name":"x","version":%q}}}`, i, strings.Repeat("x", 15<<10), strings.Repeat("y", 15<<10))) {
				j.Run(nil)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	close(h.gate)
	accepting.Wait()
	c.Close()
	if held := e.sessions.Used(); held != 0 {
		t.Errorf("after the only connection was closed %d bytes of sessions are held for good, of %d for all clients", held, maxSessionsHeld)
	}
}
