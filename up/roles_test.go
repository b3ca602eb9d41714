package up

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// withRoles returns a gateway of the servers a and b, with the tools read, write and ui, prompts and
// a resource.
func withRoles(t *testing.T, dir, junction string) (*Gateway, *Plan) {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	plan := &Plan{Settings: parsed(t, junction)}
	plan.Settings.Locate(dir)
	for _, name := range []string{"a", "b"} {
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Instructions: "about " + name, Logger: silent})
		for _, tool := range []string{"read", "write"} {
			mcp.AddTool(s, tool, func(context.Context, struct{}) (string, error) { return name + " " + tool, nil })
		}
		mcp.AddPrompt(s, "ask", func(context.Context, struct{}) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{}}, nil
		})
		s.AddResource(mcp.Resource{URI: "x:" + name, Name: name}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x:" + name, Text: name}}}, nil
		})
		plan.Servers = append(plan.Servers, InProcess(name, s))
	}
	g, err := New(plan, Options{Layers: layer.Options{Logger: silent, Authorizes: true, Authenticates: true, Place: place.Place{Dir: dir}}, Gateway: gateway.Options{Logger: silent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	g.Start(t.Context())
	return g, plan
}

// as sends a request of a user of groups, and returns the JSON of its result, or the error.
func as(h mcp.Handler, user, method, params string) string {
	name, groups, _ := strings.Cut(user, " ")
	req := mcp.NewRequest(method, json.RawMessage(params))
	req.Principal = &mcp.Principal{Issuer: "https://login.example", Subject: name, Groups: strings.Fields(groups)}
	result, err := h.Handle(context.Background(), req)
	if err != nil {
		return err.Error()
	}
	body, err := result.Encoded()
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// seen returns which of the tools, prompts and resources a user sees and may use.
func seen(t *testing.T, h mcp.Handler, user string) (names []string) {
	t.Helper()
	tools, prompts, resources := as(h, user, "tools/list", `{}`), as(h, user, "prompts/list", `{}`), as(h, user, "resources/list", `{}`)
	for _, server := range []string{"a", "b"} {
		for _, one := range []struct{ list, name, method, params string }{
			{tools, server + "__read", "tools/call", `{"name":"` + server + `__read","arguments":{}}`},
			{tools, server + "__write", "tools/call", `{"name":"` + server + `__write","arguments":{}}`},
			{prompts, server + "__ask", "prompts/get", `{"name":"` + server + `__ask","arguments":{}}`},
			{resources, "x:" + server, "resources/read", `{"uri":"x:` + server + `"}`},
		} {
			listed := strings.Contains(one.list, `"`+one.name+`"`)
			got := as(h, user, one.method, one.params)
			used := !strings.Contains(got, "unknown") && !strings.Contains(got, "not found") && !strings.Contains(got, "no role") && !strings.Contains(got, "none of your roles")
			if listed != used {
				t.Errorf("%s sees %s: %t, and uses it: %t (%s)", user, one.name, listed, used, got)
			}
			if listed {
				names = append(names, one.name)
			}
		}
	}
	return names
}

const someRoles = `{
	"tools": "all",
	"profiles": {"reading": {"only": ["*__read"], "hide": ["prompt:*", "resource:*"]}, "b": {"servers": ["b"]}},
	"roles": {
		"admin": {"who": ["user:root"]},
		"reader": {"who": ["group:eng"], "profiles": ["reading"]},
		"b": {"who": ["user:ben"], "tools": ["b__*", "resource:x:b"]}}}`

func TestRolesSelectWhatCallersSeeAndUse(t *testing.T) {
	g, _ := withRoles(t, t.TempDir(), someRoles)
	all := []string{"a__read", "a__write", "a__ask", "x:a", "b__read", "b__write", "b__ask", "x:b"}
	for _, tt := range []struct {
		profile, user string
		want          []string
	}{
		{"", "root", all},
		{"", "ann eng", []string{"a__read", "b__read"}},
		{"", "ben", []string{"b__read", "b__write", "x:b"}},
		{"", "ben eng", []string{"a__read", "b__read", "b__write", "x:b"}},
		{"", "ann", nil},
		{"", "eve ops", nil},
		{"reading", "root", []string{"a__read", "b__read"}},
		{"reading", "ann eng", []string{"a__read", "b__read"}},
		{"reading", "ben", []string{"b__read"}},
		{"b", "ann eng", nil},
		{"b", "ben", []string{"b__read", "b__write", "x:b"}},
	} {
		h := mcp.Handler(g)
		if tt.profile != "" {
			h = g.Profile(tt.profile)
		}
		if got := seen(t, h, tt.user); !slices.Equal(got, tt.want) {
			t.Errorf("at %q %s sees %q, want %q", tt.profile, tt.user, got, tt.want)
		}
	}
	for user, want := range map[string]string{"root": "about a", "ben": "about b", "eve": "you have no role here, and may use nothing: ask the operator of this gateway to put you into one; you are user:eve"} {
		got := as(g, user, "server/discover", `{}`)
		if !strings.Contains(got, want) || user == "ben" && strings.Contains(got, "about a") {
			t.Errorf("%s discovers %s", user, got)
		}
	}
	if got := as(g.Profile("b"), "ann eng", "tools/list", `{}`); !strings.Contains(got, `the profile "b" is in none of your roles (reader)`) {
		t.Errorf("got %s", got)
	}
	if got := as(g, "ben", "tools/call", `{"name":"a__read"}`); !strings.HasPrefix(got, `unknown tool "a__read"; `) || !strings.Contains(got, "your roles: b") {
		t.Errorf("got %s", got)
	}
	if got := as(g, "", "tools/list", `{}`); !strings.Contains(got, "no role") {
		t.Errorf("got %s", got)
	}
	req := mcp.NewRequest("tools/list", nil)
	if _, err := g.Handle(t.Context(), req); err == nil || !strings.Contains(err.Error(), "not authenticated") {
		t.Errorf("a client that is not authenticated gets %v", err)
	}
	req.Principal = &mcp.Principal{Subject: "root"}
	if result, err := g.Handle(t.Context(), req); err != nil || result.Scope != mcp.CachePrivate {
		t.Errorf("the list is in caches: %q, %v", result.Scope, err)
	}
}

// TestRulesOfAProfileHoldForItsRole is about the whole gateway, where a caller could get around
// them.
func TestRulesOfAProfileHoldForItsRole(t *testing.T) {
	dir := t.TempDir()
	for name, rules := range map[string]string{"profile.json": `{"default": "allow", "rules": [{"effect": "deny", "tool": "write", "when": "profile == 'p'", "reason": "only read there"}, {"effect": "deny", "server": "b"}]}`, "all.json": `{"default": "allow", "rules": []}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := withRoles(t, dir, `{"tools": "all", "policy": "all.json", "profiles": {"p": {"policy": "profile.json"}}, "roles": {"in": {"who": ["user:ann"], "profiles": ["p"]}, "all": {"who": ["user:root"]}}}`)
	for _, tt := range []struct{ user, tool, want string }{
		{"ann", "a__read", "a read"},
		{"ann", "a__write", "only read there"},
		{"ann", "b__read", `not allowed: the rule deny server`},
		{"root", "a__write", "a write"},
		{"root", "b__read", "b read"},
	} {
		got := as(g, tt.user, "tools/call", `{"name":"`+tt.tool+`","arguments":{}}`)
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s of %s: %s", tt.tool, tt.user, got)
		}
	}
	if got := as(g, "ann", "tools/list", `{}`); strings.Contains(got, "b__read") || !strings.Contains(got, "a__write") {
		t.Errorf("ann sees %s", got)
	}
}

func TestRatesOfRolesCountForEachCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, plan := withRoles(t, t.TempDir(), `{"tools": "all", "limits": {"rate": "2/h"}, "roles": {
			"slow": {"who": ["group:slow"], "rate": "3/h"}, "fast": {"who": ["group:fast"], "rate": "5/h"},
			"usual": {"who": ["user:ann", "user:eve"]}, "little": {"who": ["group:little"], "rate": "9/h", "budget": "1KB/h"}}}`)
		calls := func(user string) (n int) {
			for range 10 {
				if !strings.Contains(as(g, user, "tools/call", `{"name":"a__read","arguments":{}}`), "too many calls") {
					n++
				}
			}
			return n
		}
		for _, tt := range []struct {
			user string
			want int
		}{{"ben slow", 3}, {"joe slow", 3}, {"cat fast", 5}, {"dan slow fast", 5}, {"ann", 2}, {"ann", 0}, {"eve fast", 5}} {
			if got := calls(tt.user); got != tt.want {
				t.Errorf("%s calls %d times, want %d", tt.user, got, tt.want)
			}
		}
		if got := as(g, "kim little", "tools/call", `{"name":"a__read","arguments":{}}`); !strings.Contains(got, "a read") {
			t.Errorf("got %s", got)
		}
		// Counts survive a reload that leaves the rate.
		next := *plan
		changed := *plan.Settings
		changed.Pin = []string{"a__read"}
		next.Settings = &changed
		if _, err := g.Apply(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
		if got := calls("ben slow"); got != 0 {
			t.Errorf("after a reload ben calls %d times", got)
		}
		time.Sleep(time.Hour)
		if got := calls("ben slow"); got != 3 {
			t.Errorf("an hour later ben calls %d times", got)
		}
	})
}

// TestRolesChangeWhileCallsRun checks that each call is decided by one of the two settings.
func TestRolesChangeWhileCallsRun(t *testing.T) {
	dir := t.TempDir()
	g, plan := withRoles(t, dir, someRoles)
	other := *plan
	other.Settings = parsed(t, strings.Replace(someRoles, "user:ben", "user:joe", 1))
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	faults := make(chan string, 10)
	for _, user := range []string{"ben", "joe", "ann eng", "eve"} {
		callers.Go(func() {
			for ctx.Err() == nil {
				got := as(g, user, "tools/call", `{"name":"b__write","arguments":{}}`)
				may, is := user == "ben" || user == "joe", strings.Contains(got, "b write")
				if is && !may || !is && !strings.Contains(got, "no role") && !strings.Contains(got, "your roles: reader") {
					select {
					case faults <- user + ": " + got:
					default:
					}
				}
			}
		})
	}
	for i := range 50 {
		next := plan
		if i%2 == 0 {
			next = &other
		}
		if _, err := g.Apply(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		for user, may := range map[string]bool{"ben": i%2 == 1, "joe": i%2 == 0} {
			if got := as(g, user, "tools/call", `{"name":"b__write","arguments":{}}`); strings.Contains(got, "b write") != may {
				t.Fatalf("after change %d %s gets %s", i, user, got)
			}
		}
	}
	cancel()
	callers.Wait()
	close(faults)
	for fault := range faults {
		t.Error(fault)
	}
}

// TestSearchFindsOnlyWhatRolesOffer also covers descriptions of other tools.
func TestSearchFindsOnlyWhatRolesOffer(t *testing.T) {
	g, _ := withRoles(t, t.TempDir(), strings.Replace(someRoles, `"tools": "all"`, `"tools": "search"`, 1))
	for _, request := range []string{`{"name":"search_tools","arguments":{"queries":["read"]}}`, `{"name":"call_tool","arguments":{"name":"a__read"}}`, `{"name":"describe_tool","arguments":{"name":"a__read"}}`} {
		if got := as(g, "eve", "tools/call", request); !strings.Contains(got, "no role") {
			t.Errorf("eve gets %s", got)
		}
	}
	for user, want := range map[string][]string{"root": {"a__read", "a__write", "b__read", "b__write"}, "ann eng": {"a__read", "b__read"}, "ben": {"b__read", "b__write"}} {
		found := as(g, user, "tools/call", `{"name":"search_tools","arguments":{"queries":["read","write"]}}`)
		for _, tool := range []string{"a__read", "a__write", "b__read", "b__write"} {
			may := slices.Contains(want, tool)
			if strings.Contains(found, tool) != may {
				t.Errorf("%s finds %s: %t", user, tool, !may)
			}
			described := as(g, user, "tools/call", fmt.Sprintf(`{"name":"describe_tool","arguments":{"name":%q}}`, tool))
			called := as(g, user, "tools/call", fmt.Sprintf(`{"name":"call_tool","arguments":{"name":%q,"arguments":{}}}`, tool))
			if strings.Contains(described, "inputSchema") != may || strings.Contains(called, strings.Replace(tool, "__", " ", 1)) != may {
				t.Errorf("%s uses %s: %s, %s", user, tool, described, called)
			}
		}
	}
}

// acknowledged is a peer that reports its first notification.
type acknowledged struct {
	mcp.NoPeer
	first chan struct{}
	once  sync.Once
}

func (p *acknowledged) Notify(context.Context, string, json.RawMessage) error {
	p.once.Do(func() { close(p.first) })
	return nil
}

// TestSubscriptionsEndWhenRolesChange checks that a caller without a role hears of nothing any more.
func TestSubscriptionsEndWhenRolesChange(t *testing.T) {
	for _, before := range []string{someRoles, `{"tools": "all"}`} {
		synctest.Test(t, func(t *testing.T) {
			g, plan := withRoles(t, t.TempDir(), before)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			p := &acknowledged{first: make(chan struct{})}
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:b"]}}`))
			req.Peer, req.Principal = p, &mcp.Principal{Issuer: "https://login.example", Subject: "ben"}
			go func() {
				_, err := g.Handle(ctx, req)
				ended <- err
			}()
			<-p.first
			next := *plan
			changed := *plan.Settings
			changed.Pin = []string{"a__read"}
			next.Settings = &changed
			if _, err := g.Apply(t.Context(), &next); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case err := <-ended:
				t.Fatalf("it ends with another change: %v", err)
			default:
			}
			other := *plan
			other.Settings = parsed(t, strings.Replace(someRoles, "user:ben", "user:joe", 1))
			if _, err := g.Apply(t.Context(), &other); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// A relister lists the tools at each notification, as clients do.
type relister struct {
	mcp.NoPeer
	lists func(method string)
}

func (p relister) Notify(_ context.Context, method string, _ json.RawMessage) error {
	p.lists(method)
	return nil
}

// TestClientsThatRelistGetTheListsOfNewRoles lets the new plan take time to be in use.
func TestClientsThatRelistGetTheListsOfNewRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const roles = `{"tools": "all", "roles": {"r": {"who": ["user:ben"], "tools": ["a__r*"]}}}`
		g, plan := withRoles(t, t.TempDir(), roles)
		var lists []string
		req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
		req.Principal = &mcp.Principal{Issuer: "https://login.example", Subject: "ben"}
		req.Peer = relister{lists: func(method string) {
			if method == "notifications/tools/list_changed" {
				lists = append(lists, as(g, "ben", "tools/list", `{}`))
			}
		}}
		ended := make(chan error, 1)
		go func() {
			_, err := g.Handle(t.Context(), req)
			ended <- err
		}()
		synctest.Wait()
		next := *plan
		next.Settings, next.Servers = parsed(t, strings.Replace(roles, "a__r*", "a__*", 1)), nil
		next.Admit = func(context.Context) []Server {
			time.Sleep(time.Second)
			return plan.Servers
		}
		if _, err := g.Apply(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(lists) == 0 || !strings.Contains(lists[len(lists)-1], `"a__write"`) {
			t.Errorf("after its last notification a client lists %q", lists)
		}
	})
}
