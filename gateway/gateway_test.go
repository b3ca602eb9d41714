package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// member returns a server with one of everything, whose results contain its name.
func member(t *testing.T, name string) *mcp.Server {
	t.Helper()
	s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Instructions: "I am " + name, Logger: quiet})
	mcp.AddTool(s, "who", func(context.Context, struct{}) (string, error) { return name, nil })
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcp.Elicit[struct {
			Word string `json:"word"`
		}](ctx, "a word for "+name)
		return name + " heard " + answer.Word, err
	})
	uri := "test://" + name + "/text"
	s.AddText(mcp.Resource{URI: uri, Name: "text"}, "text of "+name)
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://" + name + "/item/{id}", Name: "item"},
		func(_ context.Context, uri string, v map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "", name+" item "+v["id"])}}, nil
		})
	s.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "name"}}}, func(_ context.Context, a map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(name + " greets " + a["name"])}}}, nil
	})
	s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "greet"}, func(context.Context, mcp.CompletionRequest) (*mcp.Completion, error) {
		return &mcp.Completion{Values: []string{"friend of " + name}}, nil
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open puts two servers of both eras and a failed one behind a gateway.
func open(t *testing.T) (*gateway.Gateway, map[string]*mcp.Server) {
	t.Helper()
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	servers := map[string]*mcp.Server{"old": member(t, "old"), "new": member(t, "new"), "inside": member(t, "inside")}
	for name, revision := range map[string]string{"old": "2025-06-18", "new": "2026-07-28"} {
		must(t, add(g, name, func(ctx context.Context) (*mcp.Client, error) {
			return mcp.DialWith(ctx, stream.Pipe(servers[name]), mcp.ClientOptions{Name: name, Revision: revision, Bridge: true, Logger: quiet})
		}))
	}
	must(t, g.AddHandler("inside", servers["inside"]))
	must(t, add(g, "failed", func(context.Context) (*mcp.Client, error) { return nil, errors.New("no such program") }))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, g.Settle(ctx))
	return g, servers
}

