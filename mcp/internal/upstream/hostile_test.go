package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// hostilePeer runs functions.
type hostilePeer struct {
	notify func(ctx context.Context, method string, params json.RawMessage) error
	ask    func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error)
}

func (p *hostilePeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if p.notify == nil {
		return nil
	}
	return p.notify(ctx, method, params)
}

func (p *hostilePeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if p.ask == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "no")
	}
	return p.ask(ctx, q)
}

// A request that came while only Alice's call ran is for Alice. When her call is cancelled it must
// not go to Bob, whose call began later.
func TestServerRequestsOfCancelledCallsReachNoOtherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" && strings.Contains(string(m.Params), "bob") {
				<-release
				s.send(done, m.ID)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		alice := &hostilePeer{ask: func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
		calling.Go(func() { bridge.Handle(ctx, request("alice", "alice", alice)) })
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Alice, transfer 1000 from your account 4711?","requestedSchema":{"type":"object","properties":{}}}}`)
		synctest.Wait()
		bob := &askedPeer{}
		calling.Go(func() { bridge.Handle(t.Context(), request("bob", "bob", bob)) })
		synctest.Wait()
		cancel() // Alice goes away
		synctest.Wait()
		if got := bob.all(); got != "" {
			t.Errorf("Bob got Alice's request (%s), and the server got: %s", got, s.received("")[0].Result)
		}
		close(release)
		calling.Wait()
	})
}

// Close must not wait for a client that does not accept a notification.
func TestCloseDoesNotWaitForASlowClient(t *testing.T) {
	called := make(chan struct{})
	bridge, _ := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{},"logging":{}}`, func(s *playedServer, m message) {
		if m.Method == "tools/call" {
			s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	peer := &hostilePeer{notify: func(ctx context.Context, _ string, _ json.RawMessage) error {
		close(called)
		<-ctx.Done() // obeys its context
		return ctx.Err()
	}}
	go bridge.Handle(ctx, request("slow", "x", peer))
	<-called
	closed := make(chan struct{})
	go func() { bridge.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("Close still waits after 5 s for a client that does not take a notification")
		cancel()
		<-closed
	}
}

// A request that the server withdraws must be withdrawn from the client.
func TestAWithdrawnServerRequestIsTakenBackFromTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		release := make(chan struct{})
		bridge, _ := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			if m.Method != "tools/call" {
				return
			}
			for i := range n {
				id := fmt.Sprintf("q%d", i)
				s.send("%s", elicitation(id))
				s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id)
			}
			<-release
			s.send(done, m.ID)
		})
		var open, most atomic.Int32
		peer := &hostilePeer{ask: func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
			now := open.Add(1)
			if now > most.Load() {
				most.Store(now)
			}
			<-ctx.Done()
			open.Add(-1)
			return nil, context.Cause(ctx)
		}}
		var calling sync.WaitGroup
		calling.Go(func() { bridge.Handle(t.Context(), request("c", "x", peer)) })
		time.Sleep(10 * time.Second)
		if got := open.Load(); got > 64 {
			t.Errorf("%d requests that the server took back are still open at the client, at most 64 of one call should ever be (goroutines)", got)
		}
		close(release)
		calling.Wait()
	})
}

// The response to one request must not be used for another with the same id.
func TestAResponseIsForItsOwnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {})
		answer := make(chan struct{})
		var asked atomic.Int32
		peer := &hostilePeer{ask: func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
			if asked.Add(1) == 1 { // "share your name?"
				<-answer
				return json.RawMessage(`{"action":"accept","content":{}}`), nil
			}
			time.Sleep(time.Minute) // the user reads "delete everything?"
			return json.RawMessage(`{"action":"decline"}`), nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		calling.Go(func() { bridge.Handle(ctx, request("c", "x", peer)) })
		synctest.Wait()
		s.send("%s", elicitation("1"))
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`)
		synctest.Wait()
		s.send("%s", elicitation("1")) // another request
		synctest.Wait()
		close(answer)
		time.Sleep(2 * time.Minute)
		for _, m := range s.received("") {
			if strings.Contains(string(m.Result), "accept") {
				t.Errorf("the user declined the second request, the server got %s", m.Result)
			}
		}
		cancel()
		calling.Wait()
	})
}

