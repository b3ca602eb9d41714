package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A moody server responds to pings and calls only if its fields allow it.
type moody struct {
	calls, pings  atomic.Int64 // count those that came
	starts        atomic.Int64
	mute, deaf    atomic.Bool // are set while calls, and pings, get no response
	answer, fault atomic.Pointer[string]
}

func (s *moody) dial(timeout time.Duration) func(context.Context) (*mcp.Client, error) {
	return func(ctx context.Context) (*mcp.Client, error) {
		if s.starts.Add(1) > 1 {
			s.mute.Store(false)
			s.deaf.Store(false)
		}
		near, far := net.Pipe()
		go hostileServe(far, func(send func(string, ...any), id json.RawMessage, method string, _ json.RawMessage) {
			result := `{}`
			switch method {
			case "initialize":
				result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
			case "tools/list":
				result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
			case "ping":
				if s.pings.Add(1); s.deaf.Load() {
					return
				}
			case "tools/call":
				if s.calls.Add(1); s.mute.Load() {
					return
				}
				if fault := s.fault.Load(); fault != nil {
					send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, *fault)
					return
				}
				if result = `{"content":[]}`; s.answer.Load() != nil {
					result = *s.answer.Load()
				}
			}
			if id != nil {
				send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
			}
		})
		return mcp.DialWith(ctx, stream.Over(near, "s"), mcp.ClientOptions{Name: "s", Revision: "2025-06-18", Bridge: true, Timeout: timeout, Logger: quiet})
	}
}

// behind returns a gateway with the connected server, and a function that calls its tool and
// returns the time that took, and the error.
func (s *moody) behind(t *testing.T, timeout time.Duration) (*gateway.Gateway, func(ctx context.Context) (time.Duration, error)) {
	t.Helper()
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	must(t, add(g, "s", s.dial(timeout)))
	must(t, g.Settle(t.Context()))
	c := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1})
	return g, func(ctx context.Context) (time.Duration, error) {
		began := time.Now()
		_, err := c.CallTool(ctx, "s__t", nil)
		return time.Since(began), err
	}
}

func TestRequestsToAServerThatDoesNotRespondFailAtOnceUntilAPingGetsAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		g, call := s.behind(t, 5*time.Second)
		s.mute.Store(true)
		s.deaf.Store(true)
		for n := range 5 {
			if took, err := call(t.Context()); err == nil || took != 5*time.Second || !strings.Contains(err.Error(), "no response or progress for 5s") {
				t.Fatalf("call %d took %v: %v", n, took, err)
			}
		}
		took, err := call(t.Context())
		want := `server "s" does not respond, so it gets no requests: its last 5 requests got no response (tools/call "t": no response or progress for 5s: context deadline exceeded); Junction tries it again in 2s: try again then, or restart it`
		if err == nil || took != 0 || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), `server "s"`) != 1 {
			t.Errorf("one more took %v: %v\nwant %s", took, err, want)
		}
		if s.calls.Load() != 5 {
			t.Errorf("the server got %d calls", s.calls.Load())
		}
		if one := g.Status()[0]; one.State != gateway.Unresponsive || one.Err == nil || !strings.Contains(one.Err.Error(), "its last 5 requests got no response") {
			t.Errorf("the status is %v: %v", one.State, one.Err)
		}
		s.mute.Store(false)
		s.deaf.Store(false)
		time.Sleep(8 * time.Second) // a ping that is under way takes the five of the timeout
		if took, err := call(t.Context()); err != nil || took != 0 {
			t.Errorf("after a ping was answered one took %v: %v", took, err)
		}
		if one := g.Status()[0]; one.State != gateway.Connected || one.Err != nil || s.starts.Load() != 1 {
			t.Errorf("the status is %v: %v, after %d starts", one.State, one.Err, s.starts.Load())
		}
	})
}

func TestReasonsForLostRequestsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		g := gateway.New(gateway.Options{Logger: quiet, RedactErrors: true})
		defer g.Close()
		must(t, add(g, "s", s.dial(15*time.Second)))
		must(t, g.Settle(t.Context()))
		s.mute.Store(true)
		s.deaf.Store(true)
		all := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1})
		for range 5 {
			all.CallTool(t.Context(), "s__t", nil)
		}
		for name, h := range map[string]mcp.Handler{"the gateway": g, "a part": g.Only(gateway.Selection{})} {
			_, err := mcp.NewClient(h).CallTool(t.Context(), "s__t", nil)
			if want := "its last 5 requests got no response (its operator can see the reason); Junction tries it again in 2s"; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "15s") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if one := g.Status()[0]; one.Err == nil || !strings.Contains(one.Err.Error(), `(tools/call "t": no response or progress for 15s`) {
			t.Errorf("the status is %v", one.Err)
		}
	})
}

func TestAServerThatOnlyAnswersPingsIsAskedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		_, call := s.behind(t, 20*time.Second)
		s.mute.Store(true)
		for range 5 {
			call(t.Context())
		}
		for _, pause := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(pause*time.Second - time.Millisecond)
			if took, err := call(t.Context()); err == nil || took != 0 {
				t.Fatalf("in a pause of %ds one took %v: %v", pause, took, err)
			}
			time.Sleep(2 * time.Millisecond)
			if took, err := call(t.Context()); err == nil || took != 20*time.Second {
				t.Fatalf("after a pause of %ds one took %v: %v", pause, took, err)
			}
		}
		s.mute.Store(false)
		time.Sleep(61 * time.Second)
		for range 2 {
			if _, err := call(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.mute.Store(true)
		for range 5 {
			if took, err := call(t.Context()); err == nil || took != 20*time.Second {
				t.Fatalf("after all was well one took %v: %v", took, err)
			}
		}
	})
}

