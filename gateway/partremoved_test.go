package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// A call that waits for a server of a part must not go to a server outside of it when its own
// server is removed.
func TestACallThroughAPartDoesNotGoToAServerThatIsNotInIt(t *testing.T) {
	for method, call := range map[string]func(context.Context, *mcp.Client) error{
		"tools/call": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.CallTool(ctx, "who", nil)
			return err
		},
		"prompts/get": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.GetPrompt(ctx, "greet", nil)
			return err
		},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gateway.New(gateway.Options{Logger: quiet, NoPrefix: true})
				defer g.Close()
				must(t, g.Add("inside", gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}}))
				part := g.Only(gateway.Selection{Servers: []string{"inside"}})
				ended := make(chan error, 1)
				go func() { ended <- call(t.Context(), mcp.NewClient(part)) }()
				time.Sleep(11 * time.Second) // the wait for the first list is over, and the call waits for the server
				must(t, g.AddHandler("outside", member(t, "outside")))
				synctest.Wait() // its lists are read
				must(t, g.Remove(t.Context(), "inside"))
				err := <-ended
				if err == nil {
					t.Error("the call went to a server that is not in the part")
				} else if strings.Contains(err.Error(), "outside") {
					t.Errorf("the error names a server that is not in the part: %v", err)
				}
			})
		})
	}
}
