package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
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

func TestWhatIsNoProgramIsNotRestarted(t *testing.T) {
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
		if err := <-failed; err == nil || !strings.Contains(err.Error(), `server "s" was restarted by whoever runs the gateway while it had the request, which it may have executed`) {
			t.Errorf("it says %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := call(t.Context()); err != nil {
			t.Errorf("a call afterwards: %v", err)
		}
	})
}
