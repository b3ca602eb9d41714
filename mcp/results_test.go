package mcp_test

import (
	"context"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestMiddlewareReadsTypedResults(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "structured", func(context.Context, struct{}) (plain, error) { return plain{City: "Oslo"}, nil })
	mcp.AddTool(s, "text", func(context.Context, struct{}) (string, error) { return "rain", nil })
	mcp.AddTool(s, "own", func(context.Context, struct{}) (*mcp.CallToolResult, error) { return mcp.ToolError("no"), nil })
	s.AddText(mcp.Resource{URI: "test://a", Name: "a"}, "text of a")
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{b}", Name: "b"}, readNothing)
	s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "a prompt"}, nil
	})
	seen := map[string]string{}
	see := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			r, err := next.Handle(ctx, req)
			if err != nil {
				return r, err
			}
			switch req.Method {
			case "tools/call":
				called, err := r.CallTool()
				if err != nil {
					return r, err
				}
				seen[req.Name] = called.Text() + string(called.StructuredContent)
				called.Content = append(called.Content, mcp.Text("seen"))
				return r.With(called), nil
			case "tools/list":
				list, err := r.ListTools()
				if err != nil {
					return r, err
				}
				seen[req.Method] = list.Tools[0].Name
				list.Tools = list.Tools[:1]
				return r.With(list), nil
			case "prompts/list":
				list, err := r.ListPrompts()
				seen[req.Method] = list.Prompts[0].Name
				return r, err
			case "resources/list":
				list, err := r.ListResources()
				seen[req.Method] = list.Resources[0].Name
				return r, err
			case "resources/templates/list":
				list, err := r.ListResourceTemplates()
				seen[req.Method] = list.ResourceTemplates[0].Name
				return r, err
			case "resources/read":
				contents, err := r.ReadResource()
				seen[req.Method] = contents.Contents[0].Text
				return r, err
			case "prompts/get":
				prompt, err := r.GetPrompt()
				seen[req.Method] = prompt.Description
				return r, err
			case "server/discover":
				d, err := r.Discover()
				if d.Capabilities.Tools == nil {
					t.Error("no tools in the discovery")
				}
				return r, err
			}
			return r, nil
		})
	}
	c := mcp.NewClient(mcp.Chain(s, see))
	defer c.Close()
	ctx := t.Context()
	for name, want := range map[string]string{"structured": "seen", "text": "rain\nseen", "own": "no\nseen"} {
		result, err := c.CallTool(ctx, name, nil)
		if err != nil || name != "structured" && result.Text() != want || len(result.Content) != 2 {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
	n := 0
	for range c.Tools(ctx) {
		n++
	}
	for range c.Prompts(ctx) {
	}
	for range c.Resources(ctx) {
	}
	for range c.ResourceTemplates(ctx) {
	}
	if _, err := c.ReadResource(ctx, "test://a"); err != nil {
		t.Error(err)
	}
	if _, err := c.GetPrompt(ctx, "p", nil); err != nil {
		t.Error(err)
	}
	json := `{"city":"Oslo","highs":[],"next":null,"by":{},"small":0}`
	for what, want := range map[string]string{
		"structured": json + json, "text": "rain", "own": "no", "tools/list": "own", "prompts/list": "p", "resources/list": "a",
		"resources/templates/list": "b", "resources/read": "text of a", "prompts/get": "a prompt",
	} {
		if seen[what] != want {
			t.Errorf("%s: %q, want %q", what, seen[what], want)
		}
	}
	if n != 1 {
		t.Errorf("%d tools after the middleware", n)
	}
	asking := mcp.Result{Type: "input_required"}
	if _, err := asking.CallTool(); err == nil {
		t.Error("a round that asks was read as a tool's result")
	}
}
