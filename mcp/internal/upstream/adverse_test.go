package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

const done = `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`

func elicitation(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`, id)
}

// The retry of a modern client resumes the call at the moment when the server withdraws its
// request.
func TestWithdrawalsDuringAResumptionBlockNoClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := 0
		bridge, _ := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			if m.Method != "tools/call" {
				return
			}
			mu.Lock()
			n := calls
			calls++
			mu.Unlock()
			for i := range 30 {
				s.send("%s", elicitation(fmt.Sprintf("q%d-%d", n, i)))
			}
			time.Sleep(20*time.Millisecond + time.Duration(n%40)*100*time.Microsecond)
			for i := range 30 {
				s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q%d-%d"}}`, n, i)
			}
			s.send(done, m.ID)
		})
		c, err := mcp.DialWith(t.Context(), stream.Pipe(bridge), mcp.ClientOptions{Revision: "2026-07-28", OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{}`)}, nil
		}})

		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var calling sync.WaitGroup
		for range 16 {
			calling.Go(func() {
				for range 10 {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					if _, err := c.CallTool(ctx, "ask", nil); err != nil && ctx.Err() != nil {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		calling.Wait()
	})
}

func TestServerThatDoesNotRespondToSetLevelHoldsUpNoCall(t *testing.T) {
	const levelTime, sendTime = 100 * time.Millisecond, 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c, s := played(t, mcp.ClientOptions{OnLog: func(mcp.LogMessage) {}}, `{"tools":{},"logging":{}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" {
				if len(s.received("logging/setLevel")) != 1 {
					t.Error("the call came before the level")
				}
				s.send(done, m.ID)
			}
		})
		began := time.Now()
		var calling sync.WaitGroup
		for range 3 {
			calling.Go(func() {
				if _, err := c.CallTool(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		if took := time.Since(began); took != levelTime {
			t.Errorf("three calls took %v, want %v", took, levelTime)
		}
		began = time.Now()
		if _, err := c.CallTool(t.Context(), "b", nil); err != nil || time.Since(began) != 0 {
			t.Errorf("the next took %v: %v", time.Since(began), err)
		}
		time.Sleep(2 * sendTime)
		if _, err := c.CallTool(t.Context(), "c", nil); err != nil || len(s.received("logging/setLevel")) != 1 {
			t.Errorf("a later one: %v; the level was set %d times", err, len(s.received("logging/setLevel")))
		}
	})
}

func TestARequestThatCouldBeForSeveralClientsGoesToNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" {
				<-release
				s.send(done, m.ID)
			}
		})
		first, second := &askedPeer{}, &askedPeer{}
		var calling sync.WaitGroup
		call := func(caller string, peer mcp.Peer) {
			calling.Go(func() {
				if _, err := bridge.Handle(t.Context(), request(caller, "x", peer)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		call("first", first)
		call("second", second)
		s.send("%s", elicitation("the one it means"))
		synctest.Wait()
		if first.all()+second.all() != "" {
			t.Errorf("with two that call: %q and %q were asked", first.all(), second.all())
		}
		responses := s.received("")
		if last := responses[len(responses)-1]; string(last.ID) != `"the one it means"` || last.Error == nil {
			t.Errorf("the server got %+v, want an error", last)
		}
		close(release)
		calling.Wait()

		// From now on only the calls of one client run at the same time.
		release = make(chan struct{})
		call("first", first)
		call("first", first)
		call("second", second)
		if n := len(s.received("tools/call")); n != 4 {
			t.Errorf("the server got %d calls, want those of the first client and not that of the second", n-2)
		}
		s.send("%s", elicitation("now"))
		synctest.Wait()
		if first.all() != "elicitation/create" || second.all() != "" {
			t.Errorf("asked: %q and %q", first.all(), second.all())
		}
		close(release)
		calling.Wait()
	})
}

func TestCapabilitiesOfSharedAndSingleSessions(t *testing.T) {
	declared := func(o mcp.ClientOptions) string {
		_, s := played(t, o, `{}`, func(*playedServer, message) {})
		var params struct{ Capabilities json.RawMessage }
		_ = json.Unmarshal(s.received("initialize")[0].Params, &params)
		return string(params.Capabilities)
	}
	if got, want := declared(mcp.ClientOptions{Bridge: true}), `{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`; got != want {
		t.Errorf("for many clients %s, want %s", got, want)
	}
	one := &mcp.Meta{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}}
	if got, want := declared(mcp.ClientOptions{Bridge: true, OneClient: one}), `{"roots":{}}`; got != want {
		t.Errorf("for one client %s, want %s", got, want)
	}
	if got, want := declared(mcp.ClientOptions{Bridge: true, OneClient: &mcp.Meta{}}), `{}`; got != want {
		t.Errorf("for one client that declared nothing %s, want %s", got, want)
	}
}

func TestRequestsOutsideOfCallsReachTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bridge, s := played(t, mcp.ClientOptions{Bridge: true, OneClient: &mcp.Meta{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}}}, `{"tools":{}}`, func(s *playedServer, m message) {
			switch {
			case m.Method == "notifications/initialized":
				s.send(`{"jsonrpc":"2.0","id":"roots","method":"roots/list"}`)
			case m.Method == "tools/call":
				time.Sleep(time.Second)
				s.send(done, m.ID)
			}
		})
		synctest.Wait()
		if got := s.received(""); len(got) != 0 {
			t.Fatalf("before a call the server got %+v", got)
		}
		peer := &askedPeer{}
		if _, err := bridge.Handle(t.Context(), request("one", "x", peer)); err != nil {
			t.Fatal(err)
		}
		if got := s.received(""); peer.all() != "roots/list" || len(got) != 1 || string(got[0].ID) != `"roots"` || got[0].Result == nil {
			t.Errorf("asked %q, and the server got %+v", peer.all(), got)
		}
	})
}

// Many servers log as soon as they start. These messages must not reach a connection before its
// session is set. Run with -race.
func TestAServerMaySpeakBeforeTheHandshakeIsOver(t *testing.T) {
	for range 20 {
		c, _ := played(t, mcp.ClientOptions{}, `{"logging":{}}`, func(s *playedServer, m message) {})
		c.Close()
	}
	synctest.Test(t, func(t *testing.T) {
		near, s := playedBefore(t)
		c, err := mcp.Dial(t.Context(), stream.Over(near, "early"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		synctest.Wait() // responses are sent in goroutines, in any order
		if got := s.received(""); !slices.ContainsFunc(got, func(m message) bool { return string(m.ID) == `"ping"` && m.Result != nil }) {
			t.Errorf("a ping before the handshake was answered with %+v", got)
		}
	})
}

// A server that never answers resources/subscribe must not block notifications of its lists.
func TestASubscriptionThatIsNotAnsweredHoldsUpNoOtherNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := played(t, mcp.ClientOptions{}, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`, func(*playedServer, message) {})
		ctx, cancel := context.WithCancel(t.Context())
		heard, ended := make(chan mcp.Notification, 1), make(chan error)
		go func() {
			ended <- c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://a", "test://b"}}, func(n mcp.Notification) { heard <- n })
		}()
		time.Sleep(time.Minute)
		s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		synctest.Wait()
		select {
		case <-heard:
		default:
			t.Error("after a minute the client hears nothing")
		}
		cancel()
		<-ended
	})
}