func TestErrorsOfAServerCountAsResponses(t *testing.T) {
	failure, fault := `{"content":[{"type":"text","text":"no"}],"isError":true}`, `{"code":-32603,"message":"broken"}`
	for name, s := range map[string]*moody{"a tool's failure": {}, "an error": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if name == "an error" {
					s.fault.Store(&fault)
				} else {
					s.answer.Store(&failure)
				}
				g, call := s.behind(t, 20*time.Second)
				for range 20 {
					call(t.Context())
				}
				if s.calls.Load() != 20 || g.Status()[0].State != gateway.Connected {
					t.Errorf("it was called %d times, and is %v", s.calls.Load(), g.Status()[0].State)
				}
				s.mute.Store(true)
				for n := range 12 { // never five in a row
					if n%4 == 3 {
						s.mute.Store(false)
						call(t.Context())
						s.mute.Store(true)
					}
					if took, err := call(t.Context()); err == nil || took != 20*time.Second {
						t.Fatalf("call %d took %v: %v", n, took, err)
					}
				}
			})
		})
	}
}

func TestCancelledCallsCountOnlyAfterALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		_, call := s.behind(t, -1)
		s.mute.Store(true)
		giveUp := func(after time.Duration) time.Duration {
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(after, cancel).Stop()
			took, _ := call(ctx)
			synctest.Wait() // the client has its error before the gateway has noted it
			return took
		}
		for range 20 {
			if took := giveUp(5 * time.Second); took != 5*time.Second {
				t.Fatalf("one took %v", took)
			}
		}
		const long = time.Minute + 7*time.Second // not a multiple of the pause between pings: a ping that is answered then would let one more through
		for range 5 {
			if took := giveUp(long); took != long {
				t.Fatalf("one took %v", took)
			}
		}
		if took := giveUp(long); took != 0 {
			t.Errorf("one more took %v", took)
		}
	})
}

func TestAServerThatIsGoneIsStartedAgainThoughACallNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		g, call := s.behind(t, -1)
		s.mute.Store(true)
		s.deaf.Store(true)
		endless := make(chan error, 1)
		go func() { _, err := call(t.Context()); endless <- err }()
		time.Sleep(5 * time.Minute)
		if one := g.Status()[0]; s.starts.Load() != 1 || one.State != gateway.Connected || one.Err == nil || !strings.Contains(one.Err.Error(), "it may be busy with a request, and is restarted if it sends nothing until 00:30:00") {
			t.Errorf("after 5 minutes: %d starts, %v: %v", s.starts.Load(), one.State, one.Err)
		}
		time.Sleep(20 * time.Minute)
		if s.starts.Load() != 1 {
			t.Errorf("after 25 minutes: %d starts", s.starts.Load())
		}
		time.Sleep(10 * time.Minute)
		if err := <-endless; err == nil || !errors.Is(err, mcp.ErrLost) && !strings.Contains(err.Error(), "closed") {
			t.Errorf("the endless call: %v", err)
		}
		if took, err := call(t.Context()); err != nil || s.starts.Load() != 2 {
			t.Errorf("after 35 minutes: %d starts; a call took %v: %v", s.starts.Load(), took, err)
		}
	})
}

func TestInstancesFailSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		dial := s.dial(20 * time.Second)
		must(t, g.Add("s", gateway.Upstream{Isolation: gateway.PerClient, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) { return dial(ctx) }}))
		must(t, g.Settle(t.Context()))
		one, other := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1}), mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1})
		for _, c := range []*mcp.Client{one, other} {
			_, err := c.CallTool(t.Context(), "s__t", nil)
			must(t, err)
		}
		s.mute.Store(true)
		for range 5 {
			_, _ = one.CallTool(t.Context(), "s__t", nil)
		}
		if _, err := one.CallTool(t.Context(), "s__t", nil); err == nil || !strings.Contains(err.Error(), "does not respond") {
			t.Errorf("its own: %v", err)
		}
		if err := g.Status()[0].Err; err == nil || !strings.Contains(err.Error(), "one of 2 instances: ") {
			t.Errorf("the status says %v", err)
		}
		s.mute.Store(false)
		if _, err := other.CallTool(t.Context(), "s__t", nil); err != nil {
			t.Errorf("the other's: %v", err)
		}
	})
}

func TestSilentServersRestartAfterShortTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		_, call := s.behind(t, 5*time.Second) // less than a ping may take
		s.deaf.Store(true)
		time.Sleep(5 * time.Minute)
		if s.starts.Load() != 2 {
			t.Errorf("it was started %d times", s.starts.Load())
		}
		if _, err := call(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The status shows a server that stopped responding within seconds after a client cancels a
// request, before the third ping is lost.
func TestStatusSaysWithinSecondsThatAServerAnswersNoPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &moody{}
		g, call := s.behind(t, -1)
		s.mute.Store(true)
		s.deaf.Store(true)
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		gone := make(chan error, 1)
		go func() { _, err := call(ctx); gone <- err }()
		time.Sleep(time.Second)
		if now := g.Status()[0]; now.Running != 1 || now.Err != nil {
			t.Errorf("while the request runs: %d run, %v", now.Running, now.Err)
		}
		<-gone
		time.Sleep(6 * time.Second)
		now := g.Status()[0]
		if now.Running != 0 || now.State != gateway.Connected || now.Err == nil || !strings.Contains(now.Err.Error(), `server "s" has not answered a ping since `) {
			t.Errorf("after it was given up: %v, %d run, %v", now.State, now.Running, now.Err)
		}
		s.mute.Store(false)
		s.deaf.Store(false)
		if _, err := call(t.Context()); err != nil {
			t.Error(err)
		}
		if now := g.Status()[0]; now.Err != nil {
			t.Errorf("once it answers: %v", now.Err)
		}
	})
}
