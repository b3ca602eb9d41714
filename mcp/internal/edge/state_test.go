package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

const able = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`

// deaf is a client that receives no messages before the response.
type deaf struct{}

func (deaf) Send(context.Context, []byte) error { return nil }

// rooting returns a server with a tool that asks for the client's roots.
func rooting() *mcp.Server {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "roots", func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := mcp.RootsKeyed(ctx, "roots")
		return fmt.Sprint(len(roots)), err
	})
	return s
}

func newEdge(t *testing.T, h mcp.Handler, keys ...[]byte) *edge.Edge {
	t.Helper()
	e, err := edge.Serving(h, mcp.ServeOptions{StateKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func parse(t *testing.T, text string) *jsonrpc.Message {
	t.Helper()
	m, fault := jsonrpc.Parse([]byte(text), jsonrpc.Limits{})
	if fault != nil {
		t.Fatal(fault)
	}
	return &m
}

// begin runs the first round and returns the state that the client must send back.
func begin(t *testing.T, e *edge.Edge, who *mcp.Principal) string {
	t.Helper()
	m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roots",`+able+`}}`)
	var reply struct {
		Result struct{ RequestState string }
	}
	r := e.Modern(t.Context(), nil, m, edge.From{Principal: who, Out: deaf{}})
	if err := json.Unmarshal(r.Message, &reply); err != nil || reply.Result.RequestState == "" {
		t.Fatalf("%s: %v", r.Message, err)
	}
	return reply.Result.RequestState
}

// resume runs the second round and returns the code of the error, or 0.
func resume(t *testing.T, e *edge.Edge, who *mcp.Principal, state string) int {
	t.Helper()
	m := parse(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"roots","inputResponses":{"roots":{"roots":[]}},"requestState":"`+state+`",`+able+`}}`)
	return e.Modern(t.Context(), nil, m, edge.From{Principal: who, Out: deaf{}}).Code
}

// The state between two rounds is bound to the principal (2026-07-28 basic/patterns/mrtr,
// security).
func TestAStateBelongsToItsPrincipal(t *testing.T) {
	e := newEdge(t, rooting())
	ada := &mcp.Principal{Issuer: "https://a", Subject: "ada"}
	for name, c := range map[string]struct {
		began, came *mcp.Principal
		refused     bool
	}{
		"the same":              {ada, &mcp.Principal{Issuer: "https://a", Subject: "ada"}, false},
		"nobody both times":     {nil, nil, false},
		"another user":          {ada, &mcp.Principal{Issuer: "https://a", Subject: "bob"}, true},
		"another issuer":        {ada, &mcp.Principal{Issuer: "https://b", Subject: "ada"}, true},
		"nobody later":          {ada, nil, true},
		"somebody later":        {nil, ada, true},
		"parts that join alike": {&mcp.Principal{Issuer: "a", Subject: `b" "c`}, &mcp.Principal{Issuer: `a" "b`, Subject: "c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if code := resume(t, e, c.came, begin(t, e, c.began)); (code == mcp.CodeInvalidParams) != c.refused || code != 0 && !c.refused {
				t.Errorf("code %d, refused must be %v", code, c.refused)
			}
		})
	}
}

func TestAChangedStateIsRefused(t *testing.T) {
	e := newEdge(t, rooting())
	state := begin(t, e, nil)
	for i := range len(state) {
		changed := []byte(state)
		if changed[i] = 'A'; state[i] == 'A' {
			changed[i] = 'B'
		}
		if code := resume(t, e, nil, string(changed)); code != mcp.CodeInvalidParams {
			t.Fatalf("changed at %d of %d: code %d", i, len(state), code)
		}
	}
	for _, changed := range []string{state + "A", state[:len(state)-1], state + "=", " " + state, state + state} {
		if code := resume(t, e, nil, changed); code != mcp.CodeInvalidParams {
			t.Errorf("%s: code %d", changed, code)
		}
	}
}

func TestKeysRotateAndAreShared(t *testing.T) {
	old, fresh := []byte(strings.Repeat("o", 32)), []byte(strings.Repeat("n", 32))
	before, during, after := newEdge(t, rooting(), old), newEdge(t, rooting(), fresh, old), newEdge(t, rooting(), fresh)
	state := begin(t, before, nil)
	if code := resume(t, during, nil, state); code != 0 {
		t.Errorf("a replica that knows the old key: code %d", code)
	}
	if code := resume(t, after, nil, state); code != mcp.CodeInvalidParams {
		t.Errorf("a replica that does not: code %d", code)
	}
	if code := resume(t, after, nil, begin(t, during, nil)); code != 0 {
		t.Errorf("the first key locks: code %d", code)
	}
	if _, err := edge.Serving(rooting(), mcp.ServeOptions{StateKeys: [][]byte{old[:31]}}); err == nil {
		t.Error("a key that is too short was taken")
	}
}

// The number of subscriptions of a session is limited.
func TestASessionHasALimitOfSubscriptions(t *testing.T) {
	s := rooting()
	s.AddText(mcp.Resource{URI: "test://a", Name: "a"}, "")
	e := newEdge(t, s)
	session, reply := e.Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
	if session == nil {
		t.Fatalf("%s", reply.Message)
	}
	subscribe := func(method string, i int) int {
		m := parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":"test://%d"}}`, method, i))
		return session.Request(t.Context(), nil, m, edge.From{Out: deaf{}}).Code
	}
	for i := range 1_000 {
		if code := subscribe("resources/subscribe", i); code != 0 {
			t.Fatalf("subscription %d: code %d", i, code)
		}
	}
	if code := subscribe("resources/subscribe", 1_000); code != mcp.CodeInvalidParams {
		t.Errorf("one too many: code %d", code)
	}
	if code := subscribe("resources/subscribe", 5); code != 0 {
		t.Errorf("one that is there: code %d", code)
	}
	subscribe("resources/unsubscribe", 5)
	if code := subscribe("resources/subscribe", 1_000); code != 0 {
		t.Errorf("after one less: code %d", code)
	}
}

