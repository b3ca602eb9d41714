package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

func fakeTask(id, status, more string) []byte {
	return fmt.Appendf(nil, `{"taskId":%q,"status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":3600000,"pollIntervalMs":1000%s}`, id, status, more)
}

// One read of a task that fails ("try again later") does not lose the result, which is ready a
// second later.
func TestOneErrorOfALookDoesNotLoseTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Method {
			case "tools/call":
				return mcp.Result{Type: "task", JSON: fakeTask("t1", "working", "")}, nil
			case "tasks/get":
				if looks.Add(1) == 1 {
					return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the database is locked; try again later")
				}
				return mcp.Result{JSON: fakeTask("t1", "completed", `,"result":{"content":[{"type":"text","text":"gold"}]}`)}, nil
			}
			return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
		})
		req := mcp.NewRequest("tools/call", []byte(`{"name":"dig"}`))
		req.Peer = mute{}
		result, err := tasks.Wait(tasks.WaitOptions{})(h).Handle(t.Context(), req)
		if err != nil {
			t.Errorf("after %d looks: %v", looks.Load(), err)
		}
		if body, _ := result.Encoded(); string(body) != `{"content":[{"type":"text","text":"gold"}]}` {
			t.Errorf("the result is %s", body)
		}
	})
}

// The test lists which errors of a read are final, and how long the others are retried.
func TestErrorsOfALookThatPassAreTriedAgain(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		looks int32
	}{
		{"an internal error", mcp.Errorf(mcp.CodeInternalError, "locked"), 6},
		{"a private code", mcp.Errorf(-29000, "busy"), 6},
		{"a lost connection", mcp.ErrLost, 6},
		{"the task is not known", mcp.Errorf(mcp.CodeInvalidParams, "no such task"), 1},
		{"not found", mcp.Errorf(-32002, "no such task"), 1},
		{"no tasks", mcp.Errorf(mcp.CodeMethodNotFound, "tasks/get"), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var looks atomic.Int32
				h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method != "tasks/get" {
						return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
					}
					looks.Add(1)
					return mcp.Result{}, test.err
				})
				_, err := tasks.Resume(mcp.NewClient(h), "t1").Wait(t.Context())
				if looks.Load() != test.looks || !errors.Is(err, test.err) || errors.Is(err, tasks.ErrUnanswered) != (test.looks > 1) {
					t.Errorf("%d looks, want %d, and then %v", looks.Load(), test.looks, err)
				}
			})
		})
	}
}

type mute struct{}

func (mute) Notify(context.Context, string, json.RawMessage) error { return nil }
func (mute) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.Errorf(mcp.CodeInternalError, "nobody")
}
