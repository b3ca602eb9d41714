package edge_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A listen for a task that failed once is repeated when the client asks about the task.
func TestAListenForATaskThatFailedOnceIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{listens: true, tasks: map[string]string{}, subs: map[string]mcp.Peer{}}
		var listens atomic.Int32
		flaky := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "subscriptions/listen" && strings.Contains(string(req.Params), "taskIds") && listens.Add(1) == 1 {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the server starts again")
			}
			return w.Handle(ctx, req)
		})
		session, _ := newEdge(t, flaky).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
		_, end := listening(t, session)
		defer end()
		beginTasks(t, session, 1)
		for range 5 {
			time.Sleep(time.Minute)
			send(t, session, "tasks/get", `{"taskId":"t1"}`)
		}
		if got := listens.Load(); got != 2 {
			t.Errorf("the client asked 5 times about the task, and the server was asked for notifications %d times, want twice", got)
		}
	})
}

// A Handler without listens, or with failing ones, is not asked again for every request about the
// task.
func TestAListenForATaskThatCannotBeIsNotMadeForEver(t *testing.T) {
	for _, test := range []struct {
		name string
		code int
		want int32
	}{
		{"there is none", mcp.CodeMethodNotFound, 1},
		{"it fails each time", mcp.CodeInternalError, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{listens: true, tasks: map[string]string{}, subs: map[string]mcp.Peer{}}
				var listens atomic.Int32
				failing := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method == "subscriptions/listen" && strings.Contains(string(req.Params), "taskIds") {
						listens.Add(1)
						return mcp.Result{}, mcp.Errorf(test.code, "no")
					}
					return w.Handle(ctx, req)
				})
				session, _ := newEdge(t, failing).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
				_, end := listening(t, session)
				defer end()
				beginTasks(t, session, 1)
				for range 20 {
					time.Sleep(time.Minute)
					send(t, session, "tasks/get", `{"taskId":"t1"}`)
				}
				if got := listens.Load(); got != test.want {
					t.Errorf("it was asked %d times, want %d", got, test.want)
				}
			})
		})
	}
}
