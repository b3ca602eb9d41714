package streamable

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// panicking returns a Handler that panics in the middle of a call.
func panicking(h mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			req.Peer.Notify(ctx, "notifications/progress", []byte(`{"progress":1}`))
			panic("boom")
		}
		return h.Handle(ctx, req)
	})
}

func TestAPanicEndsOneCallOnceAndNothingIsWrittenLater(t *testing.T) {
	for _, test := range []struct {
		name, revision string
		options        Options
		before, behind string // around the message
	}{
		{"legacy", "2025-11-25", Options{}, "", ""},
		{"batch", "2025-03-26", Options{}, "[", "]"},
		{"sessionless batch", "2025-03-26", Options{Stateless: true}, "[", "]"},
		{"sessionless", "2025-06-18", Options{Stateless: true}, "", ""},
		{"modern", "2026-07-28", Options{}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.KeepAlive = time.Second
			inMemoryServing(t, panicking, test.options, func(t *testing.T, s *site, _ *fixture) {
				header := []string{"MCP-Protocol-Version", test.revision}
				body := test.before + callTool(7, "count", "{}") + test.behind
				switch {
				case test.revision == "2026-07-28":
					header = append(header, "Mcp-Method", "tools/call", "Mcp-Name", "count")
					body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"count",` + modernMeta + `}}`
				case !test.options.Stateless:
					header = append(header, "Mcp-Session-Id", s.handshake(test.revision))
				}
				got, err := io.ReadAll(s.do("POST", body, header...).Body)
				if n := strings.Count(string(got), `"code":-32603`); err != nil || n != 1 {
					t.Errorf("got %q, %v; want one internal error", got, err)
				}
				time.Sleep(time.Minute) // a leaked timer would write to the response and crash
				synctest.Wait()
				if resp := s.modern("tools/list", "", ""); resp.StatusCode != 200 {
					t.Errorf("the next request: status %d", resp.StatusCode)
				}
			})
		})
	}
}
