package gateway_test

import (
	"context"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

// A tool whose own name models do not accept is offered under another name. A part that omits that
// name must omit the tool under every name.
func TestAToolThatAPartLeavesOutCannotBeCalledByItsOwnName(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	s := mcp.NewServerWith("files", "1", mcp.ServerOptions{Logger: quiet})
	mcp.AddTool(s, "delete.all", func(context.Context, struct{}) (string, error) { return "deleted", nil })
	must(t, g.AddHandler("files", s))
	must(t, g.Settle(t.Context()))
	listed := mcp.NewClient(g)
	offered := ""
	for tool, err := range listed.Tools(t.Context()) {
		must(t, err)
		offered = tool.Name
	}
	if offered == "" || offered == "files__delete.all" {
		t.Fatalf("offered as %q", offered)
	}
	part := g.Only(gateway.Selection{Keep: func(e gateway.Entry) bool { return e.Exposed != offered }})
	if _, err := mcp.NewClient(part).CallTool(t.Context(), offered, nil); err == nil {
		t.Fatal("the tool is in the part")
	}
	if result, err := mcp.NewClient(part).CallTool(t.Context(), "files__delete.all", nil); err == nil {
		t.Errorf("the tool that the part leaves out ran: %v", result.Content)
	}
}

// The tool cannot be called by its own name without the scopes that it needs.
func TestAToolThatNeedsScopesCannotBeCalledByItsOwnName(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	s := mcp.NewServerWith("files", "1", mcp.ServerOptions{Logger: quiet})
	mcp.AddTool(s, "delete.all", func(context.Context, struct{}) (string, error) { return "deleted", nil })
	must(t, g.AddHandler("files", s))
	must(t, g.Settle(t.Context()))
	offered := ""
	for tool, err := range mcp.NewClient(g).Tools(t.Context()) {
		must(t, err)
		offered = tool.Name
	}
	c := mcp.NewClient(middleware.ToolScopes(map[string][]string{offered: {"admin"}})(g))
	if _, err := c.CallTool(t.Context(), offered, nil); err == nil {
		t.Fatal("the tool can be called without its scope")
	}
	if result, err := c.CallTool(t.Context(), "files__delete.all", nil); err == nil {
		t.Errorf("the tool %s, which needs the scope admin, ran without it: %v", offered, result.Content)
	}
}
