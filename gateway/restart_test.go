package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func TestAMemberIsRestartedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, "a", time.Second)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		p.join(g, nil)
		must(t, g.Settle(t.Context()))
		before := p.last.Load()
		must(t, g.Restart("a"))
		synctest.Wait()
		if s := g.Status()[0]; s.State != gateway.Connecting || s.Tools != 0 || s.Err != nil {
			t.Errorf("while it is restarted its status is %+v", s)
		}
		select {
		case <-before.Done():
		default:
			t.Error("the connection before is open")
		}
		if who, err := callTool(t.Context(), g, "a__who"); who != "a" && err == nil {
			t.Errorf("a call meanwhile: %q, %v", who, err)
		}
		time.Sleep(2 * time.Second)
		if who, err := callTool(t.Context(), g, "a__who"); who != "a" || err != nil || p.dials.Load() != 2 {
			t.Errorf("a call afterwards: %q, %v, after %d starts", who, err, p.dials.Load())
		}
	})
}

func TestARestartDoesNotWaitForTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, "a", time.Second)
		p.fail(errors.New("no key"))
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		p.join(g, nil)
		time.Sleep(time.Hour)
		p.fails.Store(nil)
		starts := p.dials.Load()
		must(t, g.Restart("a"))
		time.Sleep(2 * time.Second)
		if s := g.Status()[0]; s.State != gateway.Connected || p.dials.Load() != starts+1 {
			t.Errorf("its status is %+v, after %d more starts", s, p.dials.Load()-starts)
		}
		must(t, g.Restart("a"))
		must(t, g.Restart("a")) // while the first one is not over
		time.Sleep(5 * time.Second)
		if s := g.Status()[0]; s.State != gateway.Connected {
			t.Errorf("after two restarts its status is %+v", s)
		}
	})
}

func TestOnlyProgramsAreRestarted(t *testing.T) {
	g := gateway.Route(map[string]mcp.Handler{"own": member(t, "own")})
	defer g.Close()
	for name, want := range map[string]string{"own": "part of this program", "other": `no server "other"`} {
		if err := g.Restart(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACallThatARestartEndedSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		g, call := s.behind(t, -1)
		s.mute.Store(true)
		failed := make(chan error, 1)
		go func() {
			_, err := call(t.Context())
			failed <- err
		}()
		time.Sleep(time.Second)
		must(t, g.Restart("s"))
		if err := <-failed; err == nil || !strings.Contains(err.Error(), `server "s" was restarted by the operator of the gateway while it had the request, which it may have executed`) {
			t.Errorf("it says %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := call(t.Context()); err != nil {
			t.Errorf("a call afterwards: %v", err)
		}
	})
}

// A request that a restart ended is repeated, or returns the reason. This also holds for a server
// that clients do not share.
func TestARequestToAnInstanceThatARestartEndedIsAskedAgainOrSaysSo(t *testing.T) {
	for _, test := range []struct {
		name, tool, stops string
		want              string
	}{
		{"a tool that may change something", "add", "call", `server "s" was restarted by the operator of the gateway while it had the request, which it may have executed`},
		{"a tool that only reads", "look", "call", ""},
		{"before it was connected", "add", "start", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dialed, called atomic.Int64
				forever := func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				}
				s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: quiet})
				answer := func(ctx context.Context, _ struct{}) (string, error) {
					if called.Add(1) == 1 && test.stops == "call" {
						return "", forever(ctx)
					}
					return "done", nil
				}
				mcp.AddTool(s, "add", answer)
				mcp.AddToolWith(s, mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, answer)
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				must(t, g.Add("s", gateway.Upstream{Isolation: gateway.PerClient, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
					if dialed.Add(1) == 2 && test.stops == "start" { // the first reads the lists
						return nil, forever(ctx)
					}
					return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Bridge: true, Logger: quiet})
				}}))
				must(t, g.Settle(t.Context()))
				c := mcp.NewClient(g)
				got := make(chan string, 1)
				go func() {
					r, err := c.CallTool(t.Context(), "s__"+test.tool, nil)
					if err != nil {
						got <- err.Error()
						return
					}
					got <- r.Text()
				}()
				time.Sleep(time.Second)
				must(t, g.Restart("s"))
				if text := <-got; test.want == "" && text != "done" || !strings.Contains(text, test.want) {
					t.Errorf("got %q", text)
				}
			})
		})
	}
}
