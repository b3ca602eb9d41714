package review_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// The lists of one user's instance are compared separately from those of another user.
func TestDefinitionsThatDifferByUserAreComparedForEach(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pins := load(t, filepath.Join(dir, "pins.json"))
		o := review.Options{Server: "files", Pins: func() *guard.Pins { return pins }, Remedy: "run junction server approve files"}
		var dials atomic.Int32
		dial := func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			text := "Read a file."
			if dials.Add(1) == 3 { // after the shared connection and Ann's
				text = "Read a file of Bob."
			}
			s := mcp.NewServer("files", "1")
			mcp.AddToolWith(s, mcp.Tool{Name: "read", Description: text}, func(context.Context, struct{}) (string, error) { return text, nil })
			return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Name: "files", Bridge: true})
		}
		r := review.New(o)
		g := gateway.New(gateway.Options{NoPrefix: true, Logger: slog.New(slog.DiscardHandler)})
		defer g.Close()
		if err := g.Add("files", gateway.Upstream{Dial: dial, Isolation: gateway.PerUser, Middleware: []mcp.Middleware{r.Lists}, Check: r.Check,
			Instance: func() mcp.Middleware { return review.Middleware(o) }}); err != nil {
			t.Fatal(err)
		}
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		call := func(user, want string) {
			t.Helper()
			req := mcp.NewRequest("tools/call", []byte(`{"name":"read","arguments":{}}`))
			req.Principal = &mcp.Principal{Subject: user}
			result, err := g.Handle(t.Context(), req)
			got := ""
			if err != nil {
				got = err.Error()
			} else if body, err := result.Encoded(); err == nil {
				got = string(body)
			}
			if !strings.Contains(got, want) {
				t.Errorf("the call of %s gives %s, want %q", user, got, want)
			}
		}
		for range 2 {
			call("ann", `"Read a file."`)
			call("bob", "run junction server approve files")
			time.Sleep(time.Minute) // the list for all was read again
			if got := listed(t, g); got != "read" {
				t.Errorf("listed are %q", got)
			}
		}
		bobs := []json.RawMessage{json.RawMessage(`{"name":"read","description":"Read a file of Bob.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}`)}
		if err := pins.Approve(review.Definitions("files", bobs, nil)...); err != nil {
			t.Fatal(err)
		}
		if err := g.Reread("files"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		call("ann", "run junction server approve files")
		call("bob", `"Read a file of Bob."`)
	})
}

func TestACheckWithoutOneForEachInstanceIsRefused(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: slog.New(slog.DiscardHandler)})
	defer g.Close()
	r := review.New(review.Options{Server: "files"})
	if err := g.Add("files", gateway.Upstream{Handler: mcp.NewServer("files", "1"), Isolation: gateway.PerUser, Check: r.Check}); err == nil || !strings.Contains(err.Error(), "set Instance, too") {
		t.Errorf("the error is %v", err)
	}
}
