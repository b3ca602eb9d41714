package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// sentLink is a link to a server that only listens.
type sentLink struct {
	mu       sync.Mutex
	sent     []string
	sessions []jsonrpc.ID // of the messages that were sent

	slow      time.Duration // time until Receive has begun
	arrives   time.Duration // time until a request that was given up has arrived
	stalls    bool          // Send never succeeds
	receiving atomic.Bool
}

func (l *sentLink) Call(ctx context.Context, out link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	if out.Method == methodPing {
		return &jsonrpc.Message{Kind: jsonrpc.Response, ID: out.ID}, nil
	}
	<-ctx.Done()
	time.Sleep(l.arrives)
	return nil, ctx.Err()
}

func (l *sentLink) Send(ctx context.Context, out link.Out) error {
	if l.stalls {
		<-ctx.Done()
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent, l.sessions = append(l.sent, string(out.Message)), append(l.sessions, out.Session)
	return nil
}

func (l *sentLink) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.sent, "\n")
}

func (l *sentLink) Receive(ctx context.Context, begun func(), _ func(*jsonrpc.Message)) error {
	time.Sleep(l.slow)
	l.receiving.Store(true)
	begun()
	<-ctx.Done()
	return ctx.Err()
}

func (l *sentLink) Done() <-chan struct{} { return nil }
func (l *sentLink) Err() error            { return nil }
func (l *sentLink) Close() error          { return nil }
func (l *sentLink) ClosingCancels() bool  { return false }

// quietConn returns a connection to a legacy server over the link, after its handshake.
func quietConn(t *testing.T, l link.Link) (*conn, *legacy, *session) {
	t.Helper()
	return connected(t, l, mcp.ConnectOptions{})
}

// oneClientConn is quietConn for the requests of one client.
func oneClientConn(t *testing.T, l link.Link) (*conn, *legacy, *session) {
	t.Helper()
	return connected(t, l, mcp.ConnectOptions{OneClient: true})
}

func connected(t *testing.T, l link.Link, o mcp.ConnectOptions) (*conn, *legacy, *session) {
	t.Helper()
	o.Name, o.Logger = "quiet", slog.New(slog.DiscardHandler)
	c, err := open(t.Context(), func(context.Context) (link.Link, error) { return l, nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	e := newLegacy(c)
	s := &session{era: e, revision: revision.LatestLegacy()}
	c.session.Store(s)
	return c, e, s
}

func TestAConnectionIsUsedOnlyOnceItsMessagesAreReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{slow: time.Second}
		c, _, _ := quietConn(t, l)
		defer c.Close()
		if !l.receiving.Load() {
			t.Error("a call could be made whose response overtakes what comes before it")
		}
	})
}

func TestCallsThatWaitForOneServerAreLimited(t *testing.T) {
	c, _, _ := quietConn(t, &sentLink{})
	defer c.Close()
	for range maxCalls {
		if _, err := c.addCall(t.Context(), &mcp.Request{Method: methodToolsCall}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.addCall(t.Context(), &mcp.Request{Method: methodToolsCall}); err == nil || !strings.Contains(err.Error(), `server "quiet": tools/call: 10000 requests already wait`) {
		t.Errorf("one more: %v", err)
	}
}

// A client that calls and cancels repeatedly must not fill the memory if the server accepts no
// cancellation.
func TestCallsThatAreBeingCancelledCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{stalls: true}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		for range maxCalls {
			calling.Go(func() { e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Peer: waitingPeer{}}) })
		}
		synctest.Wait()
		cancel()
		calling.Wait()
		synctest.Wait()
		req := &mcp.Request{Method: methodToolsCall}
		if _, err := c.addCall(t.Context(), req); len(c.calls) != 0 || err == nil || !strings.Contains(err.Error(), "10000 requests already wait") {
			t.Errorf("%d calls, and one more: %v", len(c.calls), err)
		}
		time.Sleep(sendTime)
		synctest.Wait()
		if _, err := c.addCall(t.Context(), req); err != nil {
			t.Errorf("when the cancellations were given up: %v", err)
		}
		c.Close()
	})
}

func TestRequestsOfTheServerInOneCallAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Peer: waitingPeer{}})
			done <- err
		}()
		synctest.Wait()
		for i := range maxRequested + 1 {
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodElicit})
			synctest.Wait()
		}
		if want := fmt.Sprintf(`"id":%d,"error":{"code":-32603,"message":"64 requests of this call are open already"`, maxRequested); strings.Count(l.all(), "error") != 1 || !strings.Contains(l.all(), want) {
			t.Errorf("the server was sent %s, want one message with %s", l.all(), want)
		}
		cancel()
		if err := <-done; err == nil {
			t.Error("a call that was cancelled has a result")
		}
		if synctest.Wait(); len(e.asked) != 0 || len(c.calls) != 0 {
			t.Errorf("left behind: %d requests of the server, %d calls", len(e.asked), len(c.calls))
		}
		c.Close()
	})
}

// waitingPeer responds when the context ends.
type waitingPeer struct{ noPeer }

