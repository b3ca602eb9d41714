package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// Requests about a task need the scopes of its tool, whatever is between the tasks and the scopes.
// They must come from the same client of the same user.
func TestRequestsAboutATaskNeedItsOwner(t *testing.T) {
	arrangements := map[string]struct {
		tool  tasks.Tool
		build func(*tasks.Tasks, mcp.Middleware, mcp.Handler) mcp.Handler
	}{
		"tasks around scopes": {tasks.Tool{Later: true, After: time.Second}, func(long *tasks.Tasks, scopes mcp.Middleware, h mcp.Handler) mcp.Handler {
			return long.Middleware()(scopes(h))
		}},
		"a task at once": {tasks.Tool{}, func(long *tasks.Tasks, scopes mcp.Middleware, h mcp.Handler) mcp.Handler {
			return long.Middleware()(scopes(h))
		}},
		"scopes around tasks": {tasks.Tool{Later: true, After: time.Second}, func(long *tasks.Tasks, scopes mcp.Middleware, h mcp.Handler) mcp.Handler {
			return scopes(long.Middleware()(h))
		}},
		"scopes between": {tasks.Tool{Later: true, After: time.Second}, func(long *tasks.Tasks, scopes mcp.Middleware, h mcp.Handler) mcp.Handler {
			calls, requests := long.Split("")
			return calls(scopes(requests(h)))
		}},
	}
	for name, arrangement := range arrangements {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcp.NewServer("bank", "1")
				mcp.AddTool(s, "secret", func(context.Context, struct{}) (string, error) {
					time.Sleep(2 * time.Second)
					return "the secret", nil
				})
				mcp.AddTool(s, "pay", func(ctx context.Context, _ struct{}) (string, error) {
					time.Sleep(2 * time.Second)
					said, err := mcp.Elicit[form](ctx, "Really pay?")
					return "paid, as said by " + said.Name, err
				})
				long, err := tasks.New(tasks.Options{Others: &arrangement.tool})
				if err != nil {
					t.Fatal(err)
				}
				defer long.Close()
				h := arrangement.build(long, middleware.ToolScopes(map[string][]string{"*": {"admin"}}), s)
				ask := func(client, scope, method, params string) (string, error) {
					req := mcp.NewRequest(method, json.RawMessage(params))
					req.Principal = &mcp.Principal{Issuer: "i", Subject: "ada", ClientID: client, Scopes: []string{"read", scope}}
					req.Peer = nobody{}
					req.Meta.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}, Extensions: map[string]json.RawMessage{tasks.Extension: json.RawMessage(`{}`)}}
					result, err := h.Handle(t.Context(), req)
					if err != nil {
						return "", err
					}
					body, err := result.Encoded()
					return string(body), err
				}
				begin := func(tool string) string {
					said, err := ask("c", "admin", "tools/call", `{"name":"`+tool+`","arguments":{}}`)
					id, _ := jsonrpc.Unquote(jsonrpc.Get([]byte(said), "taskId"))
					if err != nil || id == "" {
						t.Fatalf("no task: %s %v", said, err)
					}
					return id
				}
				secret, pay := begin("secret"), begin("pay")
				time.Sleep(5 * time.Second)
				for _, who := range []struct {
					client, scope string
					lacks         bool // or the task is unknown
				}{{"c", "write", true}, {"d", "admin", false}, {"", "admin", false}} {
					if list, err := ask(who.client, who.scope, "tasks/list", `{}`); err != nil || strings.Contains(list, secret) {
						t.Errorf("%+v: tasks/list: %s %v", who, list, err)
					}
					for method, params := range map[string]string{
						"tasks/get":    `{"taskId":"` + secret + `"}`,
						"tasks/cancel": `{"taskId":"` + pay + `"}`,
						"tasks/update": `{"taskId":"` + pay + `","inputResponses":{"1":{"action":"accept","content":{"name":"another program"}}}}`,
					} {
						said, err := ask(who.client, who.scope, method, params)
						if lacks := errors.As(err, new(*mcp.ScopeError)); err == nil || lacks != who.lacks {
							t.Errorf("%+v: %s: %s %v", who, method, said, err)
						}
					}
				}
				if got, err := ask("c", "admin", "tasks/get", `{"taskId":"`+pay+`"}`); err != nil || !strings.Contains(got, `"input_required"`) {
					t.Errorf("the question is answered: %s %v", got, err)
				}
				if list, err := ask("c", "admin", "tasks/list", `{}`); err != nil || !strings.Contains(list, secret) || !strings.Contains(list, pay) {
					t.Errorf("tasks/list of the owner: %s %v", list, err)
				}
				if got, err := ask("c", "admin", "tasks/get", `{"taskId":"`+secret+`"}`); err != nil || !strings.Contains(got, "the secret") {
					t.Errorf("tasks/get of the owner: %s %v", got, err)
				}
				if got, err := ask("c", "admin", "tasks/cancel", `{"taskId":"`+pay+`"}`); err != nil {
					t.Errorf("tasks/cancel of the owner: %s %v", got, err)
				}
			})
		})
	}
}

