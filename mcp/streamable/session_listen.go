package streamable

import (
	"context"
	"net/http"
)

// A newsStream is a stream of news with an open connection.
type newsStream struct {
	stream *stream
	cancel func()
	ended  chan struct{}
}

// listen answers a GET with the session's news: on a new stream if st is nil,
// else on that one after the given event.
func (x *exchange) listen(s *session, st *stream, after uint64) {
	ctx, c := x.enter(x.r.Context(), true)
	if c == nil {
		return
	}
	defer x.leave(c)
	n := &newsStream{stream: st, cancel: func() { c.cancel(nil) }, ended: make(chan struct{})}
	if !x.claim(ctx, s, n) {
		return
	}
	defer s.release(n)
	out := x.openEvents(n.cancel)
	defer out.Close()
	if st == nil {
		n.stream.begin(out, x.endpoint.options.RetryAfter)
	} else {
		st.resume(ctx, out, after)
	}
	s.protocol.Listen(ctx, n.stream)
	n.stream.detach(out)
}

// claim makes n the session's stream of news. A client that resumes takes the
// place of its own old connection, of which it knows better that it is gone. If
// claim reports false it has answered.
func (x *exchange) claim(ctx context.Context, s *session, n *newsStream) bool {
	if n.stream == nil {
		n.stream = s.newStream(true)
	}
	for {
		s.mu.Lock()
		present := s.news
		ended := s.ended
		if present == nil && !ended {
			s.news = n
		}
		s.mu.Unlock()
		switch {
		case ended:
			x.refuse(http.StatusNotFound, "the session ended")
			return false
		case present == nil:
			return true
		case present.stream != n.stream:
			n.stream.finish(nil)
			x.refuse(http.StatusConflict, "the session has a stream for news already")
			return false
		}
		present.cancel()
		select {
		case <-present.ended:
		case <-ctx.Done():
			return false
		}
	}
}

// release ends a stream of news; it can be resumed for a while.
func (s *session) release(n *newsStream) {
	s.touch()
	s.mu.Lock()
	s.news = nil
	s.mu.Unlock()
	close(n.ended)
}
