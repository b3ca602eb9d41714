package edge_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A breaking Handler acknowledges every listen request and loses it when the test wants it.
type breaking struct {
	notifier
	lose    chan error
	listens atomic.Int32
}

func (b *breaking) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method != "subscriptions/listen" {
		return b.notifier.Handle(ctx, req)
	}
	b.listens.Add(1)
	if err := req.Peer.Notify(ctx, "notifications/subscriptions/acknowledged", req.Params); err != nil {
		return mcp.Result{}, err
	}
	select {
	case err := <-b.lose:
		return mcp.Result{}, err
	case <-ctx.Done():
		return mcp.Result{}, ctx.Err()
	}
}

// The stream of notifications from a modern server behind a proxy may break without the legacy
// client noticing.
func TestNotificationsThatAreLostAreListenedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &breaking{lose: make(chan error)}
		session, reply := newEdge(t, b).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
		if session == nil {
			t.Fatalf("%s", reply.Message)
		}
		client, end := listening(t, session)
		if code := <-change(t, session, "subscribe", "test://a"); code != 0 {
			t.Fatal(code)
		}
		b.lose <- errors.New("the stream ended")
		b.lose <- errors.New("the stream ended")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		heard := client.String()
		if b.listens.Load() != 4 || !strings.Contains(heard, "tools/list_changed") || !strings.Contains(heard, "resources/updated") {
			t.Errorf("%d listen requests; the client heard %q", b.listens.Load(), heard)
		}
		b.lose <- mcp.Errorf(mcp.CodeMethodNotFound, "no more")
		b.lose <- mcp.Errorf(mcp.CodeMethodNotFound, "no more")
		time.Sleep(time.Hour)
		if n := b.listens.Load(); n != 4 {
			t.Errorf("after it was refused there are %d listen requests", n)
		}
		end()
	})
}