// The server withdraws its request while the response waits, and uses the id again. The response
// must not be sent.
func TestAResponseToAWithdrawnRequestIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{},"logging":{}}`, func(s *playedServer, m message) {})
		answer, read := make(chan struct{}), make(chan struct{})
		var asked atomic.Int32
		peer := &hostilePeer{
			notify: func(context.Context, string, json.RawMessage) error { <-read; return nil },
			ask: func(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
				if asked.Add(1) == 1 {
					<-answer
					return json.RawMessage(`{"action":"accept","content":{}}`), nil
				}
				return json.RawMessage(`{"action":"decline"}`), nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		calling.Go(func() { bridge.Handle(ctx, request("c", "x", peer)) })
		synctest.Wait()
		s.send("%s", elicitation("1"))
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		synctest.Wait()
		close(answer)
		synctest.Wait()
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`)
		s.send("%s", elicitation("1")) // another request
		synctest.Wait()
		close(read)
		synctest.Wait()
		if got := s.received(""); len(got) != 1 || !strings.Contains(string(got[0].Result), "decline") {
			t.Errorf("the user declined the second request, the server got %+v", got)
		}
		cancel()
		calling.Wait()
	})
}

// A client that does not come back must not block all others.
func TestAParkedCallDoesNotBlockOtherClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			switch {
			case m.Method != "tools/call":
			case strings.Contains(string(m.Params), "slow"):
				<-release
				s.send(done, m.ID)
			case strings.Contains(string(m.Params), "asks"):
				s.send("%s", elicitation("park-me"))
			default:
				s.send(done, m.ID)
			}
		})
		// Two clients call at once, and the server asks: from now on calls run in turn.
		var calling sync.WaitGroup
		for _, who := range []string{"a", "b"} {
			calling.Go(func() { bridge.Handle(t.Context(), request(who, "slow", &askedPeer{})) })
		}
		synctest.Wait()
		s.send("%s", elicitation("whose"))
		synctest.Wait()
		close(release)
		calling.Wait()
		// A modern client begins a call and never comes back.
		rude := &hostilePeer{ask: func(context.Context, mcp.ServerRequest) (json.RawMessage, error) { return nil, mcp.ErrInputRequired }}
		req := request("rude", "asks", rude)
		req.State = new(mcp.State)
		if _, err := bridge.Handle(t.Context(), req); err != mcp.ErrInputRequired {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := bridge.Handle(ctx, request("polite", "quick", &askedPeer{})); err != nil {
			t.Errorf("another client's call after %v: %v", time.Since(began), err)
		}
	})
}

// A server that continues a call after it was given up may ask for its client when only another
// client's call is open.
func TestRequestsAfterACancelledCallReachNoOtherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		bridge, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" && strings.Contains(string(m.Params), "bob") {
				<-release
				s.send(done, m.ID)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		calling.Go(func() { bridge.Handle(ctx, request("alice", "alice", &askedPeer{})) })
		synctest.Wait()
		cancel() // Alice goes away; the server ignores it
		synctest.Wait()
		bob := &askedPeer{}
		calling.Go(func() { bridge.Handle(t.Context(), request("bob", "bob", bob)) })
		synctest.Wait()
		const ask = `{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":{"message":"Alice, transfer 1000?","requestedSchema":{"type":"object","properties":{}}}}`
		s.send(ask, "late")
		synctest.Wait()
		if got := bob.all(); got != "" {
			t.Errorf("Bob was asked Alice's request (%s)", got)
		}
		if got := s.received(""); len(got) != 1 || got[0].Error == nil {
			t.Errorf("the server got %+v, want an error", got)
		}
		time.Sleep(time.Minute) // long after it
		s.send(ask, "later")
		synctest.Wait()
		if got := bob.all(); got != "elicitation/create" {
			t.Errorf("a minute later Bob was asked %q", got)
		}
		close(release)
		calling.Wait()
	})
}

// Close must not wait without limit for a client that reads nothing.
func TestCloseWaitsOnlySoLongForAPeerThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bridge, _ := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{},"logging":{}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" {
				s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			}
		})
		release := make(chan struct{})
		peer := &hostilePeer{notify: func(context.Context, string, json.RawMessage) error {
			<-release // a Write to a pipe without a reader
			return nil
		}}
		var calling sync.WaitGroup
		calling.Go(func() { bridge.Handle(t.Context(), request("slow", "x", peer)) })
		synctest.Wait()
		closed := make(chan struct{})
		go func() { bridge.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(time.Minute):
			t.Error("Close still waits after a minute")
		}
		close(release)
		<-closed
		calling.Wait()
	})
}
