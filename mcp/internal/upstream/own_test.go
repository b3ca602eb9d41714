package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A server on HTTP may ask on the stream of a request that the connection made for
// itself, such as the log level: it must get a response, and nothing may stay.
func TestARequestOnTheChannelOfAnOwnRequestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{}
		c, e, _ := quietConn(t, l)
		defer c.Close()
		k, err := c.addCall(&mcp.Request{Method: methodSetLevel, Peer: noPeer{}})
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

// laterPeer responds only in the next round.
type laterPeer struct{ noPeer }

func (laterPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.ErrInputRequired
}

// A client comes back to a parked call, which was not sent yet, while the
// connection is closed.
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

// A server that floods the calls of clients that do not read must not fill the
// memory with each of them.
func TestNotificationsOfAllCallsAreLimited(t *testing.T) {
	c, _, s := quietConn(t, &sentLink{})
	defer c.Close()
	var calls []*call
	for range 64 {
		k, err := c.addCall(&mcp.Request{Method: methodToolsCall})
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
	k, err := c.addCall(&mcp.Request{Method: methodToolsCall})
	if err != nil {
		t.Fatal(err)
	}
	c.receiveLog(s, k, &jsonrpc.Message{Kind: jsonrpc.Notification, Method: notificationMessage, Params: make([]byte, 1<<20)})
	if n := len(k.events.take()); n != 1 {
		t.Errorf("after all, %d notifications of a call wait, want 1", n)
	}
}

// Listen requests last: those of one client must not take all the room that calls of
// others need.
func TestListenRequestsLeaveRoomForCalls(t *testing.T) {
	c, _, _ := quietConn(t, &sentLink{})
	defer c.Close()
	var last *call
	for range maxCalls {
		if k, err := c.addCall(&mcp.Request{Method: methodListen}); err == nil {
			last = k
		}
	}
	if _, err := c.addCall(&mcp.Request{Method: methodToolsCall}); err != nil {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.addCall(&mcp.Request{Method: methodListen}); err == nil {
		t.Error("there is no limit of listen requests")
	}
	c.finishCall(last)
	if _, err := c.addCall(&mcp.Request{Method: methodListen}); err != nil {
		t.Errorf("after one is over: %v", err)
	}
}
