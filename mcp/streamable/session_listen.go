package streamable

import (
	"context"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// A notificationStream is a stream of notifications that has a connection.
type notificationStream struct {
	stream *stream
	cancel func()
	ended  chan struct{}
}

// listen responds to a GET with the session's notifications. If st is nil, it opens a new stream, on
// which missed, if not nil, first sends events. Otherwise it continues st after the event with the
// number after.
func (x *exchange) listen(s *session, st *stream, after uint64, missed func(ctx context.Context, out *httpedge.EventWriter) error) {
	c := &call{listens: true, streams: x.Caller()}
	ctx, ok := x.enter(x.context(), c, "")
	if !ok {
		return
	}
	defer x.endpoint.end(c)
	n := &notificationStream{stream: st, cancel: func() { x.endpoint.calls.Cancel(c, nil) }, ended: make(chan struct{})}
	if !x.claim(ctx, s, n) {
		return
	}
	defer s.release(n)
	run, err := s.protocol.Listen(ctx, n.stream) // before the client sees that the stream is open
	if err != nil {
		x.refuse(http.StatusConflict, "%v", err)
		return
	}
	out := x.openEvents(n.cancel)
	defer out.Close()
	if missed != nil && missed(ctx, out) != nil {
		return
	}
	if st == nil {
		n.stream.attach(out)
	} else {
		st.resume(ctx, out, after)
	}
	run()
	n.stream.detach(out)
}

// claim makes n the session's stream of notifications. If the client resumes, n replaces the
// client's old connection. If claim fails, it sends the response and reports false.
func (x *exchange) claim(ctx context.Context, s *session, n *notificationStream) bool {
	for {
		s.mu.Lock()
		present := s.notifications
		ended := s.ended
		if present == nil && !ended {
			s.hold(n)
		}
		s.mu.Unlock()
		switch {
		case ended:
			x.refuse(http.StatusNotFound, "the session ended")
			return false
		case present == nil:
			return true
		case present.stream != n.stream:
			x.refuse(http.StatusConflict, "the session has a stream for notifications already")
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

// hold makes n the session's stream of notifications, and gives it a new stream if it has none. The
// caller holds the session's lock.
func (s *session) hold(n *notificationStream) {
	if n.stream == nil {
		n.stream = s.addStream(true)
	}
	n.stream.finished.Store(0)
	s.notifications = n
}

// release ends a connection of the stream of notifications. The stream can be resumed for some
// time.
func (s *session) release(n *notificationStream) {
	s.touch()
	s.mu.Lock()
	s.notifications = nil
	n.stream.finished.Store(time.Now().UnixNano())
	s.mu.Unlock()
	close(n.ended)
}
