package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// FuzzRead checks that every file is refused or can be replayed as valid JSON.
func FuzzRead(f *testing.F) {
	for _, lines := range []string{
		"", `{"event":"request","call":1,"method":"tools/call","params":{"name":"a","arguments":{"id":"0b8f3a52-6c1e-4d7a-9f00-1234567890ab"}}}` + "\n" +
			`{"ms":2,"event":"serverRequest","call":1,"ask":1,"method":"roots/list"}` + "\n" + `{"ms":2,"event":"round","call":1}` + "\n" +
			`{"ms":2,"event":"serverRequest","call":1,"ask":1,"method":"roots/list"}` + "\n" + `{"ms":3,"event":"clientResponse","call":1,"ask":1,"result":{}}` + "\n" +
			`{"ms":4,"event":"result","call":1,"result":{"a":"0b8f3a52-6c1e-4d7a-9f00-1234567890ab"},"meta":{},"ttlMs":1}` + "\n" + `{"event":"end"}` + "\n",
		`{"event":"request","call":1,"method":"subscriptions/listen","params":{"notifications":{}}}` + "\n" + `{"event":"notification","call":1,"method":"a","params":{}}` + "\n",
		`{"ms":-1e308,"event":"request","call":1,"method":"server/discover"}` + "\n" + `{"ms":1e308,"event":"error","call":1,"error":{"code":1,"message":"m","data":[]}}` + "\n",
	} {
		f.Add([]byte(head + lines))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, server := range r.Servers() {
			p, err := NewReplay(r, ReplayOptions{Server: server, Strict: len(data)%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range append(p.calls, &call{method: methodDiscover}, &call{method: methodListen, params: []byte(`{"notifications":{"toolsListChanged":true}}`)}) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				req := mcp.NewRequest(c.method, c.params)
				req.Peer = valid{t}
				if result, err := p.Handle(ctx, req); err == nil {
					valid{t}.check(result.JSON)
					valid{t}.check(result.Meta)
				}
				cancel()
			}
			p.Differences()
		}
	})
}

// valid is a client that checks that it gets only valid JSON.
type valid struct{ t *testing.T }

func (v valid) check(data json.RawMessage) {
	if len(data) > 0 && jsonrpc.Valid(data, jsonrpc.Limits{}) != nil {
		v.t.Errorf("this is not valid: %s", data)
	}
}

func (v valid) Notify(_ context.Context, _ string, params json.RawMessage) error {
	v.check(params)
	return nil
}

func (v valid) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	v.check(q.Params)
	return json.RawMessage(`{}`), nil
}

// FuzzHide checks that hiding secrets in JSON leaves valid JSON, and that the secrets stay hidden.
func FuzzHide(f *testing.F) {
	for _, data := range []string{`{"password":"hunter2-x","text":"{\"token\":\"a1b2c3d4\"} hunter2-x"}`, `["` + aToken + `",{"blob":"YQ=="}]`, `{"a":1,"pwd":-1.5e3}`, `"hunter2-x"`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsonrpc.Valid(data, jsonrpc.Limits{}) != nil {
			return
		}
		h := new(hider)
		h.learn("hunter2-x")
		out := h.json(data)
		if jsonrpc.Valid(out, jsonrpc.Limits{Depth: 1 << 20, Members: 1 << 20}) != nil {
			t.Fatalf("%s becomes %s", data, out)
		}
		if bytes.Contains(out, []byte("hunter2-x")) {
			t.Fatalf("%s becomes %s", data, out)
		}
	})
}
