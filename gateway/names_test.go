package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// named returns a server whose tools and prompts have these names, and return them when they are
// called.
func named(t *testing.T, server string, names ...string) *mcp.Server {
	t.Helper()
	s := mcp.NewServerWith(server, "1", mcp.ServerOptions{Logger: quiet})
	for _, name := range names {
		mcp.AddTool(s, name, func(context.Context, struct{}) (string, error) { return server + ":" + name, nil })
		s.AddPrompt(mcp.Prompt{Name: name}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(server + ":" + name)}}}, nil
		})
	}
	return s
}

// usable matches the names that models accept.
var usable = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// offeredNames calls every tool and gets every prompt, and returns the names under which they are
// offered.
func offeredNames(t *testing.T, g *gateway.Gateway) map[string]string {
	t.Helper()
	c := mcp.NewClientWith(g, mcp.ClientOptions{NoCache: true})
	byName := map[string]string{}
	for _, name := range toolNames(t, g) {
		if !usable.MatchString(name) {
			t.Errorf("the name %q cannot be used", name)
		}
		said, err := mcp.Call[string](t.Context(), c, name, nil)
		must(t, err)
		if byName[said] != "" {
			t.Errorf("%s is offered as %q and %q", said, byName[said], name)
		}
		byName[said] = name
		p, err := c.GetPrompt(t.Context(), name, nil)
		must(t, err)
		if p.Messages[0].Content.Text != said {
			t.Errorf("the prompt %q is of %s, the tool of %s", name, p.Messages[0].Content.Text, said)
		}
	}
	return byName
}

func TestNoToolIsLostByItsName(t *testing.T) {
	long := strings.Repeat("a_very_long_name_", 5)
	for _, tt := range []struct {
		what    string
		servers []string            // are in the order of the configuration
		tools   map[string][]string // those of each server
		plain   []string            // keep their names; each is server:tool
		renamed int
	}{
		{"two servers with one prefix", []string{"my-server", "my server"}, map[string][]string{"my-server": {"x"}, "my server": {"x"}}, []string{"my-server:x"}, 0},
		{"the other way round", []string{"my server", "my-server"}, map[string][]string{"my-server": {"x"}, "my server": {"x"}}, []string{"my server:x"}, 0},
		{"names that meet behind the prefix", []string{"a", "a__b"}, map[string][]string{"a": {"b__x", "y"}, "a__b": {"x", "y"}}, []string{"a:b__x", "a:y", "a__b:y"}, 1},
		{"and the other way round", []string{"a__b", "a"}, map[string][]string{"a": {"b__x", "y"}, "a__b": {"x", "y"}}, []string{"a__b:x", "a:y", "a__b:y"}, 1},
		{"letters beyond ASCII", []string{"café", "cafè", "日本", "中国"}, map[string][]string{"café": {"x"}, "cafè": {"x"}, "日本": {"x"}, "中国": {"x"}}, nil, 0},
		{"long names that begin alike", []string{"s"}, map[string][]string{"s": {long + "1", long + "2"}}, nil, 2},
		{"names that models cannot use", []string{"s"}, map[string][]string{"s": {"a.b", "a/b", "a-b"}}, []string{"s:a-b"}, 2},
		{"a long name of a server", []string{strings.Repeat("n", 64)}, map[string][]string{strings.Repeat("n", 64): {"a", "b"}}, nil, 2},
	} {
		t.Run(tt.what, func(t *testing.T) {
			var first map[string]string
			orders := [][]string{tt.servers, slices.Clone(tt.servers)}
			slices.Reverse(orders[1])
			for _, order := range orders { // in which they are connected
				synctest.Test(t, func(t *testing.T) {
					g := gateway.New(gateway.Options{Logger: quiet, FirstList: time.Hour})
					defer g.Close()
					total := 0
					for _, name := range tt.servers {
						total += len(tt.tools[name])
						must(t, add(g, name, func(ctx context.Context) (*mcp.Client, error) {
							time.Sleep(time.Duration(slices.Index(order, name)) * time.Minute)
							return mcp.NewClient(named(t, name, tt.tools[name]...)), nil
						}))
					}
					must(t, g.Settle(t.Context()))
					offered := offeredNames(t, g)
					if len(offered) != total {
						t.Errorf("%d of %d are offered: %v", len(offered), total, offered)
					}
					for _, tool := range tt.plain {
						server, name, _ := strings.Cut(tool, ":")
						if want := strings.ReplaceAll(server, " ", "-") + "__" + name; offered[tool] != want {
							t.Errorf("%s is offered as %q, want %q", tool, offered[tool], want)
						}
					}
					if first == nil {
						first = offered
					}
					if fmt.Sprint(first) != fmt.Sprint(offered) {
						t.Errorf("names depend on the order of connecting:\n%v\n%v", first, offered)
					}
					renamed := 0
					for _, s := range g.Status() {
						renamed += len(s.Renamed)
					}
					if renamed != 2*tt.renamed { // tools and prompts
						t.Errorf("%d names are said to be changed, want %d: %+v", renamed, 2*tt.renamed, g.Status())
					}
				})
			}
		})
	}
}

func TestANameNeverPassesFromOneToolToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, add(g, "a", func(context.Context) (*mcp.Client, error) {
			time.Sleep(time.Hour)
			return mcp.NewClient(named(t, "a", "b__x")), nil
		}))
		must(t, add(g, "a__b", func(context.Context) (*mcp.Client, error) {
			return mcp.NewClient(named(t, "a__b", "x", "y")), nil
		}))
		before := offeredNames(t, g)
		if before["a__b:x"] == "a__b__x" {
			t.Errorf("offered are %v", before)
		}
		time.Sleep(2 * time.Hour)
		after := offeredNames(t, g)
		if after["a:b__x"] != "a__b__x" || after["a__b:x"] != before["a__b:x"] || after["a__b:y"] != "a__b__y" {
			t.Errorf("offered are %v, before %v", after, before)
		}
		if said, err := callTool(t.Context(), g, before["a__b:y"]); err == nil || before["a__b:y"] == "a__b__y" {
			t.Errorf("under its name of before, which is no longer listed: %q", said)
		}
	})
}

func TestUnknownURIsAreSentToNoServer(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	asked := map[string]int{}
	for _, name := range []string{"one", "two"} {
		s := member(t, name)
		must(t, g.AddHandler(name, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "resources/read" {
				asked[name]++
			}
			return s.Handle(ctx, req)
		})))
	}
	must(t, g.Settle(t.Context()))
	c := mcp.NewClient(g)
	_, err := c.ReadResource(t.Context(), "secret://capability/123")
	var fault *mcp.Error
	if !errors.As(err, &fault) || fault.Code != mcp.CodeInvalidParams || string(fault.Data) != `{"uri":"secret://capability/123"}` {
		t.Errorf("the error is %v", err)
	}
	if r, err := c.ReadResource(t.Context(), "test://two/item/7"); err != nil || r.Contents[0].Text != "two item 7" {
		t.Errorf("of a template: %+v, %v", r, err)
	}
	if fmt.Sprint(asked) != "map[two:1]" {
		t.Errorf("asked were %v", asked)
	}
}

func TestAnUnknownToolsErrorNamesTheOneThatWasMeant(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("one", member(t, "one")))
	must(t, g.Settle(t.Context()))
	for name, want := range map[string]string{
		"who":      `unknown tool "who"; did you mean "one__who"?`,
		"onne_who": `unknown tool "onne_who"; did you mean "one__who"?`,
		"nothing":  `unknown tool "nothing"; tools/list names those that exist`,
	} {
		if _, err := callTool(t.Context(), g, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", name, err, want)
		}
	}
}

