package review_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

// The lists of a server that never started are not known. The error of a call then has the reason
// why it did not start.
func TestACallToAServerThatNeverStartedSaysSo(t *testing.T) {
	for name, isolation := range map[string]gateway.Isolation{"shared": gateway.Shared, "per user": gateway.PerUser} {
		t.Run(name, func(t *testing.T) {
			o := review.Options{Server: "files", Pins: func() *guard.Pins { return new(guard.Pins) }, Remedy: "run junction server approve files"}
			r := review.New(o)
			g := gateway.New(gateway.Options{Logger: slog.New(slog.DiscardHandler)})
			defer g.Close()
			dial := func(context.Context, *gateway.Start) (*mcp.Client, error) { return nil, errors.New("KEY is not set") }
			if err := g.Add("files", gateway.Upstream{Dial: dial, Isolation: isolation, Middleware: []mcp.Middleware{r.Around}, Check: r.Check, Instance: func() mcp.Middleware { return review.Middleware(o) }}); err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(g)
			for range 2 {
				_, err := client.CallTool(t.Context(), "files__read", nil)
				if err == nil || !strings.Contains(err.Error(), `server "files" is not connected: KEY is not set`) || strings.Contains(err.Error(), "does not list it") {
					t.Errorf("the error is %v", err)
				}
			}
			if server, err := g.Unavailable("files__read"); server != "files" || err == nil || !strings.Contains(err.Error(), "KEY is not set") {
				t.Errorf("unavailable: %s, %v", server, err)
			}
		})
	}
}
