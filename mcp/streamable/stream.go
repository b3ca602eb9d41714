package streamable

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

const (
	maxStreamsKept  = 64              // finished streams of POST requests in a session that can be resumed
	maxListensKept  = 4               // finished streams of GET requests in a session that can be resumed
	streamKeepsTime = 5 * time.Minute // how long either can be resumed
)

var errLost = errors.New("the client's connection is lost, and what was to be sent could not be kept")

// A stream is one stream of a legacy session: the messages around one POST, or
// the notifications that a GET asked for. It outlives connections: at any moment it goes
// out on one, or on none and is kept for a client that comes back.
type stream struct {
	session  *session
	number   uint64
	fromGET  bool
	finished atomic.Int64 // when nothing more was to come, in Unix nanoseconds; 0 while something may

	turn turn.Turn             // orders the events, in the store and on the connection; whoever has it owns the rest
	last uint64                // number of the newest event
	out  *httpedge.EventWriter // the connection; nil while there is none
}

// newStream returns the stream of a POST request.
func (s *session) newStream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addStream(false)
}

// addStream returns the next stream of the session. The session's lock is held.
func (s *session) addStream(fromGET bool) *stream {
	s.forgetStreams(time.Now())
	s.opened++
	st := &stream{session: s, number: s.opened, fromGET: fromGET}
	if !s.ended {
		s.streams = append(s.streams, st)
	}
	return st
}

// prune forgets streams that nobody will resume any more.
func (s *session) prune(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetStreams(now)
}

// forgetStreams forgets streams that finished long ago, and the oldest finished
// ones above the limit of their kind. The session's lock is held.
func (s *session) forgetStreams(now time.Time) {
	posts, gets := maxStreamsKept, maxListensKept
	kept := len(s.streams)
	for i, st := range slices.Backward(s.streams) {
		room := &posts
		if st.fromGET {
			room = &gets
		}
		if at := st.finished.Load(); at != 0 {
			if *room == 0 || now.UnixNano()-at > int64(streamKeepsTime) {
				continue
			}
			*room--
		}
		kept--
		s.streams[kept], s.streams[i] = st, s.streams[kept]
	}
	if s.streams = slices.Delete(s.streams, 0, kept); len(s.streams) == 0 {
		s.streams = nil
	}
}

// findStream finds a stream that can be resumed.
func (s *session) findStream(number uint64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.number == number {
			return st
		}
	}
	return nil
}

// event is the form of a message on the wire. Its name is the default, and sent all the same: clients on the Java SDK
// before 2.1 ignore an event without one on the stream of a GET.
func (st *stream) event(number uint64, data []byte) eventstream.Event {
	id := appendEventID(make([]byte, 0, 24), st.fromGET, st.number, number)
	return eventstream.Event{Name: "message", ID: string(id), HasID: true, Data: data}
}

// acquire waits for the stream's turn without an end of its own: whoever has it writes
// with a deadline, or waits for the store.
func (st *stream) acquire() { st.turn.Acquire(context.Background()) }

// write writes an event to the connection, which is given up if that fails.
func (st *stream) write(e eventstream.Event) error {
	err := st.out.Write(context.Background(), e)
	if err != nil {
		st.out = nil // the writer has freed it already
	}
	return err
}

// attach puts a new stream on its first connection. Where the client knows of
// polling, the first event has an id with which it can come back. When to come
// back is not sent before disconnect: clients on the Java SDK before 2.1 give up
// a stream that has a retry field.
func (st *stream) attach(out *httpedge.EventWriter) {
	st.acquire()
	defer st.turn.Release()
	st.out = out
	if !st.session.protocol.Revision().Polling {
		if st.fromGET && out.Begin() != nil {
			st.out = nil
		}
		return
	}
	prime := st.event(0, []byte{})
	prime.Name = ""
	st.write(prime)
}

// Send sends a message, or keeps it while there is no connection.
func (st *stream) Send(ctx context.Context, message []byte) error {
	if err := st.turn.Acquire(ctx); err != nil {
		return err
	}
	defer st.turn.Release()
	return st.send(ctx, message)
}

