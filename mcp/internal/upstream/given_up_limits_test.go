package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Bob waits for Alice's turn, so her next call waits behind him. When Bob gives up, her call has no
// reason to wait.
func TestCallsDoNotWaitForClosedClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := new(callerTurn)
		if err := turn.acquire(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		bob, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { turn.acquire(bob, "bob") })
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		waiting.Go(func() {
			if err := turn.acquire(ctx, "alice"); err != nil {
				t.Errorf("Alice's second call waited an hour for her first, though nobody else waits: %v", err)
			}
		})
		synctest.Wait()
		leave()
		waiting.Wait()
		if turn.wanted() {
			t.Error("a parked call of Alice would be given up for others, and there are none")
		}
	})
}

// The response to Alice's parked call comes. The call then no longer holds the turn, and calls of
// others do not wait for it. The response is kept until she comes back.
func TestAResponseIsKeptForAParkedCallThatHoldsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &respondingLink{}
		c, e, s := quietConn(t, l)
		e.namesNone.Store(true)
		state := new(mcp.State)
		alice := &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: laterPeer{}, State: state}
		if err := parkOne(t, c, e, s, "0", alice); err != mcp.ErrInputRequired {
			t.Fatal(err)
		}
		k, _ := c.unnamed()
		l.end(k.id) <- &jsonrpc.Message{Kind: jsonrpc.Response, Result: json.RawMessage(`{"content":[]}`)}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		for _, who := range []string{"bob", "carol"} { // Bob's call runs, and Carol's waits for it
			calling.Go(func() { e.call(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: who, Peer: waitingPeer{}}) })
			synctest.Wait()
		}
		time.Sleep(turnTime + time.Second)
		synctest.Wait()
		again := &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: laterPeer{}, State: state}
		if _, err := e.call(t.Context(), s, again); err != nil {
			t.Errorf("Alice's response came, and was lost before she was back after 21 s: %v", err)
		}
		cancel()
		calling.Wait()
		c.Close()
	})
}

// A respondingLink responds as the test requires.
type respondingLink struct {
	sentLink
	ends map[jsonrpc.ID]chan *jsonrpc.Message
}

func (l *respondingLink) end(id jsonrpc.ID) chan *jsonrpc.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = map[jsonrpc.ID]chan *jsonrpc.Message{}
	}
	if l.ends[id] == nil {
		l.ends[id] = make(chan *jsonrpc.Message)
	}
	return l.ends[id]
}

func (l *respondingLink) Call(ctx context.Context, out link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	if out.Method == methodPing {
		return &jsonrpc.Message{Kind: jsonrpc.Response, ID: out.ID}, nil
	}
	select {
	case m := <-l.end(out.ID):
		m.ID = out.ID
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// The only client is asked for its roots before its call is sent, and does not come back. The
// server gives up its request. The tool must not run without a client.
func TestAnUnsentParkedCallIsNotSentWhileItsClientIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		c, e, s := oneClientConn(t, l)
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodRootsList})
		req := &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: laterPeer{}, State: new(mcp.State)}
		if _, err := e.call(t.Context(), s, req); err != mcp.ErrInputRequired {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		m, fault := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`), jsonrpc.Limits{})
		if fault != nil {
			t.Fatal(fault)
		}
		c.receive(nil, &m)
		time.Sleep(2 * parkTime)
		synctest.Wait()
		if n := strings.Count(l.called(), methodToolsCall); n != 0 {
			t.Errorf("the server ran the tool %d times, though its client was answered that input is required, and never came back", n)
		}
		c.Close()
	})
}

// A lateLink accepts no notification for a while. None of its requests is known to have arrived.
type lateLink struct {
	sentLink
	takes func() error // result for a notification
	http  bool
}

func (l *lateLink) Call(ctx context.Context, out link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	switch out.Method {
	case methodPing:
		return &jsonrpc.Message{Kind: jsonrpc.Response, ID: out.ID}, nil
	case methodInitialize:
		result := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"late","version":"1"}}`)
		m, fault := jsonrpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, out.ID, result), jsonrpc.Limits{})
		if fault != nil {
			return nil, fault
		}
		return &m, nil
	}
	<-ctx.Done()
	return nil, fmt.Errorf("%w; %w", context.Cause(ctx), link.ErrMayArrive)
}

func (l *lateLink) Send(ctx context.Context, out link.Out) error {
	if l.takes != nil {
		if err := l.takes(); err != nil {
			<-ctx.Done()
			return err
		}
	}
	return l.sentLink.Send(ctx, out)
}

func (l *lateLink) ClosingCancels() bool { return l.http }

// bobIsAsked reports whether Bob is asked the server's request in his call.
func bobIsAsked(t *testing.T, c *conn, e *legacy) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	bob := &countingPeer{}
	ended := make(chan struct{})
	go func() {
		e.begin(ctx, e.session.Load(), &mcp.Request{Method: methodToolsCall, Caller: "bob", Peer: bob})
		close(ended)
	}()
	synctest.Wait()
	c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "7", Method: methodElicit})
	synctest.Wait()
	cancel()
	<-ended
	return bob.asked.Load() == 1
}

