package edit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/mcp"
)

// echoing returns a server with tools that return their arguments.
func echoing() *mcp.Server {
	s := mcp.NewServer("s", "1")
	for _, name := range []string{"read", "write", "secret"} {
		mcp.AddTool(s, name, func(_ context.Context, in struct {
			Root  string `json:"root"`
			Path  string `json:"path"`
			Limit int    `json:"limit"`
		}) (string, error) {
			text, err := json.Marshal(in)
			return string(text), err
		})
	}
	return s
}

func TestToolsAreAsTheOptionsSay(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	h := edit.Middleware(edit.Options{
		Keep: func(_ edit.Kind, name string) bool { return name != "secret" },
		Tools: map[string]edit.Tool{"read": {Title: "Read", Description: "read it",
			Fixed: map[string]json.RawMessage{"root": raw(`"/srv"`)}, Defaults: map[string]json.RawMessage{"limit": raw(`10`), "root": raw(`"/"`)}}},
	})(echoing())
	c := mcp.NewClient(h)
	tools := map[string]*mcp.Tool{}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = tool
	}
	read := tools["read"]
	if len(tools) != 2 || read.Title != "Read" || read.Description != "read it" {
		t.Errorf("offered are %v", tools)
	}
	if in := string(read.InputSchema); strings.Contains(in, "root") || !strings.Contains(in, `"default":10`) || !strings.Contains(in, `"required":["path"]`) {
		t.Errorf("the schema is %s", in)
	}
	if in := string(tools["write"].InputSchema); !strings.Contains(in, "root") {
		t.Errorf("the other tool's is %s", in)
	}
	for _, test := range []struct{ tool, arguments, want string }{
		{"read", `{"path":"a"}`, `{"root":"/srv","path":"a","limit":10}`},
		{"read", `{"path":"a","root":"/etc","limit":3}`, `{"root":"/srv","path":"a","limit":3}`},
		{"read", `{"path":"a","\u0072oot":"/etc"}`, `{"root":"/srv","path":"a","limit":10}`},
		{"write", `{"path":"a","root":"/etc","limit":3}`, `{"root":"/etc","path":"a","limit":3}`},
	} {
		got, err := mcp.Call[string](t.Context(), c, test.tool, raw(test.arguments))
		if err != nil || got != test.want {
			t.Errorf("%s %s: got %s, %v", test.tool, test.arguments, got, err)
		}
	}
	if _, err := mcp.Call[string](t.Context(), c, "read", nil); err == nil || !strings.Contains(err.Error(), "path") {
		t.Errorf("without what is required: %v", err)
	}
	if _, err := mcp.Call[string](t.Context(), c, "secret", raw(`{"path":"a"}`)); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("one that is not offered: %v", err)
	}
}

func TestPromptsAndResourcesAreAsTheOptionsSay(t *testing.T) {
	s := mcp.NewServer("s", "1")
	for _, name := range []string{"shown", "hidden"} {
		s.AddPrompt(mcp.Prompt{Name: name, Arguments: []mcp.PromptArgument{{Name: "x"}}}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: name}, func(context.Context, mcp.CompletionRequest) (*mcp.Completion, error) {
			return &mcp.Completion{Values: []string{"y"}}, nil
		})
		s.AddText(mcp.Resource{URI: name + ":text", Name: name}, name)
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: name + ":item/{id}", Name: name}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "", name)}}, nil
		})
	}
	c := mcp.NewClient(edit.Middleware(edit.Options{
		Keep: func(_ edit.Kind, name string) bool { return !strings.HasPrefix(name, "hidden") },
		Tags: func(kind edit.Kind, name string) []string { return []string{string(kind), name, name} },
		Prompts: map[string]edit.Entry{
			"shown": {Title: "Shown", Description: "a prompt"}},
		Resources: map[string]edit.Entry{"shown:text": {Name: "renamed", Description: "a text"}, "shown:item/{id}": {Title: "Item"}},
	})(s))
	var seen []string
	for p, err := range c.Prompts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, strings.Join([]string{p.Name, p.Title, p.Description, string(p.Meta)}, "|"))
	}
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, strings.Join([]string{r.URI, r.Name, r.Description, string(r.Meta)}, "|"))
	}
	for r, err := range c.ResourceTemplates(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, strings.Join([]string{r.URITemplate, r.Name, r.Title, string(r.Meta)}, "|"))
	}
	want := `shown|Shown|a prompt|{"io.github.junction-mcp/tags":["prompt","shown"]}
shown:text|renamed|a text|{"io.github.junction-mcp/tags":["resource","shown:text"]}
shown:item/{id}|shown|Item|{"io.github.junction-mcp/tags":["resource","shown:item/{id}"]}`
	if got := strings.Join(seen, "\n"); got != want {
		t.Errorf("listed are\n%s\nwant\n%s", got, want)
	}
	for name, has := range map[string]bool{"shown": true, "hidden": false} {
		_, prompt := c.GetPrompt(t.Context(), name, nil)
		_, text := c.ReadResource(t.Context(), name+":text")
		_, item := c.ReadResource(t.Context(), name+":item/1")
		_, completion := c.Complete(t.Context(), mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefPrompt, Name: name}, Argument: mcp.CompletionArgument{Name: "x", Value: ""}})
		for what, err := range map[string]error{"prompt": prompt, "text": text, "item": item, "completion": completion} {
			if (err == nil) != has {
				t.Errorf("the %s %s can be had: %t (%v)", name, what, !has, err)
			}
		}
	}
}

func TestHiddenToolsAreUnknownUnderTheSentName(t *testing.T) {
	g := gateway.New(gateway.Options{})
	defer g.Close()
	nothing := edit.Middleware(edit.Options{Keep: func(edit.Kind, string) bool { return false }})
	if err := g.AddHandler("notes", mcp.Chain(echoing(), nothing)); err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(g)
	_, tool := c.CallTool(t.Context(), "notes__secret", nil)
	_, prompt := c.GetPrompt(t.Context(), "notes__secret", nil)
	for want, err := range map[string]error{
		`unknown tool "notes__secret"; tools/list names those that exist`:     tool,
		`unknown prompt "notes__secret"; prompts/list names those that exist`: prompt,
	} {
		if e, is := errors.AsType[*mcp.Error](err); !is || e.Message != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A subscribed peer sends the acknowledged resources to a channel.
type subscribed struct{ agreed chan string }

func (s subscribed) Notify(_ context.Context, _ string, params json.RawMessage) error {
	s.agreed <- string(params)
	return nil
}

func (subscribed) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) { return nil, nil }

func TestHiddenResourcesAreNotSubscribedTo(t *testing.T) {
	s := mcp.NewServer("s", "1")
	s.AddText(mcp.Resource{URI: "a:", Name: "a"}, "a")
	s.AddText(mcp.Resource{URI: "b:", Name: "b"}, "b")
	h := edit.Middleware(edit.Options{Keep: func(_ edit.Kind, name string) bool { return name != "b:" }})(s)
	ctx, cancel := context.WithCancel(t.Context())
	req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"resourceSubscriptions":["a:","b:"]}}`))
	peer := subscribed{make(chan string, 1)}
	req.Peer = peer
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = h.Handle(ctx, req) }()
	if got := <-peer.agreed; !strings.Contains(got, `"resourceSubscriptions":["a:"]`) {
		t.Errorf("agreed is %s", got)
	}
	cancel()
	<-ended
}
