package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// lists returns a server with many tools, some with a schema that legacy revisions cannot express.
func lists() *mcp.Server {
	s := mcp.NewServer("lists", "1")
	for i := range 80 {
		properties := `{"text":{"type":"string","description":"` + strings.Repeat("x", 900) + `"}}`
		if i%20 == 0 {
			properties = `{"anything":true}`
		}
		s.AddTool(tool(fmt.Sprint("t", i), properties), noText)
	}
	return s
}

func tool(name, properties string) mcp.Tool {
	return mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`)}
}

func noText(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// A legacyClient is a session of some revision, or one for each request.
type legacyClient func(ctx context.Context, dst []byte, m *jsonrpc.Message, from edge.From) edge.Reply

// legacyClients returns a client of each kind.
func legacyClients(t *testing.T, e *edge.Edge) map[string]legacyClient {
	clients := map[string]legacyClient{}
	for _, name := range revision.Legacy() {
		open := parsed(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{}}}`, name))
		s, reply := e.Initialize(t.Context(), nil, open, edge.From{})
		if s == nil {
			t.Fatalf("%s", reply.Message)
		}
		t.Cleanup(s.Close)
		clients[name] = s.Request
		clients[name+" without a session"] = func(ctx context.Context, dst []byte, m *jsonrpc.Message, from edge.From) edge.Reply {
			alone := e.Sessionless(revision.Lookup(name))
			defer alone.Close()
			return alone.Request(ctx, dst, m, from)
		}
	}
	return clients
}

func parsed(t *testing.T, message string) *jsonrpc.Message {
	t.Helper()
	m, fault := edge.Parse([]byte(message))
	if fault != nil {
		t.Fatal(fault)
	}
	return &m
}

const listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`

// The list is converted to a revision once, not for each client.
func TestAListCostsLegacyClientsNoMemory(t *testing.T) {
	e := newEdge(t, lists())
	for name, ask := range legacyClients(t, e) {
		m := parsed(t, listTools)
		dst := ask(t.Context(), nil, m, edge.From{}).Message
		if strings.Contains(string(dst), `"anything":true`) || !strings.Contains(string(dst), `"anything":{}`) {
			t.Errorf("%s: the list has a schema that the revision has no form for", name)
		}
		const times = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			dst = ask(t.Context(), dst[:0], m, edge.From{}).Message
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 8<<10 {
			t.Errorf("%s: a list of %d bytes takes %d", name, len(dst), each)
		}
	}
}

// Clients request the list while it changes: each list has the tools of the moment of its request.
func TestNoLegacyClientGetsAnOldList(t *testing.T) {
	s := lists()
	e := newEdge(t, s)
	var added atomic.Int64
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for name, ask := range legacyClients(t, e) {
		m := parsed(t, listTools)
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				newest := added.Load()
				got := string(ask(t.Context(), nil, m, edge.From{}).Message)
				if has := strings.Contains(got, fmt.Sprintf(`"added-%d"`, newest)); newest > 0 && !has {
					t.Errorf("%s: the list has no tool %d, which there was", name, newest)
				}
				if strings.Contains(got, `:true`) {
					t.Errorf("%s: the list has a schema that the revision has no form for", name)
				}
			}
		})
	}
	for i := range int64(20) {
		s.AddTool(tool(fmt.Sprint("added-", i+1), `{"anything":true}`), noText)
		added.Store(i + 1)
		runtime.Gosched()
	}
	close(stop)
	asking.Wait()
}

// A list from which middleware removes tools by user never reaches another user.
func TestNoLegacyClientGetsTheListOfAnotherUser(t *testing.T) {
	s := lists()
	users := []string{"t1", "t2", "t20", "t40"}
	own := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			result, err := next.Handle(ctx, req)
			if req.Method != "tools/list" || err != nil {
				return result, err
			}
			jsonrpc.EachElement(jsonrpc.Get(result.JSON, "tools"), func(raw []byte) bool {
				if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); name == req.Principal.Subject {
					result.JSON = []byte(`{"tools":[` + string(raw) + `]}`) // the Value stays
				}
				return true
			})
			return result, nil
		})
	}
	e := newEdge(t, mcp.Chain(s, own))
	var asking sync.WaitGroup
	for name, ask := range legacyClients(t, e) {
		for _, user := range users {
			m := parsed(t, listTools)
			asking.Go(func() {
				for range 10 {
					got := ask(t.Context(), nil, m, edge.From{Principal: &mcp.Principal{Subject: user}}).Message
					if n := strings.Count(string(got), `"name":"t`); n != 1 || !strings.Contains(string(got), fmt.Sprintf(`"name":%q`, user)) {
						t.Errorf("%s, %s: got %d tools: %.200s", name, user, n, got)
					}
				}
			})
		}
	}
	asking.Wait()
}