// Alice gives up a call while the server stalls for six seconds. It does not accept the first
// cancellation but the following ones.
func TestACancellationThatIsTakenWhenItIsRepeatedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := &lateLink{takes: func() error {
			if time.Since(began) < 5500*time.Millisecond {
				return context.DeadlineExceeded
			}
			return nil
		}}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
			close(ended)
		}()
		synctest.Wait()
		cancel()
		<-ended
		time.Sleep(time.Minute)
		if n := strings.Count(l.all(), notificationCancelled); n == 0 {
			t.Fatal("no cancellation came through")
		}
		if !bobIsAsked(t, c, e) {
			t.Error("a minute after the server took the cancellation, and answers pings, Bob is still refused what it asks in his only call")
		}
		c.Close()
	})
}

// lostLink is a link on HTTP whose server restarts.
type lostLink struct {
	lateLink
	lost bool
}

func (l *lostLink) Call(ctx context.Context, out link.Out, f func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	m, err := l.lateLink.Call(ctx, out, f)
	if err != nil {
		err = context.Cause(ctx) // it has arrived
	}
	return m, err
}

func (l *lostLink) Send(ctx context.Context, out link.Out) error {
	l.mu.Lock()
	lost := l.lost
	l.mu.Unlock()
	if lost {
		return fmt.Errorf("send a message: %w", link.ErrSessionLost)
	}
	return l.lateLink.Send(ctx, out)
}

func (l *lostLink) set(lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = lost
}

// The server restarted while Alice's call was open, and she gives up before there is a new session.
// The call ended with its session and cannot cause requests in the new one.
func TestACallOfALostSessionLingersInNoNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lostLink{lateLink: lateLink{http: true}}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
			close(ended)
		}()
		synctest.Wait()
		l.set(true)
		cancel()
		<-ended
		time.Sleep(time.Second)
		l.set(false)
		if _, err := e.renew(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if !bobIsAsked(t, c, e) {
			t.Error("a minute after the restart Bob is refused what the new session asks in his only call, for Alice's call in the old one")
		}
		c.Close()
	})
}

// One client calls and cancels, ten calls at a time. The server is healthy and accepts every
// cancellation at once. Others can still call.
func TestAClientThatCallsAndCancelsDoesNotKeepOthersFromTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &lateLink{})
		var refused error
		for range maxCalls/10 + 1 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			var calling sync.WaitGroup
			for range 10 {
				calling.Go(func() { e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "mallory", Peer: noPeer{}}) })
			}
			calling.Wait()
			cancel()
		}
		bob, err := c.addCall(t.Context(), &mcp.Request{Method: methodToolsCall, Caller: "bob"})
		if err != nil {
			refused = err
		} else {
			c.finishCall(bob)
		}
		if refused != nil {
			t.Errorf("5 s after Mallory began, with 10 calls open at most, Bob is refused: %v", refused)
		}
		c.Close()
	})
}

// One client parks calls and never comes back to them. Others must still be asked.
func TestParkedCallsOfOneClientLeaveRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{})
		for i := range maxParkedOfOne {
			req := &mcp.Request{Method: methodToolsCall, Caller: "mallory", Peer: laterPeer{}, State: new(mcp.State)}
			if err := parkNamed(t, c, e, s, jsonrpc.IntID(int64(i)), req); err != mcp.ErrInputRequired {
				t.Fatal(err)
			}
		}
		req := &mcp.Request{Method: methodToolsCall, Caller: "bob", Peer: laterPeer{}, State: new(mcp.State)}
		if err := parkNamed(t, c, e, s, "1000000", req); !errors.Is(err, mcp.ErrInputRequired) {
			t.Errorf("for up to %v Bob's call cannot be parked, as Mallory does not come back to hers: %v; the server was sent %s", parkTime, err, c.link.(*sentLink).all())
		}
		req = &mcp.Request{Method: methodToolsCall, Caller: "mallory", Peer: laterPeer{}, State: new(mcp.State)}
		if err := parkNamed(t, c, e, s, "1000001", req); err == nil || !strings.Contains(err.Error(), "of one client 256") {
			t.Errorf("Mallory has another call parked: %v", err)
		}
		c.Close()
	})
}

// parkNamed is like parkOne, with the server's request on the call's own channel.
func parkNamed(t *testing.T, c *conn, e *legacy, s *session, id jsonrpc.ID, req *mcp.Request) error {
	t.Helper()
	ended := make(chan error, 1)
	before := c.ids.Load()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	go func() {
		_, err := e.call(ctx, s, req)
		ended <- err
	}()
	synctest.Wait()
	k := c.find(json.RawMessage(jsonrpc.IntID(before + 1)))
	c.receive(k, &jsonrpc.Message{Kind: jsonrpc.Request, ID: id, Method: methodElicit})
	return <-ended
}
