package edge

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// selfish is a value that panics when it is encoded.
type selfish struct{}

func (selfish) MarshalJSON() ([]byte, error) { panic("no JSON of this") }

// panicking panics in every method except the one that begins a session.
func panicking(_ context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case methodDiscover:
		return mcp.Result{JSON: []byte(`{"capabilities":{"tools":{"listChanged":true}}}`)}, nil
	case "tools/list":
		return mcp.Result{Value: map[string]any{"tools": selfish{}}}, nil
	}
	panic("boom")
}

// sent collects the messages to a client.
type sent struct{ messages chan string }

func (s sent) Send(_ context.Context, message []byte) error {
	s.messages <- string(message)
	return nil
}

func parsed(t *testing.T, text string) *jsonrpc.Message {
	t.Helper()
	m, fault := jsonrpc.Parse([]byte(text), jsonrpc.Limits{})
	if fault != nil {
		t.Fatal(fault)
	}
	return &m
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestAPanicOfAHandlerFailsOneRequest(t *testing.T) {
	var log strings.Builder
	e, err := New(mcp.HandlerFunc(panicking), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	session, reply := e.Initialize(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), From{})
	if session == nil {
		t.Fatalf("%s", reply.Message)
	}
	for name, reply := range map[string]Reply{
		"a legacy call":            session.Request(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`), From{}),
		"a legacy call's result":   session.Request(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), From{}),
		"a modern call":            e.Modern(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",`+modernMeta+`}}`), From{}),
		"a modern call's result":   e.Modern(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`), From{}),
		"a modern client's listen": e.Modern(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{`+modernMeta+`}}`), From{}),
	} {
		if reply.Code != jsonrpc.InternalError || !json.Valid(reply.Message) || !strings.Contains(string(reply.Message), "panicked") {
			t.Errorf("%s: %s", name, reply.Message)
		}
	}
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "panic_test.go") {
		t.Errorf("logged: %s", log.String())
	}
}

func TestAPanicInASessionsListenOrHandshakeFailsNothingElse(t *testing.T) {
	e, err := New(mcp.HandlerFunc(panicking), Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	out := sent{make(chan string, 10)}
	c := e.NewConnection(t.Context(), out, nil)
	say := func(text string) string {
		var job Job
		if !c.Accept(&job, []byte(text)) {
			return ""
		}
		return string(job.Run(nil))
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("ping after a listen that panics: %s", got)
	}
	c.Close()

	e, err = New(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{Value: selfish{}}, nil }), Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, reply := e.Initialize(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), From{})
	if reply.Code != jsonrpc.InternalError {
		t.Errorf("a handshake that panics: %s", reply.Message)
	}
}
