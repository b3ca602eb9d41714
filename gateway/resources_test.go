package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

const (
	same  = "file:///same"
	twice = "file:///notes/{name}"
)

// library returns a server with a resource and a template that other libraries have, too, and one
// resource of its own. Its tools and its prompt name them.
func library(name string) *mcp.Server {
	s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
	s.AddText(mcp.Resource{URI: same, Name: "same"}, "same of "+name)
	s.AddText(mcp.Resource{URI: "only:" + strings.Fields(name)[0], Name: "only"}, "only of "+name)
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: twice, Name: "note"}, func(_ context.Context, uri string, v map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "", v["name"]+" of "+name)}}, nil
	})
	s.AddCompletion(mcp.CompletionReference{Type: mcp.RefResource, URI: twice}, func(context.Context, mcp.CompletionRequest) (*mcp.Completion, error) {
		return &mcp.Completion{Values: []string{"note of " + name}}, nil
	})
	content := []mcp.Content{
		mcp.Text("see " + same),
		mcp.Link(mcp.Resource{URI: same, Name: "a link"}),
		mcp.Embed(mcp.TextContents("file:///notes/x", "", "x of "+name)),
		mcp.Link(mcp.Resource{URI: "only:" + strings.Fields(name)[0], Name: "its own"}),
		mcp.Link(mcp.Resource{URI: "https://elsewhere", Name: "nobody's"}),
	}
	mcp.AddTool(s, "links", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	})
	s.AddPrompt(mcp.Prompt{Name: "links"}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
		var messages []mcp.PromptMessage
		for _, c := range content {
			messages = append(messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
		}
		return &mcp.GetPromptResult{Messages: messages}, nil
	})
	return s
}

// libraries returns a gateway with a library of each name.
func libraries(t *testing.T, o gateway.Options, names ...string) (*gateway.Gateway, map[string]*mcp.Server) {
	t.Helper()
	o.Logger = quiet
	g := gateway.New(o)
	t.Cleanup(func() { g.Close() })
	servers := map[string]*mcp.Server{}
	for _, name := range names {
		servers[name] = library(name)
		must(t, g.AddHandler(name, servers[name]))
		must(t, g.Settle(t.Context()))
	}
	return g, servers
}

func resourceURIs(t *testing.T, c *mcp.Client) (uris []string) {
	t.Helper()
	for r, err := range c.Resources(t.Context()) {
		must(t, err)
		uris = append(uris, r.URI)
	}
	for r, err := range c.ResourceTemplates(t.Context()) {
		must(t, err)
		uris = append(uris, r.URITemplate)
	}
	return uris
}

func TestAResourceThatTwoServersHaveHasTwoURIs(t *testing.T) {
	g, _ := libraries(t, gateway.Options{}, "one", "two words")
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet})
		must(t, err)
		defer c.Close()
		want := []string{same, "only:one", "junction:two%20words/" + same, "only:two", twice, "junction:two%20words/" + twice}
		if got := resourceURIs(t, c); !slices.Equal(got, want) {
			t.Errorf("%s: listed are %q, want %q", revision, got, want)
		}
		for uri, want := range map[string]string{
			same: "same of one", "junction:two%20words/" + same: "same of two words", "junction:one/" + same: "same of one",
			"file:///notes/x": "x of one", "junction:two%20words/file:///notes/x": "x of two words", "only:two": "only of two words",
		} {
			r, err := c.ReadResource(t.Context(), uri)
			if err != nil || r.Contents[0].Text != want || r.Contents[0].URI != uri {
				t.Errorf("%s: %s: got %+v, %v, want %s", revision, uri, r, err, want)
			}
		}
		for _, uri := range []string{"junction:two%20words/only:one", "junction:nobody/" + same, "junction:two%20words/"} {
			if r, err := c.ReadResource(t.Context(), uri); err == nil {
				t.Errorf("%s: %s can be read: %+v", revision, uri, r)
			}
		}
		for uri, want := range map[string]string{twice: "note of one", "junction:two%20words/" + twice: "note of two words"} {
			got, err := c.Complete(t.Context(), mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefResource, URI: uri}, Argument: mcp.CompletionArgument{Name: "name", Value: "n"}})
			if err != nil || len(got.Values) != 1 || got.Values[0] != want {
				t.Errorf("%s: completion of %s: %+v, %v", revision, uri, got, err)
			}
		}
	}
	if got, want := fmt.Sprint(g.Status()[1].Renamed), `[resource "file:///same" is offered as "junction:two%20words/file:///same": server "one" has it, too `+
		`resource template "file:///notes/{name}" is offered as "junction:two%20words/file:///notes/{name}": server "one" has it, too]`; got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
}

