package mcp

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// subscribers counts who is subscribed to the resources of a server that has
// [ServerOptions.OnSubscribe].
type subscribers struct {
	mu      sync.Mutex
	watches map[string]*watch // by URI
}

// A watch is one resource that somebody is subscribed to.
type watch struct {
	uri    string
	cancel context.CancelFunc // ends the context that OnSubscribe was given
	ready  chan struct{}      // closed when OnSubscribe has returned
	err    error              // what it returned; read after ready
	count  int                // subscribers, under the lock of subscribers
}

// subscribe adds a subscriber of the resource and waits until OnSubscribe has
// accepted the first one. Without an error, unsubscribe must follow.
func (s *Server) subscribe(ctx context.Context, uri string) (*watch, error) {
	w := s.joinWatch(uri)
	select {
	case <-w.ready:
		return w, w.err
	case <-ctx.Done():
		s.unsubscribe([]*watch{w})
		return nil, context.Cause(ctx)
	}
}

func (s *Server) joinWatch(uri string) *watch {
	t := &s.subscribers
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.watches[uri]
	if w == nil {
		ctx, cancel := context.WithCancel(context.Background())
		w = &watch{uri: uri, cancel: cancel, ready: make(chan struct{})}
		if t.watches == nil {
			t.watches = map[string]*watch{}
		}
		t.watches[uri] = w
		go s.beginWatch(ctx, w) // on its own, as the first subscriber may leave before the others
	}
	w.count++
	return w
}

// beginWatch calls OnSubscribe.
func (s *Server) beginWatch(ctx context.Context, w *watch) {
	defer close(w.ready)
	if w.err = s.onSubscribe(ctx, w.uri); w.err != nil {
		s.subscribers.forget(w)
		w.cancel()
	}
}

func (s *Server) onSubscribe(ctx context.Context, uri string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("mcp: panic in OnSubscribe", "uri", uri, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("OnSubscribe panicked: %v", p)
		}
	}()
	return s.options.OnSubscribe(ctx, uri)
}

// unsubscribe removes one subscriber of each.
func (s *Server) unsubscribe(watches []*watch) {
	for _, w := range watches {
		if s.subscribers.leave(w) {
			w.cancel()
		}
	}
}

// leave removes one subscriber and reports whether it was the last.
func (t *subscribers) leave(w *watch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.count--
	if w.count == 0 && t.watches[w.uri] == w {
		delete(t.watches, w.uri)
	}
	return w.count == 0
}

func (t *subscribers) forget(w *watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watches[w.uri] == w {
		delete(t.watches, w.uri)
	}
}