func (waitingPeer) Ask(ctx context.Context, _ mcp.ServerRequest) (raw json.RawMessage, err error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestNotificationsThatASlowClientDoesNotTakeAreDropped(t *testing.T) {
	m := &jsonrpc.Message{Kind: jsonrpc.Notification, Method: notificationMessage, Params: []byte(`{"data":1}`)}
	b := newMailbox()
	for range maxEvents + 100 {
		if !b.put(event{kind: notification, message: m}) {
			t.Fatal("the mailbox is closed")
		}
	}
	b.put(event{kind: response})
	if n := len(b.take()); n != maxEvents+1 {
		t.Errorf("%d events wait, want %d notifications and the response", n, maxEvents)
	}
	big := &jsonrpc.Message{Kind: jsonrpc.Notification, Method: notificationMessage, Params: make([]byte, maxEventBytes/2+1)}
	for range 3 {
		b.put(event{kind: notification, message: big})
	}
	if n := len(b.take()); n != 1 {
		t.Errorf("%d large notifications wait, want 1", n)
	}
}

func TestACallIsFoundForAMessageThatNamesNoneOnlyWhereItsClientIsSure(t *testing.T) {
	type open struct {
		id, method string
		caller     any
	}
	tests := []struct {
		name  string
		calls []open
		want  string
		sure  bool
	}{
		{"nothing runs", nil, "", true},
		{"only listening", []open{{"1", methodListen, nil}}, "", true},
		{"one call of a client that is not known", []open{{"1", methodToolsCall, nil}}, "1", true},
		{"the newest call of one client", []open{{"2", methodToolsCall, "a"}, {"10", methodToolsCall, "a"}}, "10", true},
		{"calls of two clients", []open{{"2", methodToolsCall, "a"}, {"10", methodToolsCall, "b"}}, "", false},
		{"two calls of clients that are not known", []open{{"2", methodToolsCall, nil}, {"10", methodToolsCall, nil}}, "", false},
		{"a list in addition to a call", []open{{"2", methodToolsCall, "a"}, {"3", methodToolsList, "b"}, {"4", methodListen, "c"}}, "2", true},
		{"only a list", []open{{"3", methodToolsList, "a"}}, "3", true},
		{"a prompt and a ping", []open{{"7", methodPromptsGet, "a"}, {"8", methodPing, "b"}}, "7", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &conn{calls: map[jsonrpc.ID]*call{}}
			for _, o := range test.calls {
				c.calls[jsonrpc.ID(o.id)] = &call{id: jsonrpc.ID(o.id), method: o.method, caller: o.caller, acceptsRequests: o.method != methodListen}
			}
			got, sure := c.unnamed()
			if sure != test.sure || sure && (got == nil) != (test.want == "") || sure && got != nil && string(got.id) != test.want {
				t.Errorf("found %+v, %v, want %q, %v", got, sure, test.want, test.sure)
			}
		})
	}
}

// Alice gives up a call that arrives after three seconds, and the cancellation waits for that.
// Requests of the server before it can have left the call belong to Alice.
func TestRequestsOfACancelledCallReachNoOtherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{arrives: 3 * time.Second}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		calling.Go(func() { e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}}) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		bob, leave := context.WithCancel(t.Context())
		asked := &countingPeer{}
		calling.Go(func() { e.begin(bob, s, &mcp.Request{Method: methodToolsCall, Caller: "bob", Peer: asked}) })
		for i := range 4 {
			time.Sleep(990 * time.Millisecond)
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodElicit})
			synctest.Wait()
		}
		if n := asked.asked.Load(); n != 0 {
			t.Errorf("Bob was asked %d times for Alice", n)
		}
		time.Sleep(lingerTime)
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "4", Method: methodElicit})
		synctest.Wait()
		if n := asked.asked.Load(); n != 1 {
			t.Errorf("after that Bob was asked %d times, want once", n)
		}
		leave()
		calling.Wait()
		c.Close()
	})
}

// If the server names no call, calls of other clients wait until it has read a cancellation, and a
// second longer.
func TestACallWaitsUntilACancellationOfAnotherClientIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{arrives: 3 * time.Second})
		e.namesNone.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
		began := time.Now()
		e.awaitLingering(t.Context(), "alice")
		if took := time.Since(began); took != 0 {
			t.Errorf("her own calls waited for %v", took)
		}
		e.awaitLingering(t.Context(), "bob")
		if took := time.Since(began); took != 3*time.Second+lingerTime {
			t.Errorf("those of another client waited for %v", took)
		}
		c.Close()
	})
}

// A notification of the server may name the call of another client, even one that has its number
// but is not sent yet.
func TestAMailboxBeginsWithAnEventThatCameBefore(t *testing.T) {
	b := newMailbox()
	b.put(event{kind: notification, message: &jsonrpc.Message{Kind: jsonrpc.Notification, Method: notificationMessage}})
	begun := 0
	b.begin(func() { begun++ })
	b.put(event{kind: response})
	if begun != 1 || !b.stop() {
		t.Errorf("begun %d times, want once", begun)
	}
}