func TestResultsNameResourcesAsClientsKnowThem(t *testing.T) {
	tests := []struct {
		conflicts gateway.Conflicts
		server    string
		want      []string // the URIs in a result
	}{
		{gateway.Suffix, "one", []string{same, "file:///notes/x", "only:one", "https://elsewhere"}},
		{gateway.Suffix, "two", []string{"junction:two/" + same, "junction:two/file:///notes/x", "only:two", "https://elsewhere"}},
		{gateway.First, "two", []string{"junction:two/" + same, "junction:two/file:///notes/x", "only:two", "https://elsewhere"}},
		{gateway.Refuse, "one", []string{"junction:one/" + same, "junction:one/file:///notes/x", "only:one", "https://elsewhere"}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.conflicts, test.server), func(t *testing.T) {
			g, _ := libraries(t, gateway.Options{Conflicts: test.conflicts}, "one", "two")
			c := mcp.NewClient(g)
			var uris, ofPrompt []string
			r, err := c.CallTool(t.Context(), test.server+"__links", nil)
			must(t, err)
			p, err := c.GetPrompt(t.Context(), test.server+"__links", nil)
			must(t, err)
			collect := func(into *[]string, content mcp.Content) {
				switch {
				case content.Link != nil:
					*into = append(*into, content.Link.URI)
				case content.Resource != nil:
					*into = append(*into, content.Resource.URI)
				}
			}
			for _, content := range r.Content {
				collect(&uris, content)
			}
			for _, message := range p.Messages {
				collect(&ofPrompt, message.Content)
			}
			if !slices.Equal(uris, test.want) || !slices.Equal(ofPrompt, test.want) || r.Content[0].Text != "see "+same {
				t.Errorf("the tool names %q and the prompt %q, want %q", uris, ofPrompt, test.want)
			}
			for _, uri := range test.want[:3] { // the resources that it names can be read
				got, err := c.ReadResource(t.Context(), uri)
				if err != nil || !strings.HasSuffix(got.Contents[0].Text, "of "+test.server) || got.Contents[0].URI != uri {
					t.Errorf("%s: %+v, %v", uri, got, err)
				}
			}
		})
	}
}

func TestTheRuleForConflictsHoldsForResources(t *testing.T) {
	first, _ := libraries(t, gateway.Options{Conflicts: gateway.First}, "one", "two")
	if got, want := resourceURIs(t, mcp.NewClient(first)), []string{same, "only:one", "only:two", twice}; !slices.Equal(got, want) {
		t.Errorf("priority: listed are %q, want %q", got, want)
	}
	refuse, _ := libraries(t, gateway.Options{Conflicts: gateway.Refuse}, "one", "two")
	c := mcp.NewClient(refuse)
	if got, want := resourceURIs(t, c), []string{"only:one", "only:two"}; !slices.Equal(got, want) {
		t.Errorf("error: listed are %q, want %q", got, want)
	}
	if _, err := c.ReadResource(t.Context(), same); err == nil || !strings.Contains(err.Error(), `servers "one" and "two" both have it`) {
		t.Errorf("error: %v", err)
	}
	if _, err := c.ReadResource(t.Context(), "file:///notes/x"); err == nil {
		t.Error("error: what a template of both matches can be read")
	}
}

// A URI that no member has, as two servers share it, is refused in every spelling. A third server
// with a matching template does not get it.
func TestRefusedResourceIsRefusedInEverySpelling(t *testing.T) {
	g := gateway.New(gateway.Options{Conflicts: gateway.Refuse, Logger: quiet})
	defer g.Close()
	for _, name := range []string{"one", "two", "three"} {
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
		if name != "three" {
			s.AddText(mcp.Resource{URI: "notes://list/today", Name: "today"}, "of "+name)
			s.AddText(mcp.Resource{URI: "Notes://list/%6Eow", Name: "now"}, "of "+name)
		} else {
			s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "{+uri}", Name: "all"}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "", "of three")}}, nil
			})
		}
		must(t, g.AddHandler(name, s))
		must(t, g.Settle(t.Context()))
	}
	c := mcp.NewClient(g)
	for uri, isRefused := range map[string]bool{
		"notes://list/today": true, "NOTES://list/today": true, "notes://LIST/today": true, "notes://list/%74oday": true, "notes://li%73t/tod%61y": true,
		"Notes://list/%6Eow": true, "notes://list/now": true, "notes://list/%6e%6fw": true,
		"notes://list/Today": false, "notes://list/today/": false, "notes://list/%2574oday": false, "notes://list/later": false,
	} {
		_, err := c.ReadResource(t.Context(), uri)
		if (err != nil) != isRefused || isRefused && !strings.Contains(err.Error(), `servers "one" and "two" both have it`) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestUpdatesNameTheResourceAsItsClientDoes(t *testing.T) {
	g, servers := libraries(t, gateway.Options{}, "one", "two")
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet})
		must(t, err)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for uri, server := range map[string]string{same: "one", "junction:two/" + same: "two"} {
			listening, stop := context.WithCancel(ctx)
			got, agreed := make(chan string, 100), make(chan struct{})
			go c.ListenWith(listening, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, func(n mcp.Notification) { got <- n.URI }, func(mcp.SubscriptionFilter) { close(agreed) })
			select {
			case <-agreed:
			case <-ctx.Done():
				t.Fatal("no acknowledgement")
			}
			for range 2 { // the first may be for the acknowledgement of the server
				servers[server].ResourceUpdated(same)
				select {
				case updated := <-got:
					if updated != uri {
						t.Errorf("%s: an update of %s, want %s", revision, updated, uri)
					}
				case <-ctx.Done():
					t.Fatalf("%s: no update of %s", revision, uri)
				}
			}
			stop()
		}
	}
}

