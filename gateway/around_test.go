package gateway_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A list has middleware that omits the tool secret while hides is set. While holds is set, it
// delays a list that it has already filtered.
type list struct {
	hides, holds atomic.Bool
	held         chan struct{}
}

func (l *list) around(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		result, err := next.Handle(ctx, req)
		if req.Method != "tools/list" || err != nil {
			return result, err
		}
		hidden := l.hides.Load()
		if l.holds.CompareAndSwap(true, false) {
			<-l.held
		}
		all, err := result.ListTools()
		if err != nil || !hidden {
			return result, err
		}
		kept := &mcp.ListToolsResult{}
		for _, tool := range all.Tools {
			if tool.Name != "secret" {
				kept.Tools = append(kept.Tools, tool)
			}
		}
		return mcp.Result{Value: kept}, nil
	})
}

// offered returns a gateway with a server that lists plain and secret.
func (l *list) offered(t *testing.T) (*gateway.Gateway, *mcp.Server) {
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: quiet})
	mcp.AddTool(s, "plain", nothing)
	mcp.AddTool(s, "secret", nothing)
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	must(t, g.AddHandler("s", s, l.around))
	must(t, g.Settle(t.Context()))
	synctest.Wait()
	return g, s
}

func nothing(context.Context, struct{}) (string, error) { return "", nil }

// A tool that a rule hides now is not offered again by a goroutine that read the list before the
// rule, and finishes later.
func TestAListThatMiddlewareLeftBeforeItsRulesChangedIsNotOfferedAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{held: make(chan struct{})}
		g, s := l.offered(t)
		l.holds.Store(true)
		mcp.AddTool(s, "new", nothing) // makes the gateway read the list
		synctest.Wait()
		l.hides.Store(true)
		must(t, g.Reread("s"))
		const want = "s__new s__plain"
		if all := strings.Join(names(t, g), " "); all != want {
			t.Errorf("with the new rule there are %s", all)
		}
		close(l.held)
		synctest.Wait()
		if all := strings.Join(names(t, g), " "); all != want {
			t.Errorf("in the end there are %s", all)
		}
	})
}

// A list that is read while rules change is filtered by the new rules, even if the server's own
// list did not change.
func TestAListThatIsReadWhileRulesChangeIsOfferedByTheNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{}
		g, s := l.offered(t)
		if all := strings.Join(names(t, g), " "); all != "s__plain s__secret" {
			t.Errorf("before there are %s", all)
		}
		l.hides.Store(true)
		mcp.AddTool(s, "new", nothing)
		s.RemoveTool("new") // notifies of a change, and restores the list
		time.Sleep(time.Minute)
		must(t, g.Reread("s"))
		if all := strings.Join(names(t, g), " "); all != "s__plain" {
			t.Errorf("afterwards there are %s", all)
		}
	})
}

// Instance may call methods of the gateway while it makes the middleware of a connection.
func TestInstanceFactoriesMayAskTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		s := member(t, "s")
		asked := make(chan []gateway.Status, 1)
		must(t, g.Add("s", gateway.Upstream{Isolation: gateway.PerUser, Instance: func() mcp.Middleware {
			asked <- g.Status()
			return func(h mcp.Handler) mcp.Handler { return h }
		}, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Bridge: true, Logger: quiet})
		}}))
		must(t, g.Settle(t.Context()))
		_, err := mcp.NewClient(g).CallTool(t.Context(), "s__who", nil)
		must(t, err)
		if all := <-asked; len(all) != 1 {
			t.Errorf("it says %+v", all)
		}
	})
}
