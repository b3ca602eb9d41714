package review_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

// A tool that cannot be reviewed cannot be called: one whose definition cannot be read, and one
// that its server does not list.
func TestUnreviewableToolsCannotBeCalled(t *testing.T) {
	pins := new(guard.Pins)
	h := review.Middleware(review.Options{Server: "s", Mode: review.All, Pins: func() *guard.Pins { return pins }})(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/list" {
			return mcp.Result{JSON: json.RawMessage(`{"tools":[{"name":"fresh","inputSchema":{"type":"object"}},{"name":"broken","description":5,"inputSchema":{"type":"object"}}]}`)}, nil
		}
		return mcp.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"ran"}]}`)}, nil
	}))
	c := mcp.NewClient(h)
	for range c.List(t.Context(), "tools/list", "tools") {
		t.Error("something is listed that nobody approved")
	}
	if _, err := c.CallTool(t.Context(), "fresh", nil); err == nil {
		t.Fatal("a tool that nobody approved runs")
	}
	for _, name := range []string{"broken", "unlisted"} {
		if result, err := c.CallTool(t.Context(), name, nil); err == nil {
			t.Errorf("the tool %q, which nobody approved, runs: %s", name, result.Text())
		}
	}
}
