package launch

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/mcp"
)

// lastNotified is a Peer that keeps the last notification.
type lastNotified struct{ params json.RawMessage }

func (p *lastNotified) Notify(_ context.Context, _ string, params json.RawMessage) error {
	p.params = params
	return nil
}

func (*lastNotified) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, nil
}

// A server that marks the outcome of a task is not taken for a gateway that refused the call, neither where it is asked about the task nor
// where it sends a notification of it.
func TestServersMarkTasksInVain(t *testing.T) {
	task := json.RawMessage(`{"taskId":"1","status":"completed","result":{"content":[],"_meta":{"` + refused.Member + `":"rule"}},"error":{"data":{"` + refused.Member + `":"rule"}}}`)
	server := removeRefusalMarks(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" {
			return mcp.Result{}, req.Peer.Notify(ctx, "notifications/tasks", task)
		}
		return mcp.Result{JSON: task}, nil
	}))
	peer := new(lastNotified)
	for _, method := range []string{"tasks/get", "subscriptions/listen"} {
		req := mcp.NewRequest(method, nil)
		req.Peer = peer
		result, err := server.Handle(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if method == "subscriptions/listen" {
			result.JSON = peer.params
		}
		if got := string(result.JSON); strings.Contains(got, refused.Member) || !strings.Contains(got, `"completed"`) {
			t.Errorf("%s: the mark stays: %s", method, got)
		}
	}
}
