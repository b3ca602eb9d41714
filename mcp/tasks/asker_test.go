package tasks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/tasks"
)

type nobody struct{}

func (nobody) Notify(context.Context, string, json.RawMessage) error { return nil }
func (nobody) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.Errorf(mcp.CodeInternalError, "nobody")
}

type openSite struct{}

func (openSite) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
}

type testCaller struct{}

// A task does not keep the token of its call. When the token expires, the task continues with the
// one of the newest request of its owner. (A gateway calls Exchange.For with each message to a
// server.)
func TestTasksUseTheirOwnersNewestToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, err := oauth.NewExchange("http://127.0.0.1:1/files", oauth.ExchangeOptions{Base: openSite{}, Client: oauth.Options{HTTP: &http.Client{Transport: openSite{}}}, Caller: func(ctx context.Context) (oauth.Caller, bool) {
			c, found := ctx.Value(testCaller{}).(oauth.Caller)
			return c, found
		}})
		if err != nil {
			t.Fatal(err)
		}
		member := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) { // like a gateway with one server that has tasks
			if _, err := x.For(ctx); err != nil {
				return mcp.Result{}, err
			}
			switch req.Method {
			case "tools/call":
				return mcp.Result{Type: "task", JSON: fakeTask("t1", "working", "")}, nil
			case "tasks/get":
				if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < 20*time.Minute {
					return mcp.Result{JSON: fakeTask("t1", "working", "")}, nil
				}
				return mcp.Result{JSON: fakeTask("t1", "completed", `,"result":{"content":[{"type":"text","text":"gold"}]}`)}, nil
			}
			return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
		})
		waits := tasks.Wait(tasks.WaitOptions{All: true, OnTask: func(ctx context.Context, _, _ string, over bool) {
			if !over {
				_, _ = tasks.Begin(ctx)
			}
		}})(member)
		all, err := tasks.New(tasks.Options{Others: &tasks.Tool{Later: true}})
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		h := all.Middleware()(waits)
		knows := tasks.Capabilities()
		ask := func(method, params string, lasts time.Duration) json.RawMessage {
			req := mcp.NewRequest(method, []byte(params))
			req.Meta.Capabilities, req.Peer, req.Principal = &knows, nobody{}, &mcp.Principal{Issuer: "i", Subject: "ada"}
			ctx := context.WithValue(t.Context(), testCaller{}, oauth.Caller{Issuer: "i", Subject: "ada", Expires: time.Now().Add(lasts), Token: oauth.NewSecret("a new one each time")})
			result, err := h.Handle(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := result.Encoded()
			return body
		}
		id, _ := jsonrpc.Unquote(jsonrpc.Get(ask("tools/call", `{"name":"dig"}`, 10*time.Minute), "taskId"))
		for range 30 { // half an hour, always with a valid token
			time.Sleep(time.Minute)
			body := ask("tasks/get", `{"taskId":"`+id+`"}`, 10*time.Minute)
			if string(jsonrpc.Get(body, "status")) == `"failed"` {
				t.Fatalf("after %v: %s", time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), body)
			}
		}
		if body := ask("tasks/get", `{"taskId":"`+id+`"}`, 10*time.Minute); string(jsonrpc.Get(body, "status")) != `"completed"` {
			t.Errorf("in the end it is %s", body)
		}
	})
}

// A task takes the token only of a request of its owner with the same permissions.
func TestTasksUseOnlyTheirOwnersToken(t *testing.T) {
	ada := mcp.Principal{Issuer: "i", Subject: "ada", Scopes: []string{"read"}}
	for _, test := range []struct {
		name string
		who  mcp.Principal
		want string
	}{
		{"the owner", ada, "newest"},
		{"somebody else", mcp.Principal{Issuer: "i", Subject: "eve", Scopes: []string{"read"}}, "first"},
		{"of another issuer", mcp.Principal{Issuer: "j", Subject: "ada", Scopes: []string{"read"}}, "first"},
		{"with other scopes", mcp.Principal{Issuer: "i", Subject: "ada", Scopes: []string{"read", "write"}}, "first"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proceed, got := make(chan struct{}), make(chan any, 1)
				all, err := tasks.New(tasks.Options{Others: &tasks.Tool{}})
				if err != nil {
					t.Fatal(err)
				}
				defer all.Close()
				h := all.Middleware()(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
					<-proceed
					got <- ctx.Value(testCaller{})
					return mcp.Result{JSON: []byte(`{"content":[]}`)}, nil
				}))
				knows := tasks.Capabilities()
				ask := func(token, method, params string, who mcp.Principal) (json.RawMessage, error) {
					req := mcp.NewRequest(method, []byte(params))
					req.Meta.Capabilities, req.Peer, req.Principal = &knows, nobody{}, &who
					result, err := h.Handle(context.WithValue(t.Context(), testCaller{}, token), req)
					if err != nil {
						return nil, err
					}
					return result.Encoded()
				}
				begun, err := ask("first", "tools/call", `{"name":"dig"}`, ada)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = ask("newest", "tasks/get", `{"taskId":`+string(jsonrpc.Get(begun, "taskId"))+`}`, test.who) // some are not allowed
				close(proceed)
				if value := <-got; value != test.want {
					t.Errorf("the task goes on with the %v token, want the %s one", value, test.want)
				}
			})
		})
	}
}
