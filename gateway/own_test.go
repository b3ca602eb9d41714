package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// Through Own a member has the same lists as without the gateway, even if another member has the
// same names.
func TestOwnNamesAreThoseOfTheServer(t *testing.T) {
	for _, o := range []gateway.Options{{}, {NoPrefix: true}, {Conflicts: gateway.First}} {
		g, servers := libraries(t, o, "a", "b")
		for name, server := range servers {
			if o.Conflicts == gateway.First && name == "b" {
				continue // its resources are a's
			}
			t.Run(fmt.Sprintf("%s, %v", name, o.NoPrefix), func(t *testing.T) {
				direct, own := mcp.NewClient(server), mcp.NewClient(g.Own(name, g.Only(gateway.Selection{Servers: []string{name}})))
				if want, got := listedBy(t, direct), listedBy(t, own); !slices.Equal(got, want) {
					t.Errorf("listed are %q, want %q", got, want)
				}
				for _, uri := range []string{same, "only:" + name, "file:///notes/x"} {
					got, err := own.ReadResource(t.Context(), uri)
					must(t, err)
					want, err := direct.ReadResource(t.Context(), uri)
					must(t, err)
					if got.Contents[0].Text != want.Contents[0].Text {
						t.Errorf("%s: %q, want %q", uri, got.Contents[0].Text, want.Contents[0].Text)
					}
				}
				result, err := own.CallTool(t.Context(), "links", nil)
				if err != nil || len(result.Content) != 5 {
					t.Errorf("the tool: %+v, %v", result, err)
				}
				if prompt, err := own.GetPrompt(t.Context(), "links", nil); err != nil || len(prompt.Messages) != 5 {
					t.Errorf("the prompt: %+v, %v", prompt, err)
				}
				completion, err := own.Complete(t.Context(), mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefResource, URI: twice}, Argument: mcp.CompletionArgument{Name: "name"}})
				if err != nil || !slices.Equal(completion.Values, []string{"note of " + name}) {
					t.Errorf("completed are %+v, %v", completion, err)
				}
				if _, err := own.CallTool(t.Context(), "a__links", nil); err == nil {
					t.Error("the tool has the gateway's name, too")
				}
			})
		}
	}
	g, _ := libraries(t, gateway.Options{}, "a")
	if _, err := mcp.NewClient(g.Own("none", g)).CallTool(t.Context(), "links", nil); err == nil {
		t.Error("a server that there is not has a tool")
	}
}

// listedBy returns the names of all entries that a client is offered.
func listedBy(t *testing.T, c *mcp.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		must(t, err)
		names = append(names, tool.Name)
	}
	for p, err := range c.Prompts(t.Context()) {
		must(t, err)
		names = append(names, p.Name)
	}
	return append(names, resourceURIs(t, c)...)
}

// A list keeps the member's own names of its entries, even if the offer changes while it is made.
func TestOwnListIsOfOneMoment(t *testing.T) {
	g, _ := libraries(t, gateway.Options{}, "a")
	only := g.Only(gateway.Selection{Servers: []string{"a"}})
	own := mcp.NewClient(g.Own("a", mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		result, err := only.Handle(ctx, req)
		if req.Method == "tools/list" {
			must(t, g.Remove(ctx, "a"))
		}
		return result, err
	})))
	var names []string
	for tool, err := range own.Tools(t.Context()) {
		must(t, err)
		names = append(names, tool.Name)
	}
	if want := []string{"links"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