func TestWithoutPrefixANameThatModelsCannotBeGivenGetsASuffix(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, own := range []bool{false, true} {
		g := gateway.New(gateway.Options{Logger: quiet, NoPrefix: true})
		defer g.Close()
		must(t, g.AddHandler("a", named(t, "a", "fits", "notes.read", "a/size", long)))
		must(t, g.Settle(t.Context()))
		want := []string{"a-size_9adbcd98", "fits", "notes-read_9b43b31c", long[:55] + "_668941a1"}
		var h mcp.Handler = g
		if own {
			h = g.Server("a")
			want = []string{"a/size", "fits", "notes.read", long}
		}
		if got := names(t, h); !slices.Equal(got, want) {
			t.Errorf("own names %t: offered are %q, want %q", own, got, want)
		}
		c := mcp.NewClient(h)
		for _, name := range want {
			if got, err := mcp.Call[string](t.Context(), c, name, nil); err != nil || !strings.HasPrefix(got, "a:") {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if _, err := c.GetPrompt(t.Context(), name, nil); err != nil {
				t.Errorf("the prompt %s: %v", name, err)
			}
		}
		if got, want := len(g.Status()[0].Renamed), 6; got != want {
			t.Errorf("%d names are said to be others, want %d", got, want)
		}
	}
}

func TestOtherRulesForNamesHoldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("a", named(t, "a", "read")))
		must(t, g.AddHandler("b", named(t, "b", "read", "write")))
		must(t, g.Settle(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		heard := map[string]int{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = mcp.NewClient(g).Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true}, func(n mcp.Notification) { heard[n.Method]++ })
		}()
		synctest.Wait()
		for n, step := range []struct {
			noPrefix  bool
			conflicts gateway.Conflicts
			want      []string
		}{
			{true, gateway.Suffix, []string{"read", "read_9df43d8e", "write"}},
			{true, gateway.First, []string{"read", "write"}},
			{true, gateway.Refuse, []string{"write"}},
			{false, gateway.Refuse, []string{"a__read", "b__read", "b__write"}},
		} {
			for range 2 { // the second call changes nothing
				g.SetNames(step.noPrefix, step.conflicts)
				synctest.Wait()
			}
			if got := names(t, g); !slices.Equal(got, step.want) {
				t.Errorf("step %d: offered are %q, want %q", n, got, step.want)
			}
			offeredNames(t, g) // all can be called
			if want := n + 1; heard["notifications/tools/list_changed"] != want || heard["notifications/prompts/list_changed"] != want {
				t.Errorf("step %d: clients heard %v", n, heard)
			}
		}
		cancel()
		<-ended
	})
}

func TestPromptsHaveNamesOfTheirOwn(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.Add("a", gateway.Upstream{Handler: named(t, "a", "x"), Names: map[string]string{"x": "tool"}, PromptNames: map[string]string{"x": "prompt"}}))
	must(t, g.Settle(t.Context()))
	c := mcp.NewClient(g)
	if got, err := mcp.Call[string](t.Context(), c, "tool", nil); err != nil || got != "a:x" {
		t.Errorf("the tool: %q, %v", got, err)
	}
	if p, err := c.GetPrompt(t.Context(), "prompt", nil); err != nil || p.Messages[0].Content.Text != "a:x" {
		t.Errorf("the prompt: %+v, %v", p, err)
	}
	for _, name := range []string{"tool", "a__x", "x"} {
		if _, err := c.GetPrompt(t.Context(), name, nil); err == nil {
			t.Errorf("the prompt is %q, too", name)
		}
	}
}

func TestServersWithRefusedNamesAreReported(t *testing.T) {
	g := gateway.New(gateway.Options{NoPrefix: true, Conflicts: gateway.Refuse, Logger: quiet})
	defer g.Close()
	for _, name := range []string{"a", "b", "c"} {
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
		mcp.AddTool(s, "read", func(context.Context, struct{}) (string, error) { return name, nil })
		mcp.AddTool(s, "own-"+name, func(context.Context, struct{}) (string, error) { return name, nil })
		must(t, g.AddHandler(name, s))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, g.Settle(ctx))
	for _, s := range g.Status() {
		if s.Tools != 2 || s.Omitted != 1 || len(s.Renamed) != 1 || s.Renamed[0] != `tool "read" is omitted: servers "a", "b" and "c" all have it` {
			t.Errorf("%s: %d tools, %d omitted, %q", s.Name, s.Tools, s.Omitted, s.Renamed)
		}
	}
}
