package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A calledLink records the requests that are sent, and ends one when the test wants it.
type calledLink struct {
	sentLink
	calls  []string // methods of requests
	ends   map[jsonrpc.ID]chan error
	onCall func(out link.Out)
}

func (l *calledLink) end(id jsonrpc.ID) chan error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = map[jsonrpc.ID]chan error{}
	}
	if l.ends[id] == nil {
		l.ends[id] = make(chan error)
	}
	return l.ends[id]
}

func (l *calledLink) Call(ctx context.Context, out link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	end := l.end(out.ID)
	l.mu.Lock()
	l.calls = append(l.calls, string(out.Message))
	l.mu.Unlock()
	if l.onCall != nil {
		l.onCall(out)
	}
	select {
	case err := <-end:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *calledLink) called() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.calls, "\n")
}

// A parked call got its response while a request without an association was on its way to it.
// unnamed found the call just before the response was handled: over HTTP these are two streams. The
// request must be answered and must not keep the turn.
func TestARequestThatReachesAParkedCallBehindItsResponseIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		c, e, s := quietConn(t, l)
		if err := parkOne(t, c, e, s, "0", &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: laterPeer{}, State: new(mcp.State)}); err != mcp.ErrInputRequired {
			t.Fatal(err)
		}
		r := &serverRequest{session: s, unnamed: true, message: &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodElicit}}
		e.namesNone.Store(true)
		if !e.register(r) {
			t.Fatal("not registered")
		}
		alice, _ := e.unnamed()                                         // route, on one stream
		l.end(alice.id) <- fmt.Errorf("it broke: %w", context.Canceled) // the response, on the other
		synctest.Wait()
		e.deliver(alice, r) // route goes on
		synctest.Wait()
		time.Sleep(lingerTime)
		synctest.Wait()
		if !strings.Contains(l.all(), `"id":1,`) || len(e.asked) != 0 {
			t.Errorf("the server was sent %q; %d of its requests still wait, in a call that is over", l.all(), len(e.asked))
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var sent time.Duration
		l.onCall = func(link.Out) { sent = time.Since(began) }
		ended := make(chan struct{})
		go func() {
			e.begin(ctx, s, &mcp.Request{Method: methodPromptsGet, Caller: "bob", Peer: waitingPeer{}})
			close(ended)
		}()
		time.Sleep(parkTime + 2*lingerTime)
		synctest.Wait()
		if sent > time.Second {
			t.Errorf("Bob's call was held for %v", sent)
		}
		cancel()
		<-ended
		c.Close()
	})
}

// The same as a race: the response and the request come at once.
func TestTheSameAsARace(t *testing.T) {
	left := 0
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			l := &calledLink{}
			c, e, s := quietConn(t, l)
			if err := parkOne(t, c, e, s, "0", &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: laterPeer{}, State: new(mcp.State)}); err != mcp.ErrInputRequired {
				t.Fatal(err)
			}
			alice, _ := e.unnamed()
			l.end(alice.id) <- fmt.Errorf("it broke: %w", context.Canceled)
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodElicit})
			time.Sleep(lingerTime)
			synctest.Wait()
			e.mu.Lock()
			left += len(e.asked)
			e.mu.Unlock()
			c.Close()
		})
	}
	if left > 0 {
		t.Errorf("%d of 300 requests of the server wait in a call that is over", left)
	}
}

// Two calls of one client run. A request without an association goes to the newer one but may
// belong to the older. The newer one's response is lost, and it is sent again.
func TestARequestSurvivesThatTheCallItWasGivenToIsRepeated(t *testing.T) {
	for _, lost := range []error{link.ErrNoResponse, link.ErrSessionLost} {
		inBubble := func(t *testing.T, f func(*testing.T)) {
			t.Run(lost.Error(), func(t *testing.T) { synctest.Test(t, f) })
		}
		inBubble(t, func(t *testing.T) {
			l := &calledLink{}
			c, e, s := quietConn(t, l)
			ctx, cancel := context.WithCancel(t.Context())
			var calling sync.WaitGroup
			begin := func(method string) *call {
				calling.Go(func() {
					e.begin(ctx, e.session.Load(), &mcp.Request{Method: method, Caller: "alice", Peer: waitingPeer{}})
				})
				synctest.Wait()
				k, _ := c.unnamed()
				return k
			}
			begin(methodToolsCall)
			newer := begin(methodPromptsGet)
			if lost == link.ErrSessionLost { // the older call was already repeated in the new session
				next := &session{id: "9", era: e, revision: revision.LatestLegacy()}
				c.session.Store(next)
				e.withdrawOthers(next)
			}
			_ = s
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "7", Method: methodElicit})
			synctest.Wait()
			if len(e.asked) != 1 {
				t.Fatal("nothing is asked")
			}
			l.end(newer.id) <- fmt.Errorf("broken: %w", lost)
			synctest.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			if !strings.Contains(l.all(), `"id":7,`) && len(e.asked) == 0 {
				t.Errorf("%v: the server's request was dropped: sent %q; the calls %s", lost, l.all(), l.called())
			}
			cancel()
			calling.Wait()
			c.Close()
		})
	}
}

// Bob's call waits until the server has left Alice's. Bob gives up first: his call must not be
// sent.
func TestACallThatIsGivenUpWhileItWaitsForOthersIsNotSent(t *testing.T) {
	sent, lingers := 0, 0
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			l := &calledLink{}
			l.arrives = 3 * time.Second
			c, e, s := quietConn(t, l)
			e.namesNone.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: waitingPeer{}})
			bob, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer leave()
			e.begin(bob, s, &mcp.Request{Method: methodPromptsGet, Caller: "bob", Peer: waitingPeer{}})
			synctest.Wait()
			sent += strings.Count(l.called(), methodPromptsGet)
			if e.othersLinger("alice") {
				lingers++
			}
			c.Close()
		})
	}
	if sent > 0 || lingers > 0 {
		t.Errorf("of 50 calls that their client had given up before they were sent, %d were sent to the server, and %d make others wait", sent, lingers)
	}
}

