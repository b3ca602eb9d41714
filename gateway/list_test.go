package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

func TestAListIsEncodedOnceAndNotAgainForEachClient(t *testing.T) {
	s := mcp.NewServerWith("many", "1", mcp.ServerOptions{Logger: quiet})
	for i := range 2_000 {
		mcp.AddTool(s, fmt.Sprintf("tool_%d", i), func(context.Context, struct{}) (string, error) { return "", nil })
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
		})
	}
}
