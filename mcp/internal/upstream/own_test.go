package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A server on HTTP may ask on the stream of a request of the connection itself, such as the log
// level. It must get a response, and no state may remain.
func TestARequestOnTheChannelOfAnOwnRequestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{}
		c, e, _ := quietConn(t, l)
		defer c.Close()
		k, err := c.addCall(t.Context(), &mcp.Request{Method: methodSetLevel, Peer: noPeer{}})
		if err != nil {
			t.Fatal(err)
		}
		c.receive(k, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodElicit})
		c.finishCall(k)
		synctest.Wait()
		if !strings.Contains(l.all(), `"id":1,"error"`) || len(e.asked) != 0 {
			t.Errorf("the server was sent %q; left behind: %d requests", l.all(), len(e.asked))
		}
	})
}

// Over HTTP a withdrawal may come on another stream and overtake its request.
func TestWithdrawnRequestsAreNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{})
		peer := &countingPeer{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			e.call(ctx, s, &mcp.Request{Method: methodToolsCall, Peer: peer})
			close(ended)
		}()
		synctest.Wait()
		k, _ := c.unnamed()
		r := &serverRequest{session: s, message: &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodElicit}}
		if !e.register(r) || !e.assign(r, true, func() { k.events.put(event{kind: withdrawn, request: r}) }) {
			t.Fatal("the request was not taken")
		}
		e.withdraw(r.key())
		k.events.put(event{kind: requested, message: r.message, request: r})
		synctest.Wait()
		if n := peer.asked.Load(); n != 0 || len(e.asked) != 0 {
			t.Errorf("the client was asked %d times; left behind: %d requests", n, len(e.asked))
		}
		cancel()
		<-ended
		c.Close()
	})
}

// The ids of a new session start like those of the previous one. Messages on the stream of a call
// of the previous session are not about the new one's requests.
func TestNothingOfASessionThatWasReplacedIsTakenForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{}
		c, e, old := quietConn(t, l)
		old.id = "1"
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		begin := func(s *session) *call {
			calling.Go(func() { e.call(ctx, s, &mcp.Request{Method: methodToolsCall, Peer: waitingPeer{}}) })
			synctest.Wait()
			k, _ := c.unnamed()
			return k
		}
		say := func(k *call, text string) (open int) {
			m, fault := jsonrpc.Parse([]byte(text), jsonrpc.Limits{})
			if fault != nil {
				t.Fatal(fault)
			}
			c.receive(k, &m)
			synctest.Wait()
			return len(e.asked)
		}
		const ask, ping = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}`, `{"jsonrpc":"2.0","id":9,"method":"ping"}`
		alice := begin(old)
		if open := say(alice, ask); open != 1 {
			t.Errorf("Alice: %d requests are open", open)
		}
		next := &session{id: "2", era: e, revision: old.revision}
		c.session.Store(next)
		e.withdrawOthers(next)
		if synctest.Wait(); len(e.asked) != 0 || l.all() != "" {
			t.Errorf("of the old session %d requests are open, and the server was sent %s", len(e.asked), l.all())
		}
		bob := begin(next)
		if open := say(bob, ask); open != 1 {
			t.Errorf("Bob: %d requests are open", open)
		}
		if open := say(alice, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`); open != 1 {
			t.Error("a withdrawal in the old session withdrew a request of the new one")
		}
		if open := say(alice, `{"jsonrpc":"2.0","id":8,"method":"elicitation/create"}`); open != 1 {
			t.Error("a client is asked in the old session")
		}
		say(alice, ping)
		say(bob, ping)
		if !slices.Equal(l.sessions, []jsonrpc.ID{"1", "2"}) {
			t.Errorf("responses went to the sessions %q", l.sessions)
		}
		cancel()
		calling.Wait()
		c.Close()
	})
}

// An askingLink is a server that asks before it answers initialize.
type askingLink struct{ sentLink }

func (l *askingLink) Call(_ context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	deliver(&jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodRootsList})
	m, fault := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"a","version":"1"}}}`), jsonrpc.Limits{})
	if fault != nil {
		return nil, fault
	}
	return &m, nil
}

// A request that the server sends while it begins the next session belongs to neither.
func TestARequestDuringAHandshakeIsRefusedAlsoInTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &askingLink{}
		c, e, _ := quietConn(t, l)
		defer c.Close()
		if err := e.handshake(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !strings.Contains(l.all(), "the handshake is not over yet") {
			t.Errorf("the server was sent %s", l.all())
		}
	})
}

// laterPeer responds only in the next round.
type laterPeer struct{ noPeer }

func (laterPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.ErrInputRequired
}

// A client comes back to a parked, unsent call while the connection is closed.
func TestAClientMayComeBackWhileTheConnectionIsClosed(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			c, err := open(t.Context(), func(context.Context) (link.Link, error) { return &sentLink{}, nil }, mcp.ConnectOptions{Name: "quiet", OneClient: true, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			e := newLegacy(c)
			s := &session{era: e, revision: revision.LatestLegacy()}
			c.session.Store(s)
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodRootsList})
			req := &mcp.Request{Method: methodToolsCall, Peer: laterPeer{}, State: new(mcp.State)}
			if _, err := e.call(t.Context(), s, req); err != mcp.ErrInputRequired {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := e.call(t.Context(), s, req); err == nil {
					t.Error("a call that was never sent has a result")
				}
			})
			both.Go(func() { c.Close() })
			both.Wait()
		})
	}
}

// A server that floods the calls of clients that do not read must not fill the memory with all of
// them.
func TestNotificationsOfAllCallsAreLimited(t *testing.T) {
	c, _, s := quietConn(t, &sentLink{})
	defer c.Close()
	var calls []*call
	for range 64 {
		k, err := c.addCall(t.Context(), &mcp.Request{Method: methodToolsCall})
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, k)
		for range 4 {
			c.receiveLog(s, k, &jsonrpc.Message{Kind: jsonrpc.Notification, Method: notificationMessage, Params: make([]byte, 1<<20)})
		}
	}
	held := 0
	for _, k := range calls {
		held += k.events.bytes
	}
	if held > 32<<20 {
		t.Errorf("%d MiB of notifications wait", held>>20)
	}
	for _, k := range calls {
		c.finishCall(k)
	}
	k, err := c.addCall(t.Context(), &mcp.Request{Method: methodToolsCall})
	if err != nil {
		t.Fatal(err)
	}
	c.receiveLog(s, k, &jsonrpc.Message{Kind: jsonrpc.Notification, Method: notificationMessage, Params: make([]byte, 1<<20)})
	if n := len(k.events.take()); n != 1 {
		t.Errorf("after all, %d notifications of a call wait, want 1", n)
	}
}

// Listen requests last. Those of one client must leave room for the calls of others.
func TestListenRequestsLeaveRoomForCalls(t *testing.T) {
	c, _, _ := quietConn(t, &sentLink{})
	defer c.Close()
	var last *call
	for range maxCalls {
		if k, err := c.addCall(t.Context(), &mcp.Request{Method: methodListen}); err == nil {
			last = k
		}
	}
	if _, err := c.addCall(t.Context(), &mcp.Request{Method: methodToolsCall}); err != nil {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.addCall(t.Context(), &mcp.Request{Method: methodListen}); err == nil {
		t.Error("there is no limit of listen requests")
	}
	c.finishCall(last)
	if _, err := c.addCall(t.Context(), &mcp.Request{Method: methodListen}); err != nil {
		t.Errorf("after one is over: %v", err)
	}
}
