package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// TestAServerIntroducesItselfOnce counts the server/discover requests to a server that has every
// list.
func TestAServerIntroducesItselfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := mcp.NewServer("s", "1"), 0
		mcp.AddTool(s, "t", func(context.Context, struct{}) (string, error) { return "", nil })
		s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) { return nil, nil })
		s.AddResource(mcp.Resource{URI: "a:b", Name: "r"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) { return nil, nil })
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "server/discover" {
				asked++
			}
			return s.Handle(ctx, req)
		})
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("s", h))
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := g.Offered("s"); d == nil || len(d.Tools) != 1 || len(d.Prompts) != 1 || len(d.Resources) != 1 {
			t.Fatalf("offered are %+v", d)
		}
		if asked > 2 { // by the client, and for the check of a gateway that leads back
			t.Errorf("the server was asked %d times what it is", asked)
		}
	})
}
