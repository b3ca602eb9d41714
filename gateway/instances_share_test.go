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

// One user with many sessions or clients leaves a part of a server's instances to others.
func TestInstancesPerClientAreShared(t *testing.T) {
	for _, by := range []string{"session", "client"} {
		t.Run(by, func(t *testing.T) {
			g := gateway.New(gateway.Options{Logger: quiet})
			defer g.Close()
			release := make(chan struct{})
			defer close(release)
			var running sync.WaitGroup
			must(t, g.Add("files", gateway.Upstream{Isolation: gateway.PerClient, Dial: func(ctx context.Context, s *gateway.Start) (*mcp.Client, error) {
				server := mcp.NewServerWith("files", "1", mcp.ServerOptions{Logger: quiet})
				calls := 0 // of this instance
				mcp.AddTool(server, "wait", func(ctx context.Context, _ struct{}) (string, error) {
					running.Done()
					select {
					case <-release:
					case <-ctx.Done():
					}
					return "done", nil
				})
				mcp.AddTool(server, "count", func(context.Context, struct{}) (int, error) { calls++; return calls, nil })
				return mcp.Dial(ctx, stream.Pipe(server))
			}}))
			must(t, g.Settle(t.Context()))
			call := func(user string, n int, tool string) (string, error) {
				req := mcp.NewRequest("tools/call", []byte(`{"name":"files__`+tool+`","arguments":{}}`))
				req.Principal = &mcp.Principal{Issuer: "i", Subject: user}
				req.Meta.Capabilities = &mcp.ClientCapabilities{}
				if by == "session" {
					req.Caller = fmt.Sprint(user, n)
				} else {
					req.Principal.ClientID = fmt.Sprint(n)
				}
				result, err := g.Handle(t.Context(), req)
				if err != nil {
					return "", err
				}
				body, err := result.Encoded()
				return string(body), err
			}
			if got, err := call("ada", 0, "count"); err != nil || !strings.Contains(got, "1") {
				t.Fatal(got, err)
			}
			for i := range 12 {
				running.Add(1)
				go func() { _, _ = call("eve", i, "wait") }()
			}
			running.Wait()
			if _, err := call("eve", 100, "count"); err == nil || !strings.Contains(err.Error(), "the user is using 12 of the server's 16 instances") {
				t.Errorf("eve makes one call more: %v", err)
			}
			if got, err := call("ada", 0, "count"); err != nil || !strings.Contains(got, "2") {
				t.Errorf("ada has not kept her instance: %s %v", got, err)
			}
			for _, user := range []string{"bob", "carol", "dave"} {
				if _, err := call(user, 0, "count"); err != nil {
					t.Errorf("%s gets no instance: %v", user, err)
				}
			}
		})
	}
}