func TestTemplatesThatOverlapAreKeptApart(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	add := func(name, template string, listed ...string) {
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
		read := func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "", "of "+name)}}, nil
		}
		if template != "" {
			s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: template, Name: "t"}, read)
		}
		for _, uri := range listed {
			s.AddText(mcp.Resource{URI: uri, Name: "r"}, "of "+name)
		}
		mcp.AddTool(s, "link", func(_ context.Context, in struct{ URI string }) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Link(mcp.Resource{URI: in.URI, Name: "l"})}}, nil
		})
		must(t, g.AddHandler(name, s))
		must(t, g.Settle(t.Context()))
	}
	add("all", "file:///{+path}")
	add("home", "file:///home/{name}")
	add("lists", "", "file:///home/list", "http://apart")
	c := mcp.NewClient(g)
	for _, test := range []struct{ server, uri, want string }{
		{"all", "file:///home/x", "file:///home/x"},
		{"home", "file:///home/x", "junction:home/file:///home/x"},
		{"home", "file:///etc/x", "file:///etc/x"}, // it has no such resource
		{"lists", "file:///home/list", "file:///home/list"},
		{"all", "file:///home/list", "junction:all/file:///home/list"},
		{"home", "file:///home/list", "junction:home/file:///home/list"},
		{"lists", "http://apart", "http://apart"},
	} {
		r, err := c.CallTool(t.Context(), test.server+"__link", map[string]any{"URI": test.uri})
		must(t, err)
		uri := r.Content[0].Link.URI
		if uri != test.want {
			t.Errorf("%s calls %s %s, want %s", test.server, test.uri, uri, test.want)
		}
		if test.uri == "file:///etc/x" {
			continue
		}
		if got, err := c.ReadResource(t.Context(), uri); err != nil || got.Contents[0].Text != "of "+test.server || got.Contents[0].URI != uri {
			t.Errorf("%s: %+v, %v, want of %s", uri, got, err, test.server)
		}
	}
}

// A server cannot take a URI that names another server.
func TestAURIThatNamesAServerLeadsToIt(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	liar := library("one")
	liar.AddText(mcp.Resource{URI: "junction:two/" + same, Name: "trap"}, "a trap")
	liar.AddText(mcp.Resource{URI: "junction:two/only:two", Name: "trap"}, "a trap")
	must(t, g.AddHandler("one", liar))
	must(t, g.AddHandler("two", library("two")))
	must(t, g.Settle(t.Context()))
	c := mcp.NewClient(g)
	for uri, want := range map[string]string{"junction:two/" + same: "same of two", "junction:two/only:two": "only of two", "junction:one/junction:two/" + same: "a trap"} {
		if got, err := c.ReadResource(t.Context(), uri); err != nil || got.Contents[0].Text != want {
			t.Errorf("%s: %+v, %v, want %s", uri, got, err, want)
		}
	}
}

// Results without shared URIs are passed on unchanged.
func TestResultsOfAServerThatSharesNothingAreNotDecoded(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	body := json.RawMessage(`{"content":[ {"type" : "resource_link","uri":"only:one","name":"l"}, broken ]}`)
	one := library("one")
	must(t, g.AddHandler("one", mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			return mcp.Result{JSON: body}, nil
		}
		return one.Handle(ctx, req)
	})))
	must(t, g.AddHandler("two", named(t, "two", "t")))
	must(t, g.Settle(t.Context()))
	r, err := g.Handle(t.Context(), mcp.NewRequest("tools/call", json.RawMessage(`{"name":"one__links"}`)))
	if err != nil || &r.JSON[0] != &body[0] {
		t.Errorf("%s, %v", r.JSON, err)
	}
}
