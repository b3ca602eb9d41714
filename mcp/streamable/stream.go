package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

const (
	maxStreamsKept  = 64              // finished streams of a session that can be resumed
	streamKeepsTime = 5 * time.Minute // and for how long
)

var errLost = errors.New("the client's connection is lost, and what was to be sent could not be kept")

// A stream is one stream of a legacy session: the messages around one POST, or
// the news that a GET asked for. It outlives connections: at any moment it goes
// out on one, or on none and is kept for a client that comes back.
type stream struct {
	session  *session
	number   uint64
	news     bool
	finished atomic.Int64 // when the last event came, in Unix nanoseconds; 0 before

	mu   sync.Mutex // orders the events, in the store and on the connection
	last uint64     // number of the newest event
	out  *httpedge.EventWriter
}

// newStream returns the next stream of the session.
func (s *session) newStream(news bool) *stream {
	now := time.Now()
	s.prune(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	st := &stream{session: s, number: s.opened, news: news}
	if !s.ended {
		s.streams = append(s.streams, st)
	}
	return st
}

// prune forgets streams that finished long ago, and the oldest of too many.
func (s *session) prune(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	excess := len(s.streams) - maxStreamsKept
	kept := s.streams[:0]
	for _, st := range s.streams {
		at := st.finished.Load()
		if at != 0 && (excess > 0 || now.UnixNano()-at > int64(streamKeepsTime)) {
			excess--
			continue
		}
		kept = append(kept, st)
	}
	clear(s.streams[len(kept):])
	if s.streams = kept; len(kept) == 0 {
		s.streams = nil
	}
}

// stream finds a stream that can be resumed.
func (s *session) stream(number uint64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.number == number {
			return st
		}
	}
	return nil
}

// event is the form of a message on the wire.
func (st *stream) event(number uint64, data []byte) eventstream.Event {
	id := appendEventID(make([]byte, 0, 24), st.news, st.number, number)
	return eventstream.Event{ID: string(id), HasID: true, Data: data}
}

// begin puts a new stream on its first connection. Where the client knows of
// polling it is told at once how to come back.
func (st *stream) begin(out *httpedge.EventWriter, retry time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out = out
	if !st.session.protocol.Revision().Polling {
		if st.news {
			st.check(out.Begin())
		}
		return
	}
	prime := st.event(0, []byte{})
	prime.Retry, prime.HasRetry = retry, true
	st.check(out.Write(prime))
}

// check gives the connection up when writing to it failed.
func (st *stream) check(err error) {
	if err != nil {
		st.out = nil // the writer has let go of it already
	}
}

// Send sends a message, or keeps it while there is no connection.
func (st *stream) Send(ctx context.Context, message []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.send(ctx, message)
}

func (st *stream) send(ctx context.Context, message []byte) error {
	st.last++
	store := st.session.endpoint.options.EventStore
	kept := store.Append(context.WithoutCancel(ctx), st.session.id, Event{Stream: st.number, Number: st.last, Data: message})
	var sent error
	if st.out == nil {
		sent = errLost
	} else {
		sent = st.out.Write(st.event(st.last, message))
		st.check(sent)
	}
	if sent != nil && kept != nil {
		return errors.Join(errLost, kept)
	}
	return nil
}

// finish sends the last message, if there is one, and ends the connection.
func (st *stream) finish(message []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if message != nil {
		if err := st.send(context.Background(), message); err != nil {
			st.session.endpoint.log.Warn("mcp: a client lost the answer to its request", "error", err)
		}
	}
	st.finished.Store(time.Now().UnixNano())
	if st.out != nil {
		st.out.Finish()
		st.out = nil
	}
}

// disconnect ends the connection, and says when to come back.
func (st *stream) disconnect(retry time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out == nil {
		return
	}
	st.out.Write(eventstream.Event{Retry: retry, HasRetry: true})
	st.out.HangUp()
	st.out = nil
}

// resume sends what came after the given event on a new connection, in place of
// the one before, and reports whether more is to come.
func (st *stream) resume(ctx context.Context, out *httpedge.EventWriter, after uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out != nil {
		st.out.HangUp()
		st.out = nil
	}
	if out.Begin() != nil {
		return false
	}
	events, err := st.session.endpoint.options.EventStore.After(ctx, st.session.id, st.number, after)
	if err != nil {
		st.session.endpoint.log.Warn("mcp: the events of a stream cannot be read", "error", err)
	}
	for _, e := range events {
		if out.Write(st.event(e.Number, e.Data)) != nil {
			return false
		}
	}
	if st.finished.Load() != 0 {
		return false
	}
	st.out = out
	return true
}

// detach takes the stream off a connection that is gone.
func (st *stream) detach(out *httpedge.EventWriter) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out == out {
		st.out = nil
	}
}

// A sessionReply takes what goes back for a POST of a session. It becomes a
// stream with the first message that is not the response.
type sessionReply struct {
	exchange
	session *session

	mu     sync.Mutex
	stream *stream
}

// request answers one request. Its context outlives the connection: a lost one
// does not mean that the client has lost interest.
func (p *sessionReply) request(dst []byte, m *jsonrpc.Message) []byte {
	s := p.session
	ctx, fault := s.inFlight.Begin(context.WithoutCancel(p.r.Context()), m, p.endpoint.edge.MaxInFlight())
	if fault != nil {
		return jsonrpc.AppendError(dst, m.ID, fault)
	}
	defer s.touch()
	defer s.inFlight.End(m)
	return s.protocol.Request(ctx, dst, m, edge.From{Principal: p.principal, Out: p}).Message
}

// Send sends a message before the response.
func (p *sessionReply) Send(ctx context.Context, message []byte) error {
	return p.open().Send(ctx, message)
}

func (p *sessionReply) open() *stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil {
		p.stream = p.session.newStream(false)
		p.stream.begin(p.openEvents(nil), p.endpoint.options.RetryAfter)
	}
	return p.stream
}

// Disconnect ends the connection, if the client's revision knows that it then
// has to come back.
func (p *sessionReply) Disconnect() {
	if p.session.protocol.Revision().Polling {
		p.open().disconnect(p.endpoint.options.RetryAfter)
	}
}

// finish sends the response; none if message is nil.
func (p *sessionReply) finish(status int, message []byte) {
	switch {
	case p.stream != nil:
		p.stream.finish(message)
	case message == nil:
		p.accepted()
	default:
		p.answer(status, message)
	}
}

// resume answers a GET for the rest of a stream.
func (x *exchange) resume(s *session, last string) {
	news, number, after, ok := parseEventID(last)
	st := s.stream(number)
	switch {
	case news && (st == nil || !st.news):
		x.listen(s, nil, 0) // forgotten; news go on as news
	case !ok || st == nil || st.news != news:
		x.refuse(http.StatusBadRequest, "the stream of the event %.40q is not known any more", last)
	case news:
		x.listen(s, st, after)
	default:
		x.replay(s, st, after)
	}
}

// replay sends the rest of the stream of a POST.
func (x *exchange) replay(s *session, st *stream, after uint64) {
	ctx, c := x.enter(x.r.Context(), true)
	if c == nil {
		return
	}
	defer x.leave(c)
	s.countResumed(1)
	defer s.countResumed(-1)
	out := x.openEvents(func() { c.cancel(nil) })
	defer out.Close()
	if st.resume(ctx, out, after) {
		<-ctx.Done()
		st.detach(out)
	}
}

func (s *session) countResumed(n int) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed += n
}
