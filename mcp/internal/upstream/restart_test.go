package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A restarting server is one URL with a fresh server after each restart.
type restarting struct {
	t       *testing.T
	url     string
	handler atomic.Pointer[streamable.Endpoint]
	calls   atomic.Int32 // calls of the tool "count"
	stall   chan struct{}
	server  atomic.Pointer[mcp.Server]
}

func newRestarting(t *testing.T) *restarting {
	r := &restarting{t: t, stall: make(chan struct{})}
	r.restart()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.handler.Load().ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		r.handler.Load().Close()
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL
	return r
}

// restart ends everything that the server has open and starts a fresh one.
func (r *restarting) restart() {
	s := mcp.NewServer("restarting", "1")
	mcp.AddTool(s, "count", func(context.Context, none) (int, error) { return int(r.calls.Add(1)), nil })
	s.AddText(mcp.Resource{URI: "test://watched", Name: "watched"}, "text")
	old := r.handler.Swap(streamable.Handler(s))
	r.server.Store(s)
	if old != nil {
		old.Close()
	}
}

func TestASessionThatTheServerForgotIsBegunAgain(t *testing.T) {
	r := newRestarting(t)
	c, err := mcp.DialWith(t.Context(), streamable.Client(r.url), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := make(chan mcp.Notification, 16)
	agreed := make(chan struct{})
	go c.ListenWith(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://watched"}},
		func(n mcp.Notification) { heard <- n }, func(mcp.SubscriptionFilter) { close(agreed) })

	<-agreed
	for i := range 3 {
		if i > 0 {
			r.restart()
		}
		var calling sync.WaitGroup
		for range 8 {
			calling.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if _, err := mcp.Call[int](ctx, c, "count", nil); err != nil {
					t.Errorf("after restart %d: %v", i, err)
				}
			})
		}
		calling.Wait()
		if n := r.calls.Load(); n != int32(8*(i+1)) {
			t.Errorf("after restart %d the tool ran %d times, want %d", i, n, 8*(i+1))
		}
	}
	// Earlier subscriptions are repeated in the new session.
	deadline := time.After(20 * time.Second)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for updates := 0; updates < 3; {
		select {
		case n := <-heard:
			if n.URI == "test://watched" {
				updates++
			}
		case <-again.C:
			r.server.Load().ResourceUpdated("test://watched")
		case <-deadline:
			t.Fatal("no update of the resource arrived in the new session")
		}
	}
	select {
	case <-c.Done():
		t.Errorf("the connection is done: %v", c.Err())
	default:
	}
}

func TestAListenerAloneNoticesThatTheServerRestarted(t *testing.T) {
	r := newRestarting(t)
	c, err := mcp.DialWith(t.Context(), streamable.Client(r.url), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	heard, agreed := make(chan mcp.Notification, 16), make(chan struct{})
	listening := make(chan error, 1)
	go func() {
		listening <- c.ListenWith(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard <- n }, func(mcp.SubscriptionFilter) { close(agreed) })
	}()
	<-agreed
	r.restart()
	select {
	case n := <-heard:
		if n.Method != "notifications/tools/list_changed" {
			t.Errorf("heard %+v", n)
		}
	case err := <-listening:
		t.Errorf("listening ended: %v", err)
	}
	cancel()
	if err := <-listening; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A new session that fails at first is begun later, even if the first attempt was for a call and
// only a listener is left.
func TestListenersRecoverAfterAFailedRenewal(t *testing.T) {
	r := newRestarting(t)
	var down atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if down.Load() && req.Header.Get("Mcp-Session-Id") == "" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		r.handler.Load().ServeHTTP(w, req)
	}))
	t.Cleanup(func() { r.handler.Load().Close(); front.CloseClientConnections(); front.Close() })
	c, err := mcp.DialWith(t.Context(), streamable.Client(front.URL), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard, agreed := make(chan mcp.Notification, 16), make(chan struct{})
	go c.ListenWith(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard <- n }, func(mcp.SubscriptionFilter) { close(agreed) })
	<-agreed
	down.Store(true)
	r.restart()
	if _, err := mcp.Call[int](t.Context(), c, "count", nil); err == nil {
		t.Fatal("a call to a server that begins no session has a result")
	}
	down.Store(false)
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		t.Error("the listener heard nothing of the new session")
	}
}

// A forgetful server drops its session while a stream of it is still open. It counts the ids of its
// requests from 1 again, like every restarted server.
type forgetful struct {
	mu      sync.Mutex
	session int
	lost    bool
	answers []string      // responses to requests of the server, with their sessions
	came    chan struct{} // a value for each answer
}

func (s *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m message
	_ = json.Unmarshal(body, &m)
	w.Header().Set("Content-Type", "application/json")
	session, known := s.begin(r, m)
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", session)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}}`, m.ID)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "tools/call":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":%q,\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}\n\n", m.Params)
		w.(http.Flusher).Flush()
		if strings.Contains(string(m.Params), "bob") {
			<-s.came
			fmt.Fprintf(w, "data: "+done+"\n\n", m.ID)
			return
		}
		<-r.Context().Done()
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// begin records a message and returns its session, and whether that is known.
func (s *forgetful) begin(r *http.Request, m message) (session string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Method == "initialize" {
		s.session, s.lost = s.session+1, false
		return fmt.Sprint("s", s.session), true
	}
	session = r.Header.Get("Mcp-Session-Id")
	known = !s.lost && session == fmt.Sprint("s", s.session)
	if known && m.Method == "" {
		s.answers = append(s.answers, session+" "+string(m.Result))
		s.came <- struct{}{}
	}
	return session, known
}

// Alice is asked in the old session, Bob in the new one, both under the id 1.
func TestARequestOfANewSessionIsNotTakenForOneOfTheOld(t *testing.T) {
	s := &forgetful{came: make(chan struct{}, 8)}
	server := httptest.NewServer(s)
	defer server.Close()
	defer server.CloseClientConnections()
	bridge, err := mcp.DialWith(t.Context(), streamable.Client(server.URL), mcp.ClientOptions{Bridge: true, Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer bridge.Close()
	asked, stopped, answer := make(chan struct{}), make(chan struct{}), make(chan struct{})
	alice := &hostilePeer{ask: func(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
		close(asked)
		context.AfterFunc(ctx, func() { close(stopped) })
		<-answer
		return json.RawMessage(`{"action":"accept","content":{"of":"alice"}}`), nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var calling sync.WaitGroup
	defer calling.Wait()
	calling.Go(func() { bridge.Handle(ctx, request("alice", "alice", alice)) })
	<-asked
	s.mu.Lock()
	s.lost = true
	s.mu.Unlock()
	bobAsked := make(chan struct{})
	bob := &hostilePeer{ask: func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
		close(bobAsked)
		<-answer
		return json.RawMessage(`{"action":"accept","content":{"of":"bob"}}`), nil
	}}
	bobsCall := make(chan error, 1)
	calling.Go(func() {
		_, err := bridge.Handle(ctx, request("bob", "bob", bob))
		bobsCall <- err
	})
	for what, happened := range map[string]chan struct{}{"Bob is not asked": bobAsked, "Alice is asked on, though nobody waits for her response": stopped} {
		select {
		case <-happened:
		case <-time.After(20 * time.Second):
			t.Error(what)
		}
	}
	close(answer)
	if err := <-bobsCall; err != nil {
		t.Errorf("Bob's call: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := `s2 {"action":"accept","content":{"of":"bob"}}`; len(s.answers) != 1 || s.answers[0] != want {
		t.Errorf("the server got %q, want %s", s.answers, want)
	}
	cancel()
}
