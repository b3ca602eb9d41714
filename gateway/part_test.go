package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func TestAPartOffersAndAnswersNothingElse(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("a", member(t, "a")))
	must(t, g.AddHandler("b", member(t, "b")))
	must(t, g.Settle(t.Context()))
	part := g.Only(gateway.Selection{Servers: []string{"a"}, Keep: func(e gateway.Entry) bool { return e.Kind != "tool" || strings.HasSuffix(e.Exposed, "who") }})
	c, err := mcp.Dial(t.Context(), stream.Pipe(part))
	must(t, err)
	defer c.Close()
	if got := names(t, part); !slices.Equal(got, []string{"a__who"}) {
		t.Errorf("tools are %q", got)
	}
	if got, err := mcp.Call[string](t.Context(), c, "a__who", nil); err != nil || got != "a" {
		t.Errorf("%q, %v", got, err)
	}
	for _, tool := range []string{"b__who", "a__ask", "b__hidden"} {
		if _, err := mcp.Call[string](t.Context(), c, tool, nil); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	for p, err := range c.Prompts(t.Context()) {
		must(t, err)
		if !strings.HasPrefix(p.Name, "a__") {
			t.Errorf("prompt %q is offered", p.Name)
		}
		if _, err := c.GetPrompt(t.Context(), strings.Replace(p.Name, "a__", "b__", 1), nil); err == nil {
			t.Error("a prompt of another server can be had")
		}
	}
	whole := mcp.NewClient(g)
	inPart := map[string]bool{}
	for r, err := range c.Resources(t.Context()) {
		must(t, err)
		inPart[r.URI] = true
		if _, err := c.ReadResource(t.Context(), r.URI); err != nil {
			t.Errorf("%s: %v", r.URI, err)
		}
	}
	n := 0
	for r, err := range whole.Resources(t.Context()) {
		must(t, err)
		if n++; !inPart[r.URI] {
			if _, err := c.ReadResource(t.Context(), r.URI); err == nil {
				t.Errorf("%s of another server can be read", r.URI)
			}
		}
	}
	if len(inPart) == 0 || n <= len(inPart) {
		t.Errorf("%d of %d resources are in the part", len(inPart), n)
	}
	if text := c.Instructions(); strings.Contains(text, "# b") {
		t.Errorf("its instructions are %q", text)
	}
	must(t, g.Remove(t.Context(), "a"))
	if got := names(t, part); len(got) != 0 {
		t.Errorf("once the server is removed: %q", got)
	}
}

func TestAListSaysWhichServersItLacksAndWhy(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("a", member(t, "a")))
	must(t, add(g, "b", func(context.Context) (*mcp.Client, error) { return nil, errors.New("exec: no such program") }))
	must(t, g.Settle(t.Context()))
	result, err := g.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
	must(t, err)
	body, err := result.Encoded()
	must(t, err)
	want := `"io.github.junction-mcp/missing":[{"server":"b","reason":"server \"b\" is not connected: exec: no such program"}]`
	if !strings.Contains(string(result.Meta), want) || !strings.Contains(string(body), "a__who") {
		t.Errorf("the _meta is %s, the list %s", result.Meta, body)
	}
	must(t, g.Remove(t.Context(), "b"))
	result, err = g.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
	must(t, err)
	if strings.Contains(string(result.Meta), "missing") {
		t.Errorf("the _meta is %s", result.Meta)
	}
}

func TestAPartNamesNoServerThatIsNotInIt(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet, NoPrefix: true, Conflicts: gateway.Refuse})
	defer g.Close()
	broken := func(context.Context) (*mcp.Client, error) { return nil, errors.New("exec: no such program") }
	must(t, g.AddHandler("a", named(t, "a", "read")))
	must(t, add(g, "b", broken))
	must(t, add(g, "secret", broken))
	must(t, g.AddHandler("hidden", named(t, "hidden", "launch", "twice")))
	must(t, g.AddHandler("covert", named(t, "covert", "twice")))
	must(t, g.Settle(t.Context()))
	part := g.Only(gateway.Selection{Servers: []string{"a", "b"}})
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		result, err := part.Handle(t.Context(), mcp.NewRequest(method, nil))
		must(t, err)
		if meta := string(result.Meta); !strings.Contains(meta, `"server":"b"`) || strings.Contains(meta, "secret") {
			t.Errorf("%s: the _meta is %s", method, meta)
		}
	}
	c := mcp.NewClient(part)
	for tool, want := range map[string]string{
		"lauch": `unknown tool "lauch"; tools/list names those that exist`, // not: did you mean launch
		"twice": `unknown tool "twice"; tools/list names those that exist`, // not: hidden and covert both have it
		"reed":  `unknown tool "reed"; did you mean "read"?`,
	} {
		if _, err := mcp.Call[string](t.Context(), c, tool, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestAPartHasOnlySomePromptsAndResources(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("a", member(t, "a")))
	must(t, g.AddHandler("one", library("one")))
	must(t, g.AddHandler("two", library("two")))
	must(t, g.Settle(t.Context()))
	keep := []string{"prompt a greet a__greet", "resource two file:///same junction:two/file:///same", "resource template one file:///notes/{name} file:///notes/{name}", "resource one file:///notes/x file:///notes/x"}
	part := g.Only(gateway.Selection{Keep: func(e gateway.Entry) bool {
		return slices.Contains(keep, strings.Join([]string{e.Kind, e.Server, e.Name, e.Exposed}, " "))
	}})
	c, err := mcp.Dial(t.Context(), stream.Pipe(part))
	must(t, err)
	defer c.Close()
	if got, want := resourceURIs(t, c), []string{"junction:two/file:///same", "file:///notes/{name}"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	var prompts []string
	for p, err := range c.Prompts(t.Context()) {
		must(t, err)
		prompts = append(prompts, p.Name)
	}
	if !slices.Equal(prompts, []string{"a__greet"}) {
		t.Errorf("prompts are %q", prompts)
	}
	for uri, has := range map[string]bool{"junction:two/file:///same": true, "file:///notes/x": true, "file:///same": false, "only:one": false, "file:///notes/y": false, "junction:two/file:///notes/x": false} {
		if _, err := c.ReadResource(t.Context(), uri); (err == nil) != has {
			t.Errorf("%s can be read: %t (%v)", uri, !has, err)
		}
	}
	for prompt, has := range map[string]bool{"a__greet": true, "one__links": false} {
		if _, err := c.GetPrompt(t.Context(), prompt, nil); (err == nil) != has {
			t.Errorf("%s can be had: %t (%v)", prompt, !has, err)
		}
	}
	for ref, has := range map[mcp.CompletionReference]bool{
		{Type: mcp.RefPrompt, Name: "a__greet"}:                           true,
		{Type: mcp.RefResource, URI: "file:///notes/{name}"}:              true,
		{Type: mcp.RefResource, URI: "junction:two/file:///notes/{name}"}: false,
	} {
		if _, err := c.Complete(t.Context(), mcp.CompletionRequest{Ref: ref, Argument: mcp.CompletionArgument{Name: "name", Value: ""}}); (err == nil) != has {
			t.Errorf("%v is completed: %t (%v)", ref, !has, err)
		}
	}
}