func TestEverythingOfAllMembersIsOfferedAndRouted(t *testing.T) {
	g, _ := open(t)
	for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} {
		t.Run("to a client of "+revision, func(t *testing.T) {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet,
				OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"word":"yes"}`)}, nil
				}})

			must(t, err)
			defer c.Close()
			checkOffer(t, c)
			for _, name := range []string{"old", "new", "inside"} {
				checkMember(t, c, name)
			}
			if _, err := c.CallTool(t.Context(), "failed__who", nil); err == nil || !strings.Contains(err.Error(), `server "failed" is not connected`) || !strings.Contains(err.Error(), "no such program") {
				t.Errorf("a call to a failed server: %v", err)
			}
			var fault *mcp.Error
			if _, err := c.CallTool(t.Context(), "nobody__who", nil); !errors.As(err, &fault) || fault.Code != mcp.CodeInvalidParams {
				t.Errorf("a call to nobody: %v", err)
			}
		})
	}
}

func checkOffer(t *testing.T, c *mcp.Client) {
	t.Helper()
	var tools, resources, prompts []string
	for tool, err := range c.Tools(t.Context()) {
		must(t, err)
		tools = append(tools, tool.Name)
	}
	for r, err := range c.Resources(t.Context()) {
		must(t, err)
		resources = append(resources, r.URI)
	}
	for p, err := range c.Prompts(t.Context()) {
		must(t, err)
		prompts = append(prompts, p.Name)
	}
	slices.Sort(tools)
	slices.Sort(resources)
	slices.Sort(prompts)
	if got, want := fmt.Sprint(tools), "[inside__ask inside__who new__ask new__who old__ask old__who]"; got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(resources), "[test://inside/text test://new/text test://old/text]"; got != want {
		t.Errorf("resources %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(prompts), "[inside__greet new__greet old__greet]"; got != want {
		t.Errorf("prompts %s, want %s", got, want)
	}
	if !strings.Contains(c.Instructions(), "I am old") || !strings.Contains(c.Instructions(), "I am inside") {
		t.Errorf("instructions %q", c.Instructions())
	}
}

func checkMember(t *testing.T, c *mcp.Client, name string) {
	t.Helper()
	ctx := t.Context()
	if who, err := mcp.Call[string](ctx, c, name+"__who", nil); err != nil || who != name {
		t.Errorf("%s: who: %q, %v", name, who, err)
	}
	if c.Revision() != "2025-03-26" {
		if heard, err := mcp.Call[string](ctx, c, name+"__ask", nil); err != nil || heard != name+" heard yes" {
			t.Errorf("%s: ask: %q, %v", name, heard, err)
		}
	}
	for uri, want := range map[string]string{"test://" + name + "/text": "text of " + name, "test://" + name + "/item/7": name + " item 7"} {
		if r, err := c.ReadResource(ctx, uri); err != nil || r.Contents[0].Text != want {
			t.Errorf("%s: %s: %+v, %v", name, uri, r, err)
		}
	}
	if p, err := c.GetPrompt(ctx, name+"__greet", map[string]string{"name": "Ada"}); err != nil || p.Messages[0].Content.Text != name+" greets Ada" {
		t.Errorf("%s: prompt: %+v, %v", name, p, err)
	}
	completion, err := c.Complete(ctx, mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefPrompt, Name: name + "__greet"}, Argument: mcp.CompletionArgument{Name: "name", Value: "f"}})
	if err != nil || fmt.Sprint(completion.Values) != "[friend of "+name+"]" {
		t.Errorf("%s: completion: %+v, %v", name, completion, err)
	}
}

func TestAChangeOfOneMemberReachesClientsWithTheNewList(t *testing.T) {
	g, servers := open(t)
	c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Logger: quiet})
	must(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	added := false
	for tools, err := range c.WatchTools(ctx) {
		must(t, err)
		if slices.ContainsFunc(tools, func(tool *mcp.Tool) bool { return tool.Name == "old__late" }) {
			return
		}
		if !added {
			added = true
			mcp.AddTool(servers["old"], "late", func(context.Context, struct{}) (string, error) { return "", nil })
		}
	}
	t.Error("the new tool never came")
}

func TestUpdatesReachSubscribers(t *testing.T) {
	g, servers := open(t)
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet})
		must(t, err)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for _, name := range []string{"old", "new", "inside"} {
			uri := "test://" + name + "/text"
			listening, stop := context.WithCancel(ctx)
			got := make(chan string, 1)
			ready := make(chan mcp.SubscriptionFilter, 1)
			go c.ListenWith(listening, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}},
				func(n mcp.Notification) {
					select {
					case got <- n.URI:
					default:
					}
				}, func(f mcp.SubscriptionFilter) { ready <- f })

			select {
			case f := <-ready:
				if len(f.ResourceSubscriptions) != 1 {
					t.Errorf("%s: %s: agreed to %v", revision, name, f)
				}
			case <-ctx.Done():
				t.Fatalf("%s: %s: no acknowledgement", revision, name)
			}
			servers[name].ResourceUpdated(uri)
			select {
			case u := <-got:
				if u != uri {
					t.Errorf("%s: %s: update of %s", revision, name, u)
				}
			case <-ctx.Done():
				t.Errorf("%s: %s: no update", revision, name)
			}
			stop()
		}
	}
}

func TestACallWaitsForAMemberThatIsConnectingForTheFirstTime(t *testing.T) {
	for what, ask := range map[string]func(ctx context.Context, c *mcp.Client) error{
		"a tool": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.CallTool(ctx, "late__who", nil)
			return err
		},
		"a resource": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.ReadResource(ctx, "test://late/text")
			return err
		},
		"a completion": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.Complete(ctx, mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefPrompt, Name: "late__greet"}, Argument: mcp.CompletionArgument{Name: "name"}})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				server := member(t, "late")
				must(t, add(g, "late", func(ctx context.Context) (*mcp.Client, error) {
					time.Sleep(5 * time.Second)
					return mcp.NewClient(server), nil
				}))
				began := time.Now()
				if err := ask(t.Context(), mcp.NewClient(g)); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited < 5*time.Second {
					t.Errorf("answered after %v", waited)
				}
			})
		})
	}
}

func TestACallWaitsForAStartNoLongerThanItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, add(g, "never", func(ctx context.Context) (*mcp.Client, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		_, err := g.Handle(ctx, mcp.NewRequest("tools/call", json.RawMessage(`{"name":"never__who"}`)))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `server "never" is not connected yet`) {
			t.Errorf("the error is %v", err)
		}
		if waited := time.Since(began); waited != 40*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestWithoutPrefixNamesStayAndARepeatedOneGetsASuffix(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet, NoPrefix: true})
	defer g.Close()
	must(t, g.AddHandler("first", member(t, "first")))
	other := mcp.NewServerWith("other", "1", mcp.ServerOptions{Logger: quiet})
	mcp.AddTool(other, "more", func(context.Context, struct{}) (string, error) { return "more", nil })
	must(t, g.AddHandler("other", other))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, g.Settle(ctx))
	must(t, add(g, "second", func(context.Context) (*mcp.Client, error) { return mcp.NewClient(member(t, "second")), nil }))
	must(t, g.Settle(ctx))
	c := mcp.NewClient(g)
	for tool, want := range map[string]string{"who": "first", "more": "more"} {
		if got, err := mcp.Call[string](ctx, c, tool, nil); err != nil || got != want {
			t.Errorf("%s: %q, %v", tool, got, err)
		}
	}
	var tools []string
	for tool, err := range c.Tools(ctx) {
		must(t, err)
		tools = append(tools, tool.Name)
	}
	if slices.Sort(tools); !slices.Equal(tools, []string{"ask", "ask_cd24cb3e", "more", "who", "who_7417454b"}) {
		t.Errorf("tools are %q", tools)
	}
	if got, err := mcp.Call[string](ctx, c, "who_7417454b", nil); err != nil || got != "second" {
		t.Errorf("the repeated one: %q, %v", got, err)
	}
	if renamed := g.Status()[2].Renamed; len(renamed) != 3 || !strings.Contains(renamed[0], `server "first" has that name`) {
		t.Errorf("renamed are %q", renamed)
	}
}

func TestAServerOfAGatewayIntroducesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		server := member(t, "one")
		must(t, g.AddHandler("two", member(t, "two")))
		var dials atomic.Int32
		must(t, add(g, "one", func(ctx context.Context) (*mcp.Client, error) {
			if dials.Add(1) == 1 {
				return nil, errors.New("the disk is full")
			}
			return mcp.DialWith(ctx, stream.Pipe(server), mcp.ClientOptions{Name: "one", Logger: quiet})
		}))
		must(t, g.Settle(t.Context()))
		c := mcp.NewClient(g.Server("one"))
		if _, err := c.Do(t.Context(), "server/discover", nil); err == nil || !strings.Contains(err.Error(), `server "one" is not connected: the disk is full`) {
			t.Errorf("before it is connected: %v", err)
		}
		time.Sleep(5 * time.Second) // longer than the first pause
		c = mcp.NewClient(g.Server("one"))
		if s := c.Server(); s == nil || s.Name != "one" || s.Version != "1" || c.Instructions() != "I am one" {
			t.Errorf("introduced as %+v, with instructions %q", s, c.Instructions())
		}
	})
}

func TestHeadersThatRepeatArgumentsAreCheckedHere(t *testing.T) {
	s := mcp.NewServerWith("region", "1", mcp.ServerOptions{Logger: quiet})
	s.AddTool(mcp.Tool{Name: "query", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil })
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, add(g, "far", func(ctx context.Context) (*mcp.Client, error) {
		return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Name: "far", Bridge: true, Logger: quiet})
	}))
	must(t, g.Settle(t.Context()))
	for what, tt := range map[string]struct {
		paramHeaders map[string][]string
		code         int
	}{
		"no headers on this transport": {nil, 0},
		"the same":                     {map[string][]string{"Mcp-Param-Region": {"north"}}, 0},
		"another":                      {map[string][]string{"Mcp-Param-Region": {"south"}}, mcp.CodeHeaderMismatch},
		"none":                         {map[string][]string{}, mcp.CodeHeaderMismatch},
	} {
		t.Run(what, func(t *testing.T) {
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"far__query","arguments":{"region":"north"}}`))
			req.ParamHeaders = tt.paramHeaders
			_, err := g.Handle(t.Context(), req)
			var fault *mcp.Error
			if errors.As(err, &fault); tt.code == 0 && err != nil || tt.code != 0 && (fault == nil || fault.Code != tt.code) {
				t.Errorf("the error is %v, want code %d", err, tt.code)
			}
		})
	}
}

func TestALostMemberIsConnectedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		var dials atomic.Int32
		var first atomic.Pointer[mcp.Client]
		server := member(t, "again")
		must(t, add(g, "again", func(ctx context.Context) (*mcp.Client, error) {
			c, err := mcp.DialWith(ctx, stream.Pipe(server), mcp.ClientOptions{Name: "again", Logger: quiet})
			if dials.Add(1) == 1 {
				first.Store(c)
			}
			return c, err
		}))
		must(t, g.Settle(t.Context()))
		c := mcp.NewClient(g)
		if _, err := c.CallTool(t.Context(), "again__who", nil); err != nil {
			t.Fatal(err)
		}
		first.Load().Close()
		synctest.Wait()
		if s := g.Status()[0]; s.State != gateway.Failed {
			t.Errorf("after the loss it is %v", s.State)
		}
		time.Sleep(5 * time.Second) // longer than the first pause
		if s := g.Status()[0]; dials.Load() != 2 || s.State != gateway.Connected {
			t.Errorf("later it is %v after %d attempts", s.State, dials.Load())
		}
		if who, err := mcp.Call[string](t.Context(), c, "again__who", nil); err != nil || who != "again" {
			t.Errorf("after the loss: %q, %v", who, err)
		}
	})
}

func TestASubscriptionOutlivesTheLossOfItsMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		server := member(t, "again")
		var connected *mcp.Client
		must(t, add(g, "again", func(ctx context.Context) (c *mcp.Client, err error) {
			c, err = mcp.DialWith(ctx, stream.Pipe(server), mcp.ClientOptions{Name: "again", Logger: quiet})
			connected = c
			return c, err
		}))
		must(t, g.Settle(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var updates atomic.Int32
		go mcp.NewClient(g).Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://again/text"}}, func(n mcp.Notification) {
			if n.URI == "test://again/text" {
				updates.Add(1)
			}
		})
		synctest.Wait()
		if n := updates.Load(); n != 1 {
			t.Errorf("%d updates at first, want the one that covers the time until the member listened", n)
		}
		connected.Close()
		time.Sleep(time.Minute)
		if n := updates.Load(); n != 2 {
			t.Errorf("%d updates after the gap, want one more that covers it", n)
		}
		server.ResourceUpdated("test://again/text")
		synctest.Wait()
		if n := updates.Load(); n != 3 {
			t.Errorf("%d updates after a change, want 3", n)
		}
	})
}

// add adds a server without remembered definitions.
func add(g *gateway.Gateway, name string, dial func(context.Context) (*mcp.Client, error)) error {
	return g.Add(name, gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) { return dial(ctx) }})
}