// send is Send for whoever has the turn.
func (st *stream) send(ctx context.Context, message []byte) error {
	st.last++
	store := st.session.endpoint.options.EventStore
	kept := store.Append(&share.Asked{Context: context.WithoutCancel(ctx), By: st.session}, st.session.id, Event{Stream: st.number, Number: st.last, Data: message})
	if st.session.hasEnded() {
		store.Forget(st.session.id) // it may have been forgotten before
	}
	var sent error
	if st.out == nil {
		sent = errLost
	} else {
		sent = st.write(st.event(st.last, message))
	}
	if sent != nil && kept != nil {
		return errors.Join(errLost, kept)
	}
	return nil
}

// finish sends the last message, if there is one, and ends the connection.
func (st *stream) finish(message []byte) {
	st.acquire()
	defer st.turn.Release()
	if message != nil {
		if err := st.send(context.Background(), message); err != nil {
			st.session.endpoint.log.Warn("mcp: a client lost the response to its request", "error", err)
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
	st.acquire()
	defer st.turn.Release()
	if st.out == nil || st.write(eventstream.Event{Retry: retry, HasRetry: true}) != nil {
		return
	}
	st.out.Disconnect()
	st.out = nil
}

// resume sends what came after the given event on a new connection, in place of
// the one before, and reports whether more is to come.
func (st *stream) resume(ctx context.Context, out *httpedge.EventWriter, after uint64) bool {
	if st.turn.Acquire(ctx) != nil {
		return false
	}
	defer st.turn.Release()
	if st.out != nil {
		st.out.Disconnect()
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
		if out.Write(ctx, st.event(e.Number, e.Data)) != nil || ctx.Err() != nil {
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
	st.acquire()
	defer st.turn.Release()
	if st.out == out {
		st.out = nil
	}
}

// A sessionReply takes what goes back for a POST of a session. It becomes a
// stream with the first message that is not the response. One goroutine uses it at
// a time: the edge orders what belongs to one request, a batchReply several of them.
type sessionReply struct {
	*exchange
	session *session
	ctx     context.Context // of the HTTP request, found once: the requests of a batch run at the same time
	stream  *stream
}

// request answers one request; out takes what comes before the response. Its context outlives
// the connection: a lost one does not mean that the client has lost interest.
func (p *sessionReply) request(dst []byte, m *jsonrpc.Message, out edge.Sender) edge.Reply {
	s := p.session
	ctx, fault := s.calls.Begin(context.WithoutCancel(p.ctx), m.ID.Plain(), false, p.endpoint.edge.MaxInFlight())
	if fault != nil {
		return edge.Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	defer s.calls.End(m.ID.Plain())
	defer s.touch() // before: a session in which nothing runs may have expired
	return s.protocol.Request(ctx, dst, m, edge.From{Principal: p.principal, Carrier: p.exchange, Way: p.exchange, Out: out})
}

// Send sends a message before the response.
func (p *sessionReply) Send(ctx context.Context, message []byte) error {
	return p.openStream().Send(ctx, message)
}

// openStream returns the stream, which begins when it is first needed.
func (p *sessionReply) openStream() *stream {
	if p.stream == nil {
		p.stream = p.session.newStream()
		p.stream.attach(p.openEvents(nil))
	}
	return p.stream
}

// Disconnect ends the connection, if the client's revision knows that it then
// has to come back.
func (p *sessionReply) Disconnect() {
	if p.session.protocol.Revision().Polling {
		p.openStream().disconnect(p.endpoint.options.RetryAfter)
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
		p.respond(status, message)
	}
}

// close must be called when the request is over. It ends a stream that finish
// did not end because the Handler panicked.
func (p *sessionReply) close() {
	if p.stream != nil && p.stream.finished.Load() == 0 {
		p.stream.finish(nil)
	}
}

// replay sends the rest of the stream of a POST.
func (x *exchange) replay(s *session, st *stream, after uint64) {
	c := &call{listens: true, streams: x.Caller()}
	ctx, ok := x.enter(x.context(), c, "")
	if !ok {
		return
	}
	defer x.endpoint.end(c)
	s.countResumed(1)
	defer s.countResumed(-1)
	out := x.openEvents(func() { x.endpoint.calls.Cancel(c, nil) })
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
