package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A grower is a server that adds a tool in each call, and notifies of that before its result.
type grower struct {
	mu        sync.Mutex
	tools     int
	peers     []mcp.Peer
	listening chan struct{} // is closed when a client subscribes: a session of the edge does some time after its handshake
}

func newGrower() *grower { return &grower{listening: make(chan struct{})} }

func (s *grower) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case "server/discover":
		return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)}, nil
	case "subscriptions/listen":
		s.mu.Lock()
		s.peers = append(s.peers, req.Peer)
		first := len(s.peers) == 1
		s.mu.Unlock()
		if err := req.Peer.Notify(ctx, "notifications/subscriptions/acknowledged", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`)); err != nil {
			return mcp.Result{}, err
		}
		if first {
			close(s.listening)
		}
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	case "tools/list":
		s.mu.Lock()
		defer s.mu.Unlock()
		tools := []map[string]any{}
		for i := range s.tools + 1 {
			tools = append(tools, map[string]any{"name": fmt.Sprintf("grow%d", i), "inputSchema": map[string]string{"type": "object"}})
		}
		body, err := json.Marshal(map[string]any{"tools": tools})
		return mcp.Result{JSON: body}, err
	case "tools/call":
		<-s.listening
		s.mu.Lock()
		s.tools++
		peers := s.peers
		s.mu.Unlock()
		for _, p := range peers {
			_ = p.Notify(ctx, "notifications/tools/list_changed", json.RawMessage(`{}`)) // fails for one that is gone
		}
		return mcp.Result{JSON: json.RawMessage(`{"content":[]}`)}, nil
	}
	return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
}

func TestAListRightAfterACallThatChangedItIsTheNewOne(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // so that a busy machine cannot make the waits too short
				g := gateway.New(gateway.Options{NoPrefix: true, Logger: quiet})
				defer g.Close()
				must(t, add(g, "grower", func(ctx context.Context) (*mcp.Client, error) {
					return mcp.DialWith(ctx, stream.Pipe(newGrower()), mcp.ClientOptions{Name: "grower", Revision: revision, Bridge: true, Logger: quiet})
				}))
				c := mcp.NewClientWith(g, mcp.ClientOptions{NoCache: true, Logger: quiet})
				defer c.Close()
				for n := range 20 {
					got := 0
					for _, err := range c.Tools(t.Context()) {
						must(t, err)
						got++
					}
					if got != n+1 {
						t.Fatalf("after %d calls: %d tools are listed", n, got)
					}
					// The newest tool can be called, too.
					if _, err := c.CallTool(t.Context(), fmt.Sprintf("grow%d", n), nil); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// Messages that a server sent before a result arrive before it, at a client of the connection
// itself.
func TestAResultArrivesBehindTheNotificationsBeforeIt(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(newGrower()), mcp.ClientOptions{Revision: revision, Logger: quiet})
			must(t, err)
			defer c.Close()
			var mu sync.Mutex
			changes := 0
			agreed := make(chan struct{})
			go func() {
				_ = c.ListenWith(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(mcp.Notification) {
					mu.Lock()
					defer mu.Unlock()
					changes++
				}, func(mcp.SubscriptionFilter) { close(agreed) })
			}()
			<-agreed
			for n := range 200 {
				if _, err := c.CallTool(t.Context(), "grow0", nil); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				if changes != n+1 {
					t.Errorf("call %d: %d notifications arrived before the result", n+1, changes)
				}
				mu.Unlock()
			}
		})
	}
}
