package upstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A restarting server is one URL behind which a fresh server answers after each restart.
type restarting struct {
	t       *testing.T
	url     string
	handler atomic.Pointer[streamable.Endpoint]
	calls   atomic.Int32 // of the tool "count"
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

// restart ends all that the server has open, and begins again.
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
	// What was subscribed to before is subscribed to in the new session.
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

// A new session that cannot be begun at once is begun later, although the first to
// try was a call, and nobody but a listener is left.
func TestAListenerHearsAgainAfterARenewalThatFailed(t *testing.T) {
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
