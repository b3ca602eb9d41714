package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// A list is bounded in bytes, not in entries only.
func TestAListHasALimitOfBytes(t *testing.T) {
	srv := mcp.NewServer("s", "1")
	tool := fmt.Sprintf(`{"name":"t","inputSchema":{"type":"object"},"description":%q}`, strings.Repeat("x", 8<<20))
	pages := 0
	handler := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method != "tools/list" {
			return srv.Handle(ctx, req)
		}
		pages++
		body := fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool, pages)
		if pages == 20 {
			body = `{"tools":[]}`
		}
		return mcp.Result{JSON: json.RawMessage(body)}, nil
	})
	s := play(t, Options{Servers: []Server{{Name: "s", Handler: handler, Trusted: true}}}, scripted.Say("done"))
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Servers()[0]; got.State != StateFailed || !strings.Contains(got.Error, "MiB") || pages > 10 {
		t.Errorf("after %d pages of 8 MiB: %+v", pages, got)
	}
}
