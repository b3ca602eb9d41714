package gateway_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// The errors of a part must not name servers outside of it.
func TestThroughAPartNoResourceNamesOtherServers(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet, Conflicts: gateway.Refuse})
	t.Cleanup(func() { g.Close() })
	for _, name := range []string{"secret-one", "secret-two"} {
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
		s.AddText(mcp.Resource{URI: "test://same", Name: "same"}, "text")
		must(t, g.AddHandler(name, s))
	}
	must(t, g.AddHandler("open", member(t, "open")))
	must(t, g.Settle(t.Context()))
	_, err := mcp.NewClient(g.Only(gateway.Selection{Servers: []string{"open"}})).ReadResource(t.Context(), "test://same")
	if err == nil || strings.Contains(err.Error(), "secret-") {
		t.Errorf("got %v", err)
	}
}
