package mcp

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// subscribers counts the subscribers of resources, for a server with [ServerOptions.OnSubscribe].
type subscribers struct {
	mu      sync.Mutex
	watches map[string]*watch // by URI
}

// A watch is one resource with at least one subscriber.
type watch struct {
	uri    string
	cancel context.CancelFunc // ends the context of OnSubscribe
	ready  chan struct{}      // closed when OnSubscribe has returned
	err    error              // error of OnSubscribe; read after ready
	count  int                // number of subscribers; guarded by subscribers.mu
}

// subscribe adds a subscriber of a resource. It waits until OnSubscribe has accepted the first
// subscriber. If it succeeds, the caller must call unsubscribe.
func (s *Server) subscribe(ctx context.Context, uri string) (*watch, error) {
	t := &s.subscribers
	t.mu.Lock()
	w := t.watches[uri]
	if w == nil {
		ctx, cancel := context.WithCancel(context.Background())
		w = &watch{uri: uri, cancel: cancel, ready: make(chan struct{})}
		if t.watches == nil {
			t.watches = map[string]*watch{}
		}
		t.watches[uri] = w
		go s.beginWatch(ctx, w) // in a separate goroutine, as the first subscriber may leave before the others
	}
	w.count++
	t.mu.Unlock()
	select {
	case <-w.ready:
		return w, w.err
	case <-ctx.Done():
		s.unsubscribe([]*watch{w})
		return nil, context.Cause(ctx)
	}
}

// beginWatch calls OnSubscribe. If that fails, it ends the watch.
func (s *Server) beginWatch(ctx context.Context, w *watch) {
	defer close(w.ready)
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("mcp: panic in OnSubscribe", "uri", w.uri, "panic", p, "stack", string(debug.Stack()))
			w.err = fmt.Errorf("OnSubscribe panicked: %v", p)
		}
		if w.err != nil {
			s.subscribers.mu.Lock()
			defer s.subscribers.mu.Unlock()
			s.subscribers.end(w)
		}
	}()
	w.err = s.options.OnSubscribe(ctx, w.uri)
}

// unsubscribe removes one subscriber from each watch.
func (s *Server) unsubscribe(watches []*watch) {
	s.subscribers.mu.Lock()
	defer s.subscribers.mu.Unlock()
	for _, w := range watches {
		if w.count--; w.count == 0 {
			s.subscribers.end(w)
		}
	}
}

// end ends a watch. A new watch may already have replaced it in the map. The caller holds t.mu.
func (t *subscribers) end(w *watch) {
	if t.watches[w.uri] == w {
		delete(t.watches, w.uri)
	}
	w.cancel()
}
