package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// parkOne begins a call, makes the server ask with the id, and returns the error that ends the
// client's round.
func parkOne(t *testing.T, c *conn, e *legacy, s *session, id jsonrpc.ID, req *mcp.Request) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := e.call(t.Context(), s, req)
		ended <- err
	}()
	synctest.Wait()
	k, _ := c.unnamed()
	c.receive(k, &jsonrpc.Message{Kind: jsonrpc.Request, ID: id, Method: methodElicit})
	return <-ended
}

// Clients that never come back must not fill the memory with their parameters.
func TestParkedCallsAreLimitedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{})
		parked := 0
		for i := range 64 {
			params := json.RawMessage(`{"arguments":"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"}`)
			req := &mcp.Request{Method: methodToolsCall, Params: params, Peer: laterPeer{}, State: new(mcp.State)}
			switch err := parkOne(t, c, e, s, jsonrpc.IntID(int64(i)), req); {
			case err == mcp.ErrInputRequired:
				parked++
			case !strings.Contains(err.Error(), "wait for their clients already"):
				t.Fatal(err)
			}
		}
		if parked < 8 || parked > 16 {
			t.Errorf("%d calls of 1 MiB are parked", parked)
		}
		c.Close()
		if e.parkedBytes.Used() != 0 {
			t.Errorf("%d bytes are left behind", e.parkedBytes.Used())
		}
	})
}

// countingPeer counts requests and responds.
type countingPeer struct {
	noPeer
	asked atomic.Int32
}

func (p *countingPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	p.asked.Add(1)
	return json.RawMessage(`{"action":"decline"}`), nil
}

// Requests of the server in a call that it ended are over, even before the client comes back: a
// restarted server uses the same ids.
func TestAnIDIsFreeWhenTheCallThatItWasUsedInIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{}
		c, e, s := quietConn(t, l)
		defer c.Close()
		if err := parkOne(t, c, e, s, "0", &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: laterPeer{}, State: new(mcp.State)}); err != mcp.ErrInputRequired {
			t.Fatal(err)
		}
		alice, _ := c.unnamed()
		alice.events.put(event{kind: response, err: context.Canceled}) // its stream broke: the server restarts
		synctest.Wait()
		bob := &countingPeer{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			e.call(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "bob", Peer: bob})
			close(ended)
		}()
		synctest.Wait()
		k, _ := c.unnamed()
		c.receive(k, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "0", Method: methodElicit})
		synctest.Wait()
		if n := bob.asked.Load(); n != 1 || !strings.Contains(l.all(), "decline") {
			t.Errorf("Bob was asked %d times, and the server was sent %s", n, l.all())
		}
		cancel()
		<-ended
	})
}
