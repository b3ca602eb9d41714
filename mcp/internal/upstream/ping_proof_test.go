package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// secondPeer responds after a second.
type secondPeer struct{ noPeer }

func (secondPeer) Ask(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
	if idle.Wait(ctx, time.Second) != nil {
		return nil, ctx.Err()
	}
	return json.RawMessage(`{"action":"accept"}`), nil
}

// The response to a call is lost while its client is asked a request from the server's own stream.
// The call is sent again, and the client is asked again. Its response must reach the server, and
// not the end of the first attempt.
func TestAfterARepetitionTheServerGetsTheClientsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			e.begin(ctx, s, &mcp.Request{Method: methodPromptsGet, Caller: "alice", Peer: secondPeer{}})
		}()
		synctest.Wait()
		k, _ := c.unnamed()
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "7", Method: methodElicit})
		time.Sleep(time.Second / 2)
		l.end(k.id) <- fmt.Errorf("broken: %w", link.ErrNoResponse)
		time.Sleep(3 * time.Second)
		if !strings.Contains(l.all(), `"id":7,"result"`) {
			t.Errorf("the server was sent %q", l.all())
		}
		cancel()
		<-ended
		c.Close()
	})
}

// A call waits for the server to leave those of others when the connection is closed.
func TestACallThatWaitsForOthersEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		l.stalls = true
		c, e, s := quietConn(t, l)
		e.namesNone.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
		ended := make(chan time.Time, 1)
		go func() {
			e.begin(t.Context(), s, &mcp.Request{Method: methodPromptsGet, Caller: "bob", Peer: waitingPeer{}})
			ended <- time.Now()
		}()
		time.Sleep(100 * time.Millisecond)
		c.Close()
		closed := time.Now()
		if after := (<-ended).Sub(closed); after > 1100*time.Millisecond {
			t.Errorf("Bob's call ended %v after Close had returned", after)
		}
	})
}

// A server accepts the cancellation of Alice's call and responds to no ping. Five others call.
func TestCallsOfOthersWaitAtMostLingerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		c, e, s := quietConn(t, l)
		e.namesNone.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var mu sync.Mutex
		var last time.Time
		l.onCall = func(out link.Out) {
			if out.Method == methodPromptsGet {
				mu.Lock()
				last = time.Now()
				mu.Unlock()
				end := l.end(out.ID)
				go func() { end <- fmt.Errorf("over") }()
			}
		}
		e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
		began := time.Now()
		var calling sync.WaitGroup
		for i := range 5 {
			calling.Go(func() {
				e.begin(t.Context(), s, &mcp.Request{Method: methodPromptsGet, Caller: i, Peer: waitingPeer{}})
			})
		}
		calling.Wait()
		if held := last.Sub(began); held <= 0 || held > lingerWait+time.Second {
			t.Errorf("the last of 5 calls, which take no time, was held for %v, allowed are %v", held, lingerWait)
		}
		c.Close()
	})
}

// A pingedLink responds to a ping as the test requires.
type pingedLink struct {
	calledLink
	onPing func(deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error)
}

func (l *pingedLink) Call(ctx context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	if out.Method == methodPing {
		return l.onPing(deliver)
	}
	return l.calledLink.Call(ctx, out, deliver)
}

// A server over HTTP without ping responds with the status 400 and a protocol error: it has read
// the cancellation.
func TestAPingThatIsRefusedWithAStatusIsAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pings := 0
		l := &pingedLink{onPing: func(func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
			pings++
			return nil, fmt.Errorf("refused: %w", &mcp.StatusError{Status: 400, Fault: &mcp.Error{Code: -32601, Message: "no such method"}})
		}}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
		began := time.Now()
		for c.othersLinger("bob") {
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("Bob cannot be asked for %v, and the server got %d pings", took, pings)
		}
		c.Close()
	})
}

// A request on the channel of a request of the connection itself belongs to no client (compare
// legacy.ping). Here it is the channel of the ping after a cancellation.
func TestRequestsOnThePingChannelAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pingedLink{}
		pinged := make(chan struct{})
		l.onPing = func(deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
			<-pinged
			deliver(&jsonrpc.Message{Kind: jsonrpc.Request, ID: "7", Method: methodElicit})
			return &jsonrpc.Message{Kind: jsonrpc.Response}, nil
		}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
		again, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			e.begin(again, s, &mcp.Request{Method: methodPromptsGet, Caller: "alice", Peer: secondPeer{}})
		}()
		synctest.Wait()
		close(pinged)
		time.Sleep(3 * time.Second)
		if strings.Contains(l.all(), `"id":7,"result"`) {
			t.Errorf("another call was asked: the server was sent %q", l.all())
		}
		if e.namesNone.Load() {
			t.Error("a server that names the calls of all it asks is taken for one that names none")
		}
		stop()
		<-ended
		c.Close()
	})
}
