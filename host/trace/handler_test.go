package trace

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

type answering struct{ reported []string }

func (a *answering) Notify(_ context.Context, method string, _ json.RawMessage) error {
	a.reported = append(a.reported, method)
	return nil
}

func (a *answering) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if q.Method == "roots/list" {
		return nil, mcp.Errorf(-32601, "no roots")
	}
	return json.RawMessage(`{"action":"accept","content":{"password":"swordfish"}}`), nil
}

// chatty asks and tells before it answers.
func chatty(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Name == "broken" {
		return mcp.Result{}, mcp.Errorf(-32602, "no such \"tool\"")
	}
	req.Peer.Notify(ctx, "notifications/progress", json.RawMessage(`{"progress":1}`))
	answer, err := req.Peer.Ask(ctx, mcp.ServerRequest{Method: "elicitation/create", Params: json.RawMessage(`{"message":"?"}`)})
	if err != nil {
		return mcp.Result{}, err
	}
	if _, err := req.Peer.Ask(ctx, mcp.ServerRequest{Method: "roots/list"}); err == nil {
		return mcp.Result{}, errors.New("the peer's error was lost")
	}
	return mcp.Result{Value: map[string]any{"got": len(answer)}}, nil
}

func callRequest(peer mcp.Peer, name, arguments string) *mcp.Request {
	req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"`+name+`","arguments":`+arguments+`}`))
	req.Peer = peer
	return req
}

func TestEveryMessageOfARequestIsRecorded(t *testing.T) {
	t.Parallel()
	trace, peer := New(Options{Width: 400}), &answering{}
	h := Handler(mcp.HandlerFunc(chatty), "s", trace)
	result, err := h.Handle(t.Context(), callRequest(peer, "tool", `{}`))
	if body, _ := result.Encoded(); err != nil || string(body) != `{"got":54}` {
		t.Errorf("%s, %v", body, err)
	}
	if _, err := h.Handle(t.Context(), callRequest(peer, "broken", `{}`)); mcp.ErrorOf(err).Code != -32602 {
		t.Errorf("%v", err)
	}
	if len(peer.reported) != 1 {
		t.Errorf("notifications got lost: %v", peer.reported)
	}
	got := written(t, trace.WriteText)
	want := `    → s  {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{}}}
    ← s  {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}
    ← s  {"jsonrpc":"2.0","id":"2","method":"elicitation/create","params":{"message":"?"}}
    → s  {"jsonrpc":"2.0","id":"2","result":{"action":"accept","content":{"password":"•••"}}}
    ← s  {"jsonrpc":"2.0","id":"3","method":"roots/list"}
    → s  {"jsonrpc":"2.0","id":"3","error":{"code":-32601,"message":"no roots"}}
    ← s  {"jsonrpc":"2.0","id":1,"result":{"got":54}}
    → s  {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"broken","arguments":{}}}
    ← s  {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no such \"tool\""}}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if Handler(mcp.HandlerFunc(chatty), "s", nil) == nil {
		t.Error("no trace, no handler")
	}
}

// Two calls of one tool at the same time that say the same: each message finds its own.
func TestMessagesFindTheirCall(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	server := mcp.NewServer("s", "1.0")
	mcp.AddToolWith(server, mcp.Tool{Name: "tool", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}},
		func(context.Context, struct{}) (string, error) { return "done", nil })
	calls := scripted.Reply(call("a", "s__tool", `{}`), call("b", "s__tool", `{}`))
	h, err := host.New(host.Options{
		Model: scripted.New(calls, scripted.Say("Done.")), Servers: []host.Server{{Name: "s", Handler: server, Trusted: true}}, OnEvent: trace.Event,
		Middleware: func(name string) mcp.Middleware {
			return func(next mcp.Handler) mcp.Handler { return Handler(next, name, trace) }
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Conversation(nil).Ask(t.Context(), host.Question{Text: "Do it twice."}); err != nil {
		t.Fatal(err)
	}
	if _, err := Handler(mcp.HandlerFunc(chatty), "s", trace).Handle(t.Context(), callRequest(&answering{}, "tool", `{}`)); err != nil {
		t.Fatal(err) // a call that no model asked for
	}
	mermaid := written(t, trace.WriteMermaid)
	if n := strings.Count(mermaid, "tools/call"); n != 2 {
		t.Errorf("%d lines of tools/call, want those of the third call alone:\n%s", n, mermaid)
	}
	steps := map[int]int{}
	for _, i := range trace.items {
		if i.step == 4 || i.step == 5 {
			steps[i.step]++
			if strings.Count(i.detail, "jsonrpc") != 1 {
				t.Errorf("step %d has not one message: %s", i.step, i.detail)
			}
		}
	}
	if steps[4] != 2 || steps[5] != 2 {
		t.Errorf("%v", steps)
	}
}

func TestManyCanRecordAndDrawAtOnce(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	h := Handler(mcp.HandlerFunc(chatty), "s", trace)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				h.Handle(t.Context(), callRequest(&answering{}, "tool", `{}`))
				trace.Event(host.Event{Run: 1, Called: &host.Called{CallID: "x", Server: "s", Tool: "tool"}})
			}
			checkXML(t, written(t, trace.WriteSVG))
		})
	}
	all.Wait()
}
