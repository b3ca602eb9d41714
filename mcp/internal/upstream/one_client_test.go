package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

var hasRoots = &mcp.Meta{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}}

// roundless is the client of a request without rounds, such as a list.
type roundless struct{ askedPeer }

func (p *roundless) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, errors.New("only calls can ask")
}

// A running list, or the gateway's own listen request, cannot carry the requests of a starting
// server. The client's next call can.
func TestRequestsDuringAListReachTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, listens := range []bool{false, true} {
			bridge, s := played(t, mcp.ClientOptions{Bridge: true, OneClient: hasRoots}, `{"tools":{"listChanged":true}}`, func(s *playedServer, m message) {
				switch m.Method {
				case "tools/list":
					s.send(`{"jsonrpc":"2.0","id":"roots","method":"roots/list"}`)
					synctest.Wait()
					s.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
				case "tools/call":
					s.send(done, m.ID)
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			if listens {
				go func() {
					_ = bridge.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(mcp.Notification) {})
				}()
				synctest.Wait()
			}
			list := mcp.NewRequest("tools/list", nil)
			list.Caller, list.Peer, list.Meta = "one", &roundless{}, *hasRoots
			if _, err := bridge.Handle(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := s.received(""); len(got) != 0 {
				t.Errorf("listening %v: before a call the server got %+v", listens, got)
			}
			peer := &askedPeer{}
			if _, err := bridge.Handle(t.Context(), request("one", "x", peer)); err != nil {
				t.Fatal(err)
			}
			if got := s.received(""); peer.all() != "roots/list" || len(got) != 1 || got[0].Result == nil {
				t.Errorf("listening %v: asked %q, and the server got %+v", listens, peer.all(), got)
			}
			cancel()
			bridge.Close()
		}
	})
}

// A request outside calls that the server withdraws is withdrawn from the client and delays no
// call.
func TestAWithdrawnRequestOutsideOfCallsHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bridge, s := played(t, mcp.ClientOptions{Bridge: true, OneClient: &mcp.Meta{}}, `{"tools":{"listChanged":true}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" {
				s.send(done, m.ID)
			}
		})
		var open atomic.Int32
		peer := &hostilePeer{ask: func(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
			open.Add(1)
			defer open.Add(-1)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
		ctx, cancel := context.WithCancel(t.Context())
		listened := make(chan struct{})
		go func() {
			defer close(listened)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
			req.Caller, req.Peer = "one", peer
			bridge.Handle(ctx, req)
		}()
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}}`)
		synctest.Wait()
		if n := open.Load(); n != 0 {
			t.Errorf("the client is still asked %d requests that the server took back", n)
		}
		began := time.Now()
		_, err := bridge.Handle(t.Context(), request("one", "x", &askedPeer{}))
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("a call took %v (%v): it was held for a request that nobody waits for", took, err)
		}
		cancel()
		<-listened
	})
}

// A listening client that can only be asked in its calls is asked in the call that was held.
func TestHeldCallsTakeOverWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before []message // responses that the server had before the call
		bridge, s := played(t, mcp.ClientOptions{Bridge: true, OneClient: hasRoots}, `{"tools":{"listChanged":true}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" {
				before = s.received("")
				s.send(done, m.ID)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		listened := make(chan struct{})
		go func() {
			defer close(listened)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
			req.Caller, req.Peer = "one", &hostilePeer{ask: func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
				time.Sleep(30 * time.Millisecond)
				return nil, mcp.ErrInputRequired
			}}
			bridge.Handle(ctx, req)
		}()
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
		synctest.Wait()
		peer := &askedPeer{}
		if _, err := bridge.Handle(t.Context(), request("one", "x", peer)); err != nil {
			t.Fatal(err)
		}
		if peer.all() != "roots/list" || len(before) != 1 || before[0].Result == nil {
			t.Errorf("asked %q, and before the call the server got %+v", peer.all(), before)
		}
		cancel()
		<-listened
	})
}

// A listening client cannot be asked on its stream while a call of it runs. It is asked in that
// call, as the next one may never come.
func TestRequestsMoveFromTheStreamToARunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var call message
		bridge, s := played(t, mcp.ClientOptions{Bridge: true, OneClient: hasRoots}, `{"tools":{"listChanged":true}}`, func(s *playedServer, m message) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case m.Method == "tools/call":
				call = m // it needs the roots first
			case m.Method == "" && call.ID != nil:
				s.send(done, call.ID)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		listened := make(chan struct{})
		go func() {
			defer close(listened)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
			req.Caller, req.Peer = "one", &hostilePeer{ask: func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
				time.Sleep(3 * time.Second)
				return nil, mcp.ErrInputRequired
			}}
			bridge.Handle(ctx, req)
		}()
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
		synctest.Wait()
		within, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		defer stop()
		peer := &askedPeer{}
		began := time.Now()
		_, err := bridge.Handle(within, request("one", "x", peer))
		if err != nil {
			t.Errorf("after %v: %v; the call's client was asked %q, and the server got %+v", time.Since(began), err, peer.all(), s.received(""))
		}
		cancel()
		<-listened
	})
}

// visitor responds to a request of the server in the next round.
type visitor struct {
	askedPeer
	round  int
	action string
}

func (v *visitor) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if v.round == 0 {
		return nil, mcp.ErrInputRequired
	}
	_, err := v.askedPeer.Ask(ctx, q)
	return json.RawMessage(`{"action":"` + v.action + `"}`), err
}

// A call that was refused until its user visits a page is sent again only after the user has
// accepted. This also holds if the client responds in the next round.
func TestACallIsNotSentAgainBeforeItsPageIsVisited(t *testing.T) {
	for action, calls := range map[string]int{"accept": 2, "decline": 1} {
		refused := false
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			switch {
			case m.Method == "tools/call" && !refused:
				refused = true
				s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"first the page","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.example/","message":"m"}]}}}`, m.ID)
			case m.Method == "tools/call":
				s.send(done, m.ID)
			}
		})
		v := &visitor{action: action}
		req := request("one", "x", v)
		req.State = new(mcp.State)
		if _, err := bridge.Handle(t.Context(), req); !errors.Is(err, mcp.ErrInputRequired) {
			t.Fatalf("the first round: %v", err)
		}
		v.round++
		_, err := bridge.Handle(t.Context(), req)
		var fault *mcp.Error
		if action == "accept" && err != nil || action != "accept" && (!errors.As(err, &fault) || fault.Code != -32042 || fault.Message != "first the page") {
			t.Errorf("%s: %v", action, err)
		}
		if got := len(s.received("tools/call")); got != calls || v.all() != "elicitation/create" {
			t.Errorf("%s: the server got %d calls, want %d; asked %q", action, got, calls, v.all())
		}
	}
}
