package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestAListIsEncodedOnceAndNotAgainForEachClient(t *testing.T) {
	s := mcp.NewServerWith("many", "1", mcp.ServerOptions{Logger: quiet})
	for i := range 2_000 { // with a schema that legacy revisions have no form for
		s.AddTool(mcp.Tool{Name: fmt.Sprintf("tool_%d", i), InputSchema: []byte(`{"type":"object","properties":{"anything":true}}`)},
			func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil })
	}
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	must(t, g.AddHandler("many", s))
	must(t, g.Settle(t.Context()))
	for name, h := range map[string]mcp.Handler{"of the gateway": g, "of a part": g.Only(gateway.Selection{Keep: func(e gateway.Entry) bool { return strings.HasSuffix(e.Exposed, "7") }})} {
		t.Run(name, func(t *testing.T) {
			var lists [2][]byte
			for i := range lists {
				result, err := h.Handle(t.Context(), &mcp.Request{Method: "tools/list"})
				must(t, err)
				lists[i] = result.JSON
			}
			if len(lists[0]) < 10_000 || &lists[0][0] != &lists[1][0] {
				t.Errorf("lists of %d and %d bytes are two", len(lists[0]), len(lists[1]))
			}
			if each := costOfLegacyList(h); each > len(lists[0]) {
				t.Errorf("a legacy client's list of %d bytes takes %d", len(lists[0]), each)
			}
		})
	}
}

// costOfLegacyList returns how many bytes are allocated for the list of a client on HTTP that speaks an older revision.
func costOfLegacyList(h mcp.Handler) int {
	e := streamable.HandlerWith(h, streamable.Options{Stateless: true})
	defer e.Close()
	list := func() {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-06-18"}}
		e.ServeHTTP(unread{http.Header{}}, r)
	}
	list()
	least := uint64(math.MaxUint64) // the race detector has a pool forget some
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return int(least)
}

// unread is a response that goes nowhere.
type unread struct{ header http.Header }

func (u unread) Header() http.Header         { return u.header }
func (u unread) Write(b []byte) (int, error) { return len(b), nil }
func (u unread) WriteHeader(int)             {}
