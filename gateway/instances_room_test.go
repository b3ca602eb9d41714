package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

type whoseKey struct{}

// With Whose, a user with many clients (or many sets of scopes) takes no instances of other users,
// and has a limit of their own.
func TestOneUserTakesNoInstancesOfOthers(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	type caller struct{ user, client string }
	release := make(chan struct{})
	var running sync.WaitGroup
	must(t, g.Add("files", gateway.Upstream{
		Isolation: gateway.PerUser,
		Whose:     func(ctx context.Context, req *mcp.Request) (any, error) { return ctx.Value(whoseKey{}), nil },
		Dial: func(ctx context.Context, s *gateway.Start) (*mcp.Client, error) {
			server := mcp.NewServerWith("files", "1", mcp.ServerOptions{Logger: quiet})
			mcp.AddTool(server, "wait", func(ctx context.Context, _ struct{}) (string, error) {
				running.Done()
				select {
				case <-release:
				case <-ctx.Done():
				}
				return "done", nil
			})
			mcp.AddTool(server, "hello", func(ctx context.Context, _ struct{}) (string, error) { return "hello", nil })
			return mcp.Dial(ctx, stream.Pipe(server))
		},
	}))
	must(t, g.Settle(t.Context()))
	call := func(who caller, tool string) (string, error) {
		c := mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			req.Principal = &mcp.Principal{Subject: who.user}
			return g.Handle(ctx, req)
		}), mcp.ClientOptions{Logger: quiet})
		return mcp.Call[string](context.WithValue(t.Context(), whoseKey{}, who), c, "files__"+tool, nil)
	}
	var calls sync.WaitGroup
	running.Add(16)
	for i := range 16 {
		calls.Go(func() { _, _ = call(caller{"eve", fmt.Sprint("client ", i)}, "wait") })
	}
	running.Wait()
	if _, err := call(caller{"ada", "her client"}, "hello"); err != nil {
		t.Errorf("eve makes 16 calls, and ada hears: %v", err)
	}
	if _, err := call(caller{"eve", "one client more"}, "hello"); err == nil || !strings.Contains(err.Error(), "all of the user's 16 instances are in use") {
		t.Errorf("eve makes one more: %v", err)
	}
	close(release)
	calls.Wait()
	if _, err := call(caller{"eve", "one client more"}, "hello"); err != nil {
		t.Errorf("eve, when one of hers is not used: %v", err)
	}
}