// A retry of the same request with other parameters is another request.
func TestAStateIsBoundToExactNumbers(t *testing.T) {
	var e *edge.Edge
	call := func(arguments, more string) (code int, state string) {
		m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":`+arguments+more+`,`+able+`}}`)
		var reply struct {
			Result struct{ RequestState string }
		}
		r := e.Modern(t.Context(), nil, m, edge.From{Out: deaf{}})
		if err := json.Unmarshal(r.Message, &reply); err != nil {
			t.Fatal(err)
		}
		return r.Code, reply.Result.RequestState
	}
	e = newEdge(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		_, err := req.Peer.Ask(ctx, mcp.ServerRequest{Key: "roots", Method: "roots/list"})
		return mcp.Result{}, err
	}))
	_, state := call(`{"to":"x","amount":9007199254740992}`, "")
	answered := `,"inputResponses":{"roots":{"roots":[]}},"requestState":"` + state + `"`
	if code, _ := call(`{"to":"x","amount":9007199254740993}`, answered); code != mcp.CodeInvalidParams {
		t.Errorf("another amount: code %d", code)
	}
	if code, _ := call(`{"amount":9007199254740992,"to":"x"}`, answered); code != 0 {
		t.Errorf("the same in another order: code %d", code)
	}
}

// Middleware can tell the first round of a call from the following ones.
func TestRoundsAreCounted(t *testing.T) {
	var rounds []int
	e := newEdge(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		rounds = append(rounds, req.Round)
		for _, key := range []string{"a", "b", "c"} {
			if _, err := req.Peer.Ask(ctx, mcp.ServerRequest{Key: key, Method: "roots/list"}); err != nil {
				return mcp.Result{}, err
			}
		}
		return mcp.Result{}, nil
	}))
	more := ""
	for _, key := range []string{"a", "b", "c", ""} {
		m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"`+more+`,`+able+`}}`)
		var reply struct {
			Result struct{ RequestState string }
		}
		if err := json.Unmarshal(e.Modern(t.Context(), nil, m, edge.From{Out: deaf{}}).Message, &reply); err != nil {
			t.Fatal(err)
		}
		more = `,"inputResponses":{"` + key + `":{"roots":[]}},"requestState":"` + reply.Result.RequestState + `"`
	}
	if fmt.Sprint(rounds) != "[0 1 2 3]" {
		t.Errorf("rounds %v", rounds)
	}
}

// A state expires.
func TestAStateExpires(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
		want  string // part of the error; empty: no error
	}{
		{"just before its end", 10*time.Minute - time.Second, ""},
		{"at its end", 10 * time.Minute, "requestState: expired; send the request again without it"},
		{"long after", 24 * time.Hour, "requestState: expired; send the request again without it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					ran++
					_, err := req.Peer.Ask(ctx, mcp.ServerRequest{Key: "roots", Method: "roots/list"})
					return mcp.Result{}, err
				})
				e, err := edge.Serving(h, mcp.ServeOptions{StateTimeout: 10 * time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				call := func(more string) (reply struct {
					Result struct{ RequestState string }
					Error  struct {
						Code    int
						Message string
					}
				}) {
					m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"`+more+`,`+able+`}}`)
					if err := json.Unmarshal(e.Modern(t.Context(), nil, m, edge.From{Out: deaf{}}).Message, &reply); err != nil {
						t.Fatal(err)
					}
					return reply
				}
				state := call("").Result.RequestState
				time.Sleep(test.after)
				got := call(`,"inputResponses":{"roots":{"roots":[]}},"requestState":"` + state + `"`)
				switch {
				case test.want == "" && (got.Error.Code != 0 || ran != 2):
					t.Errorf("%+v, the handler ran %d times", got, ran)
				case test.want != "" && (got.Error.Code != mcp.CodeInvalidParams || got.Error.Message != test.want || ran != 1):
					t.Errorf("%+v, the handler ran %d times, want %q", got, ran, test.want)
				}
			})
		})
	}
}
