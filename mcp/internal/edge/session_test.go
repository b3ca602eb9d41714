package edge_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A Handler that serves many users must know the user of each listen request.
func TestRequestsOfASessionNameTheirUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[string]*mcp.Request{}
		e := newEdge(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			seen[req.Method] = req
			if req.Method == "subscriptions/listen" {
				<-ctx.Done()
			}
			return mcp.Result{JSON: []byte(`{"capabilities":{"tools":{"listChanged":true}}}`)}, nil
		}))
		ada := &mcp.Principal{Subject: "ada"}
		c := e.NewConnection(t.Context(), deaf{}, ada)
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		} {
			var job edge.Job
			if c.Accept(&job, []byte(message)) {
				job.Run(nil)
			}
			synctest.Wait()
		}
		c.Close()
		for _, method := range []string{"server/discover", "tools/list", "subscriptions/listen"} {
			req := seen[method]
			if req == nil {
				t.Errorf("%s: never asked", method)
			} else if req.Principal != ada || req.Meta.Client == nil || req.Meta.Client.Name != "c" {
				t.Errorf("%s: principal %v, client %v", method, req.Principal, req.Meta.Client)
			}
		}
	})
}

// A client may send initialized just as its connection ends.
func TestNothingListensBehindAClosedConnection(t *testing.T) {
	var closed atomic.Bool
	var late atomic.Int32
	e := newEdge(t, mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" && closed.Load() {
			late.Add(1)
		}
		return mcp.Result{JSON: []byte(`{"capabilities":{"tools":{"listChanged":true}}}`)}, nil
	}))
	for range 3_000 {
		closed.Store(false)
		c := e.NewConnection(t.Context(), deaf{}, nil)
		var job edge.Job
		c.Accept(&job, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`))
		job.Run(nil)
		var sending sync.WaitGroup
		sending.Go(func() {
			c.Accept(new(edge.Job), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		})
		c.Close()
		closed.Store(true)
		sending.Wait()
		runtime.Gosched()
	}
	if n := late.Load(); n > 0 {
		t.Errorf("%d listens began after Close", n)
	}
}