// A task continues with the token of its own client and program only.
func TestTaskKeepsTheTokenOfItsClient(t *testing.T) {
	type program struct{ client, name string }
	for i, c := range []struct {
		begins, asks program
		newest       bool
	}{
		{program{"c", "editor"}, program{"c", "editor"}, true},
		{program{"c", "editor"}, program{"c", "bank"}, false},
		{program{"", "editor"}, program{"", "bank"}, false},
		{program{"", "editor"}, program{"", "editor"}, true},
		{program{"c", "editor"}, program{"d", "editor"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			proceed, got := make(chan struct{}), make(chan string, 1)
			all, err := tasks.New(tasks.Options{Others: &tasks.Tool{}})
			if err != nil {
				t.Fatal(err)
			}
			defer all.Close()
			h := all.Middleware()(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
				<-proceed
				caller, _ := ctx.Value(testCaller{}).(oauth.Caller)
				got <- caller.Token.Reveal()
				return mcp.Result{JSON: []byte(`{"content":[]}`)}, nil
			}))
			knows := tasks.Capabilities()
			ask := func(by program, token, method, params string) json.RawMessage {
				req := mcp.NewRequest(method, []byte(params))
				req.Meta.Capabilities, req.Peer = &knows, nobody{}
				req.Meta.Client = &mcp.Implementation{Name: by.name}
				req.Principal = &mcp.Principal{Issuer: "i", Subject: "ada", ClientID: by.client}
				result, err := h.Handle(context.WithValue(t.Context(), testCaller{}, oauth.Caller{Token: oauth.NewSecret(token)}), req)
				if err != nil {
					return nil
				}
				body, _ := result.Encoded()
				return body
			}
			begun := ask(c.begins, "first", "tools/call", `{"name":"dig"}`)
			ask(c.asks, "newest", "tasks/get", `{"taskId":`+string(jsonrpc.Get(begun, "taskId"))+`}`)
			close(proceed)
			if want := map[bool]string{true: "newest", false: "first"}[c.newest]; <-got != want {
				t.Errorf("case %d: the task does not go on with the %s token", i, want)
			}
		})
	}
}

// One user may take a quarter of the places for tasks.
func TestTasksAreShared(t *testing.T) {
	for total, want := range map[int]int{3: 3, 8: 2, 100: 25} {
		s := mcp.NewServer("s", "1")
		mcp.AddTool(s, "wait", func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) })
		long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"*": {}}, MaxRunning: total})
		if err != nil {
			t.Fatal(err)
		}
		h := long.Middleware()(s)
		begin := func(user, client string) error {
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"wait","arguments":{}}`))
			req.Principal = &mcp.Principal{Issuer: "i", Subject: user, ClientID: client}
			knows := tasks.Capabilities()
			req.Meta.Capabilities = &knows
			_, err := h.Handle(t.Context(), req)
			return err
		}
		taken := 0
		for i := range total {
			if begin("eve", fmt.Sprint("client ", i)) == nil {
				taken++
			}
		}
		if taken != want {
			t.Errorf("of %d places eve takes %d, want %d", total, taken, want)
		}
		if err := begin("ada", "c"); (err == nil) != (want < total) {
			t.Errorf("of %d places ada gets none: %v", total, err)
		}
		long.Close()
	}
}

// Results of one user's tasks take no space from those of others. If the store is full, that user
// loses the oldest.
func TestResultsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long, err := tasks.New(tasks.Options{Others: &tasks.Tool{}, Store: state.NewMemory(100_000)})
		if err != nil {
			t.Fatal(err)
		}
		defer long.Close()
		s := mcp.NewServer("s", "1")
		mcp.AddTool(s, "report", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 9_000), nil })
		h := long.Middleware()(s)
		knows := tasks.Capabilities()
		ask := func(user, method, params string) (json.RawMessage, error) {
			req := mcp.NewRequest(method, []byte(params))
			req.Meta.Capabilities, req.Peer = &knows, nobody{}
			req.Principal = &mcp.Principal{Issuer: "i", Subject: user}
			result, err := h.Handle(t.Context(), req)
			if err != nil {
				return nil, err
			}
			return result.Encoded()
		}
		run := func(user string) (id string) {
			begun, err := ask(user, "tools/call", `{"name":"report","arguments":{}}`)
			if err != nil {
				t.Fatalf("%s begins none: %v", user, err)
			}
			synctest.Wait()
			id, _ = jsonrpc.Unquote(jsonrpc.Get(begun, "taskId"))
			return id
		}
		has := func(user, id string) bool {
			got, err := ask(user, "tasks/get", `{"taskId":"`+id+`"}`)
			return err == nil && strings.Contains(string(got), "xxx")
		}
		first := run("ada")
		var eves []string
		for range 40 {
			eves = append(eves, run("eve"))
		}
		second := run("ada")
		if !has("ada", first) || !has("ada", second) {
			t.Errorf("ada lost a result: first %v, second %v", has("ada", first), has("ada", second))
		}
		if has("eve", eves[0]) || !has("eve", eves[39]) {
			t.Errorf("eve has her first: %v, her last: %v", has("eve", eves[0]), has("eve", eves[39]))
		}
	})
}
