package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

type nameForm struct {
	Name string `json:"name"`
}

type none struct{}

// bridged returns a server that uses everything that can happen during a call.
func bridged(t *testing.T) (*mcp.Server, *sync.Map) {
	t.Helper()
	s := mcp.NewServer("bridged", "1")
	seen := new(sync.Map)
	mcp.AddTool(s, "add", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
	mcp.AddTool(s, "ask-one", func(ctx context.Context, _ none) (string, error) {
		answer, err := mcp.Elicit[nameForm](ctx, "who?")
		return "hello " + answer.Name, err
	})
	mcp.AddTool(s, "ask-two", func(ctx context.Context, _ none) (string, error) {
		first, err1 := mcp.Elicit[nameForm](ctx, "first?")
		second, err2 := mcp.Elicit[nameForm](ctx, "second?")
		return first.Name + " and " + second.Name, errors.Join(err1, err2)
	})
	mcp.AddTool(s, "ask-again", func(ctx context.Context, _ none) (string, error) {
		first, err := mcp.Elicit[nameForm](ctx, "first?")
		if err != nil {
			return "", err
		}
		second, err := mcp.Elicit[nameForm](ctx, "after "+first.Name+"?")
		return first.Name + " then " + second.Name, err
	})
	mcp.AddTool(s, "sample", func(ctx context.Context, _ none) (string, error) {
		result, err := mcp.Sample(ctx, mcp.CreateMessageRequest{MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("hi")}}}})
		if err != nil {
			return "", err
		}
		return "model said " + result.Content[0].Text, nil
	})
	mcp.AddTool(s, "roots", func(ctx context.Context, _ none) (string, error) {
		roots, err := mcp.Roots(ctx)
		return fmt.Sprint(len(roots)), err
	})
	mcp.AddTool(s, "progress", func(ctx context.Context, _ none) (string, error) {
		for i := range 3 {
			if err := mcp.Progress(ctx, float64(i+1), 3, "step"); err != nil {
				return "", err
			}
		}
		return "done", mcp.Log(ctx, mcp.LogWarning, "finished")
	})
	mcp.AddTool(s, "slow", func(ctx context.Context, _ none) (string, error) {
		seen.Store("started", true)
		<-ctx.Done()
		seen.Store("cancelled", true)
		return "", ctx.Err()
	})
	mcp.AddTool(s, "change", func(context.Context, none) (string, error) {
		mcp.AddTool(s, "extra", func(context.Context, none) (string, error) { return "", nil })
		s.ResourceUpdated("test://watched")
		return "changed", nil
	})
	s.AddText(mcp.Resource{URI: "test://watched", Name: "watched"}, "text")
	return s, seen
}

// paths lists the ways from a client to the server: the client's revision and those of the proxies
// in between.
var paths = [][]string{
	{"2026-07-28"}, {"2025-11-25"}, {"2024-11-05"},
	{"2026-07-28", "2025-11-25"}, {"2025-11-25", "2026-07-28"},
	{"2026-07-28", "2026-07-28"}, {"2025-11-25", "2025-11-25"},
	{"2026-07-28", "2025-11-25", "2026-07-28"}, {"2025-11-25", "2026-07-28", "2025-11-25"},
}

// able holds the capabilities of the clients in these tests.
var able = &mcp.ClientCapabilities{
	Roots:       &mcp.RootsCapability{},
	Sampling:    &mcp.SamplingCapability{Tools: &struct{}{}},
	Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
}

// dial connects a client through the proxies of a path.
func dial(t *testing.T, h mcp.Handler, path []string, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	for i := len(path) - 1; i > 0; i-- {
		proxy, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Bridge: true, OneClient: &mcp.Meta{Capabilities: able}, Revision: path[i]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { proxy.Close() })
		h = proxy
	}
	o.Revision = path[0]
	c, err := mcp.DialWith(t.Context(), stream.Pipe(h), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.Revision() != path[0] {
		t.Fatalf("revision %s, want %s", c.Revision(), path[0])
	}
	return c
}

func TestACallCrossesEveryPath(t *testing.T) {
	for _, path := range paths {
		t.Run(strings.Join(path, " to "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, seen := bridged(t)
				var mu sync.Mutex
				var logs []string
				answers := map[string]string{"who?": "Ada", "first?": "Bob", "second?": "Cleo", "after Bob?": "Dan"}
				if path[0] == "2024-11-05" {
					answers = nil
				}
				o := mcp.ClientOptions{
					OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						answer, ok := answers[req.Message]
						if !ok {
							return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
						}
						content, _ := json.Marshal(nameForm{answer})
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
					},
					OnSample: func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
						return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{mcp.Text("42")}}, nil
					},
					OnRoots:  func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil },
					OnLog:    func(m mcp.LogMessage) { mu.Lock(); logs = append(logs, string(m.Data)); mu.Unlock() },
					LogLevel: mcp.LogDebug,
				}
				c := dial(t, server, path, o)
				ctx := t.Context()
				if sum, err := mcp.Call[int](ctx, c, "add", map[string]int{"A": 1, "B": 2}); err != nil || sum != 3 {
					t.Errorf("add: %v, %v", sum, err)
				}
				for tool, want := range map[string]string{"ask-one": "hello Ada", "ask-two": "Bob and Cleo", "ask-again": "Bob then Dan", "sample": "model said 42", "roots": "1"} {
					if answers == nil && strings.HasPrefix(tool, "ask") {
						continue
					}
					if text, err := mcp.Call[string](ctx, c, tool, nil); err != nil || text != want {
						t.Errorf("%s: %q, %v; want %q", tool, text, err, want)
					}
				}
				var steps []float64
				watched := mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) { steps = append(steps, p.Progress) })
				if text, err := mcp.Call[string](watched, c, "progress", nil); err != nil || text != "done" || fmt.Sprint(steps) != "[1 2 3]" {
					t.Errorf("progress: %v, %v, %v", steps, text, err)
				}
				mu.Lock()
				if fmt.Sprint(logs) != `["finished"]` {
					t.Errorf("logs: %v", logs)
				}
				mu.Unlock()
				testCancel(t, c, seen)
				testNotifications(t, c)
			})
		})
	}
}

func testCancel(t *testing.T, c *mcp.Client, seen *sync.Map) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "slow", nil)
		ended <- err
	}()
	synctest.Wait()
	if _, started := seen.Load("started"); !started {
		t.Error("the call did not reach the tool")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	synctest.Wait()
	if _, cancelled := seen.Load("cancelled"); !cancelled {
		t.Error("the tool did not hear that the call was cancelled")
	}
}

func testNotifications(t *testing.T, c *mcp.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notifications := make(chan mcp.Notification, 10)
	ready := make(chan mcp.SubscriptionFilter, 1)
	go c.ListenWith(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://watched"}},
		func(n mcp.Notification) { notifications <- n }, func(f mcp.SubscriptionFilter) { ready <- f })

	select {
	case f := <-ready:
		if !f.ToolsListChanged || len(f.ResourceSubscriptions) != 1 {
			t.Errorf("acknowledged %+v", f)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("no acknowledgement")
	}
	if _, err := c.CallTool(ctx, "change", nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"notifications/tools/list_changed": true, "notifications/resources/updated": true}
	for len(want) > 0 {
		select {
		case n := <-notifications:
			delete(want, n.Method)
		case <-time.After(2 * time.Minute):
			t.Fatalf("no notifications of %v", want)
		}
	}
}
