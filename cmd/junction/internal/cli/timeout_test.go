package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
)

// A thinkingPeer is a client that gets notifications, and thinks for a minute about each question.
type thinkingPeer struct{ mcp.Peer }

func (thinkingPeer) Notify(context.Context, string, json.RawMessage) error { return nil }

func (thinkingPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	time.Sleep(time.Minute)
	return json.RawMessage(`{}`), nil
}

// What --timeout bounds is the wait of the command: a start that the gateway tells of does not give it more time, and the server's own
// progress does.
func TestTimeoutBoundsTheCommand(t *testing.T) {
	const start, progress = `{"progress":1e-6,"message":"starting x","_meta":{"io.github.junction-mcp/starting":true}}`, `{"progress":1}`
	for _, test := range []struct {
		name string
		does func(ctx context.Context, p mcp.Peer)
		want time.Duration // when it ends; 0: it does not
		says string
	}{
		{"nothing", func(ctx context.Context, _ mcp.Peer) { <-ctx.Done() }, 3 * time.Second, "no response within 3s"},
		{"a start", func(ctx context.Context, p mcp.Peer) {
			for ctx.Err() == nil {
				_ = p.Notify(ctx, "notifications/progress", json.RawMessage(start))
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		}, 3 * time.Second, `"startTimeout" in its entry`},
		{"a start and then a response", func(ctx context.Context, p mcp.Peer) {
			time.Sleep(2 * time.Second)
			_ = p.Notify(ctx, "notifications/progress", json.RawMessage(start))
		}, 0, ""},
		{"progress", func(ctx context.Context, p mcp.Peer) {
			for range 10 {
				time.Sleep(2 * time.Second)
				_ = p.Notify(ctx, "notifications/progress", json.RawMessage(progress))
			}
		}, 0, ""},
		{"a question", func(ctx context.Context, p mcp.Peer) { _, _ = p.Ask(ctx, mcp.ServerRequest{}) }, 0, ""},
		{"nothing behind a question", func(ctx context.Context, p mcp.Peer) {
			_, _ = p.Ask(ctx, mcp.ServerRequest{})
			<-ctx.Done()
		}, time.Minute + 3*time.Second, "no response within 3s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &cli.App{Place: clitest.PlaceOf(t)}
				a.Launch.Timeout = 3 * time.Second
				ctx, within, stop := a.WithTimeout(t.Context())
				defer stop()
				began := time.Now()
				h := within.Middleware(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					test.does(ctx, req.Peer)
					return mcp.Result{}, context.Cause(ctx)
				}))
				_, err := h.Handle(ctx, &mcp.Request{Method: "tools/call", Peer: thinkingPeer{}})
				switch {
				case test.want == 0:
					if err != nil {
						t.Errorf("it ended after %v: %v", time.Since(began), err)
					}
				case time.Since(began) != test.want || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), test.says):
					t.Errorf("after %v, want %v: %v", time.Since(began), test.want, err)
				}
			})
		})
	}
}
