package upstream_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A client may call a tool that changes the list after initialize and before its stream for
// notifications is open.
func TestChangesBeforeTheFirstListenerAreDelivered(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-11-25"} {
		synctest.Test(t, func(t *testing.T) {
			none := func(context.Context, struct{}) (string, error) { return "", nil }
			s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
			mcp.AddTool(s, "first", none)
			c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Revision: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			mcp.AddTool(s, "second", none)
			time.Sleep(time.Second)
			for turn, want := range []string{"notifications/tools/list_changed", ""} { // the second listener missed nothing
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				var heard []string
				if err := c.Listen(ctx, mcp.SubscriptionFilter{PromptsListChanged: true}, func(n mcp.Notification) { heard = append(heard, "prompts: "+n.Method) }); ctx.Err() == nil {
					t.Fatal(err)
				}
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				if err := c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard = append(heard, n.Method) }); ctx.Err() == nil {
					t.Fatal(err)
				}
				cancel()
				if len(heard) > 1 || len(heard) == 1 && heard[0] != want || len(heard) == 0 && want != "" {
					t.Errorf("%s: who listens in turn %d hears %q", revision, turn+1, heard)
				}
			}
		})
	}
}
