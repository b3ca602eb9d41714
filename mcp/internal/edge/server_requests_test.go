package edge_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// asked keeps the requests sent to a legacy client.
type asked struct {
	mu       sync.Mutex
	requests []jsonrpc.ID
}

func (a *asked) Send(_ context.Context, message []byte) error {
	m, fault := jsonrpc.Parse(message, jsonrpc.Limits{})
	if fault != nil {
		return fault
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.Kind == jsonrpc.Request {
		a.requests = append(a.requests, m.ID)
	}
	return nil
}

// legacySession returns the session of a client that accepts requests for its roots.
func legacySession(t *testing.T, h mcp.Handler) *edge.Session {
	t.Helper()
	m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	s, reply := newEdge(t, h).Initialize(t.Context(), nil, m, edge.From{})
	if s == nil {
		t.Fatalf("no session: %s", reply.Message)
	}
	return s
}

func TestServerRequestsWithoutAResponseAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Int32
		server := mcp.NewServer("s", "1")
		mcp.AddTool(server, "many", func(ctx context.Context, _ struct{}) (string, error) {
			ask := make([]func() error, 70)
			for i := range ask {
				ask[i] = func() error {
					_, err := mcp.Roots(ctx)
					if err != nil {
						refused.Add(1)
					}
					return nil
				}
			}
			return "asked", mcp.Parallel(ask...)
		})
		s := legacySession(t, server)
		out := &asked{}
		replied := make(chan edge.Reply, 1)
		go func() {
			replied <- s.Request(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"many"}}`), edge.From{Out: out})
		}()
		synctest.Wait()
		if n := refused.Load(); len(out.requests) != 64 || n != 6 {
			t.Errorf("%d requests were made and %d refused, want 64 and 6", len(out.requests), n)
		}
		for _, id := range out.requests {
			s.Response(parse(t, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"roots":[]}}`))
		}
		if r := <-replied; r.Code != 0 || !strings.Contains(string(r.Message), "asked") {
			t.Errorf("the response is %s", r.Message)
		}
	})
}

// Behind a gateway the requests of one session reach many servers.
func TestOneCallLeavesRoomForServerRequestsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := legacySession(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "server/discover" {
				return mcp.Result{}, nil
			}
			asks := 1
			if req.Name == "greedy" {
				asks = 70
			}
			var asking sync.WaitGroup
			for range asks {
				asking.Go(func() { req.Peer.Ask(ctx, mcp.ServerRequest{Method: "roots/list"}) })
			}
			asking.Wait()
			return mcp.Result{}, nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		greedy, other := &asked{}, &asked{}
		call := func(id, name string, out *asked) {
			s.Request(ctx, nil, parse(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+name+`"}}`), edge.From{Out: out})
		}
		go call("2", "greedy", greedy)
		synctest.Wait()
		go call("3", "modest", other)
		synctest.Wait()
		if len(greedy.requests) != 64 || len(other.requests) != 1 {
			t.Errorf("one call asked %d times, another %d times", len(greedy.requests), len(other.requests))
		}
		cancel()
	})
}

func TestARequestWithoutAResponseIsGivenUpAndWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		server := mcp.NewServer("s", "1")
		mcp.AddTool(server, "ask", func(ctx context.Context, _ struct{}) (string, error) {
			_, failed = mcp.Roots(ctx)
			return "", failed
		})
		s := legacySession(t, server)
		began := time.Now()
		s.Request(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`), edge.From{Out: &asked{}})
		if failed == nil || errors.Is(failed, mcp.ErrInputRequired) || !strings.Contains(failed.Error(), "did not respond to roots/list within 10m0s") {
			t.Errorf("the tool got %v", failed)
		}
		if waited := time.Since(began); waited != 10*time.Minute {
			t.Errorf("after %v", waited)
		}
	})
}

// lastSent keeps the last message to a client.
type lastSent struct{ message []byte }

func (l *lastSent) Send(_ context.Context, message []byte) error {
	l.message = append([]byte(nil), message...)
	return nil
}

func TestTheReasonOfAWithdrawnRequestMayHoldAnything(t *testing.T) {
	const reason = "\x1b[1m\"no\" more\x00"
	s := legacySession(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "server/discover" {
			return mcp.Result{}, nil
		}
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errors.New(reason))
		_, err := req.Peer.Ask(ctx, mcp.ServerRequest{Method: "roots/list"})
		return mcp.Result{}, err
	}))
	out := new(lastSent)
	s.Request(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), edge.From{Out: out})
	m := parse(t, string(out.message))
	if got, _ := jsonrpc.Unquote(m.Members.Get("reason")); m.Method != "notifications/cancelled" || got != reason {
		t.Errorf("%s", out.message)
	}
}
