package rules_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/policy"
)

// A program starts when the one that it replaces has ended its requests. The annotations of its
// tools do not apply to those of the new one, which may be trusted although the old one is not.
func TestReplacingServersAreJudgedByTheirOwnClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := slog.New(slog.DiscardHandler)
		release := make(chan struct{})
		program := func(readOnly bool, ran *bool) gateway.Upstream {
			s := mcp.NewServerWith("files", "1", mcp.ServerOptions{Logger: quiet})
			mcp.AddTool(s, "hold", func(context.Context, struct{}) (string, error) {
				<-release
				return "held", nil
			})
			mcp.AddToolWith(s, mcp.Tool{Name: "drop", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &readOnly}}, func(context.Context, struct{}) (string, error) {
				*ran = true
				return "dropped", nil
			})
			return gateway.Upstream{Program: true, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
				return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Bridge: true, Logger: quiet})
			}}
		}
		var before, after bool
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		if err := g.Add("files", program(true, &before)); err != nil {
			t.Fatal(err)
		}
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1})
		held := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "files__hold", nil)
			held <- err
		}()
		synctest.Wait()

		next := program(false, &after)
		next.Middleware = []mcp.Middleware{rules.Middleware(rules.Options{Server: "files", Trusted: func(context.Context) bool { return true },
			Policy: compiled(t, policy.Deny, policy.Rule{Effect: policy.Allow, When: `trusted && annotations.readOnly`})})}
		if err := g.Replace("files", next); err != nil {
			t.Fatal(err)
		}
		type outcome struct {
			*mcp.CallToolResult
			err error
		}
		dropped := make(chan outcome, 1)
		go func() {
			r, err := c.CallTool(t.Context(), "files__drop", nil)
			dropped <- outcome{r, err}
		}()
		synctest.Wait() // it waits until the old one has ended
		close(release)
		if err := <-held; err != nil {
			t.Error(err)
		}
		got := <-dropped
		if got.err != nil || !got.IsError || !strings.Contains(got.Text(), "not allowed") || after {
			t.Errorf("the call that nothing allows ran: %t; it gives %q, %v", after, got.Text(), got.err)
		}
	})
}