// With a server that names its calls, as over HTTP, no code looks for calls without a name. Clients
// that gave up calls long ago must be removed all the same.
func TestClientsThatGaveUpCallsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{})
		type client [1 << 16]byte
		var first weak.Pointer[client]
		giveUp := func(caller any) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: caller, Peer: waitingPeer{}})
		}
		for i := range maxLingering {
			one := new(client)
			if i == 0 {
				first = weak.Make(one)
			}
			giveUp(one)
		}
		time.Sleep(time.Hour)
		giveUp(new(client)) // whatever else happens
		time.Sleep(time.Hour)
		runtime.GC()
		if first.Value() != nil {
			t.Errorf("a client that gave up a call two hours ago is still held; %d entries", len(c.lingering))
		}
		alice := "alice"
		giveUp(alice)
		began := time.Now()
		e.awaitLingering(t.Context(), alice)
		if took := time.Since(began); took > 0 {
			t.Errorf("Alice's next call waits %v for her own, as the table is full of those of hours ago", took)
		}
		c.Close()
	})
}

// A request that waits for the client's next call moves to its stream while the call begins. The
// call must be held all the same.
func TestCallsAreHeldWhileRequestsMoveToTheStream(t *testing.T) {
	early := 0
	for range 2000 {
		l := &calledLink{}
		c, e, s := oneClientConn(t, l)
		l.onCall = func(link.Out) {
			e.mu.Lock()
			early += len(e.asked)
			e.mu.Unlock()
		}
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodRootsList})
		ctx, cancel := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { e.join(&listener{peer: askLater{}, events: newMailbox()}) })
		both.Go(func() {
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: waitingPeer{}})
		})
		time.Sleep(200 * time.Microsecond)
		cancel()
		both.Wait()
		c.Close()
	}
	if early > 0 {
		t.Errorf("%d of 2000 calls were sent while the server still waited for the roots", early)
	}
}

// askLater responds after a while.
type askLater struct{ noPeer }

func (askLater) Ask(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A call that its client gave up before it was sent had taken over a waiting request. The server
// knows no such call and waits for the response.
func TestRequestsTakenOverByAnUnsentCallAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		c, e, s := oneClientConn(t, l)
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodElicit})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: waitingPeer{}})
		time.Sleep(time.Second)
		synctest.Wait()
		e.mu.Lock()
		waiting := len(e.waiting)
		e.mu.Unlock()
		if waiting == 0 && !strings.Contains(l.all(), `"id":1,`) {
			t.Errorf("nobody has the server's request any more, and it was sent no response: %q; calls %q", l.all(), l.called())
		}
		c.Close()
	})
}

// largePeer responds with a large result.
type largePeer struct{ noPeer }

func (largePeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`), nil
}

// A server asks and does not read. The responses of its clients must not fill the memory while they
// wait to be sent.
func TestResponsesToAServerThatDoesNotReadAreLimitedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &holdingLink{})
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		for range 4 {
			calling.Go(func() { e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: largePeer{}}) })
		}
		synctest.Wait()
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		for i := range maxResponses {
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodSample})
			synctest.Wait()
		}
		if held := (heap() - before) >> 20; held > 64 {
			t.Errorf("%d MiB of responses of 1 MiB each wait for a server that does not read", held)
		}
		cancel()
		calling.Wait()
		c.Close()
	})
}

// A holdingLink blocks a message until it is given up, as every link does.
type holdingLink struct{ calledLink }

func (l *holdingLink) Send(ctx context.Context, out link.Out) error {
	<-ctx.Done()
	runtime.KeepAlive(out.Message)
	return ctx.Err()
}

// A listening client can only be asked in its calls. The server asks when a call begins: the call
// is sent, and the request stays for the next one.
func TestARequestOutsideOfCallsAndACallThatBeginsMeet(t *testing.T) {
	missed := 0
	for range 2000 {
		l := &calledLink{}
		c, e, s := oneClientConn(t, l)
		sent := make(chan struct{})
		l.onCall = func(link.Out) { close(sent) }
		e.join(&listener{peer: laterPeer{}, events: newMailbox()})
		ctx, cancel := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodRootsList}) })
		both.Go(func() {
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: waitingPeer{}})
		})
		select {
		case <-sent:
			time.Sleep(time.Millisecond)
			e.mu.Lock()
			missed += len(e.waiting)
			e.mu.Unlock()
		case <-time.After(5 * time.Millisecond): // it is held, and its client is asked
		}
		cancel()
		both.Wait()
		c.Close()
	}
	if missed > 0 {
		t.Errorf("%d of 2000 times a call runs, and what the server asked waits for another one", missed)
	}
}

// One call can take over all requests that may wait for it.
func TestCallsDoNotRefuseWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &calledLink{}
		c, e, s := oneClientConn(t, l)
		params := json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<19) + `"}`)
		for i := range maxWaiting {
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodSample, Params: params})
		}
		synctest.Wait()
		if len(e.waiting) != 3 || strings.Count(l.all(), "requests wait for the client already") != maxWaiting-3 {
			t.Fatalf("%d requests wait, and the server was sent %s", len(e.waiting), l.all())
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: waitingPeer{}})
			close(ended)
		}()
		synctest.Wait()
		if n := strings.Count(l.all(), "does not keep up"); n != 0 {
			t.Errorf("%d of %d requests that waited were refused by the call that they waited for, whose client was not even asked", n, maxWaiting)
		}
		cancel()
		<-ended
		c.Close()
	})
}
