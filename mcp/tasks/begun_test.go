package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// A call that became a task has reached the server. Its error must not say that it was not sent,
// although a later request about the task was not.
func TestACallThatBecameATaskWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := fmt.Errorf("not sent: %w: %w", mcp.ErrLost, mcp.ErrNotSent)
		h := tasks.Wait(tasks.WaitOptions{})(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/call" {
				return mcp.Result{Type: "task", JSON: []byte(`{"resultType":"task","taskId":"1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000}`)}, nil
			}
			return mcp.Result{}, gone
		}))
		_, err := mcp.NewClient(h).CallTool(t.Context(), "order", nil)
		if !errors.Is(err, tasks.ErrUnanswered) || !errors.Is(err, mcp.ErrLost) || errors.Is(err, mcp.ErrNotSent) {
			t.Errorf("the call ended with %v", err)
		}
	})
}
