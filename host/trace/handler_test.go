package trace

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/host"
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

// Two calls of one tool at the same time: each message finds its own.
func TestMessagesFindTheirCall(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	for _, c := range []struct{ id, arguments string }{{"a", `{"n": 1}`}, {"b", `{"n": 2}`}} {
		trace.Event(host.Event{Run: 1, Called: &host.Called{CallID: c.id, Server: "s", Tool: "tool", Arguments: json.RawMessage(c.arguments)}})
	}
	h := Handler(mcp.HandlerFunc(chatty), "s", trace)
	for _, arguments := range []string{`{"n":2}`, `{"n":1}`} {
		if _, err := h.Handle(t.Context(), callRequest(&answering{}, "tool", arguments)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Handle(t.Context(), callRequest(&answering{}, "tool", `{"n":1}`)); err != nil {
		t.Fatal(err) // a call that no model asked for
	}
	for _, id := range []string{"a", "b"} {
		trace.Event(host.Event{Run: 1, Returned: &host.Returned{CallID: id, Server: "s", Tool: "tool"}})
	}
	mermaid := written(t, trace.WriteMermaid)
	if n := strings.Count(mermaid, "tools/call"); n != 2 {
		t.Errorf("%d lines of tools/call, want those of the third call alone:\n%s", n, mermaid)
	}
	for _, i := range trace.items {
		if i.step == 4 && (!strings.Contains(i.detail, "jsonrpc") || strings.Count(i.detail, map[string]string{"a": `"n":1`, "b": `"n":2`}[i.call]) != 2) {
			t.Errorf("call %s has the messages of another: %s", i.call, i.detail)
		}
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
