package streamable

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	maxStreamsKept  = 64              // maximum finished streams of POST requests in a session that can be resumed
	maxListensKept  = 4               // maximum finished streams of GET requests in a session that can be resumed
	streamKeepsTime = 5 * time.Minute // how long a finished stream can be resumed
)

var errLost = errors.New("the client's connection is lost, and the message could not be kept")

// A stream is one stream of a legacy session: the messages of one POST, or the notifications for a
// GET. It outlives connections. It is either sent on a connection, or stored for a client that
// resumes.
type stream struct {
	session  *session
	number   uint64
	fromGET  bool
	finished atomic.Int64  // when the last message was sent, in Unix nanoseconds; 0 while more may follow
	logged   *loggedStream // for other replicas; nil if they cannot resume it

	turn turn.Turn             // orders the events in the store and on the connection; guards the fields below
	last uint64                // number of the newest event
	out  *httpedge.EventWriter // the connection, or nil
}

// newStream returns the stream of a POST request.
func (s *session) newStream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addStream(false)
}

// addStream returns the next stream of the session. The caller holds the session's lock.
func (s *session) addStream(fromGET bool) *stream {
	s.forgetStreams(time.Now())
	s.opened++
	st := &stream{session: s, number: s.opened, fromGET: fromGET}
	st.logged = s.logged(st)
	if !s.ended {
		s.streams = append(s.streams, st)
	}
	return st
}

// prune removes streams that can no longer be resumed.
func (s *session) prune(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetStreams(now)
}

// forgetStreams removes streams that finished long ago. It also removes the oldest finished streams
// above the limit of their kind. The caller holds the session's lock.
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

// findStream returns the stream with this number if it can be resumed, or nil.
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

// event returns the event for a message. Its name is the default, but is set: on the stream of a
// GET, clients on the Java SDK before 2.1 ignore an event without a name.
func (st *stream) event(number uint64, data []byte) eventstream.Event {
	id := appendEventID(make([]byte, 0, 24), st.fromGET, st.number, number)
	return eventstream.Event{Name: "message", ID: string(id), HasID: true, Data: data}
}

// acquire waits for the stream's turn without a limit. Each holder writes with a deadline or waits
// for the store.
func (st *stream) acquire() { st.turn.Acquire(context.Background()) }

// write writes an event to the connection. On an error, it removes the connection.
func (st *stream) write(e eventstream.Event) error {
	err := st.out.Write(context.Background(), e)
	if err != nil {
		st.out = nil // the writer has freed it already
	}
	return err
}

// attach sets the first connection of a new stream. If the client's revision has polling, the first
// event has an id to resume from. Only disconnect sends the field retry, as clients on the Java SDK
// before 2.1 give up a stream with that field.
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

// Send sends a message. If there is no connection, it stores the message.
func (st *stream) Send(ctx context.Context, message []byte) error {
	if err := st.turn.Acquire(ctx); err != nil {
		return err
	}
	defer st.turn.Release()
	return st.send(ctx, message, false)
}

// send is like Send, for the holder of the turn. last is set for the last message.
func (st *stream) send(ctx context.Context, message []byte, last bool) error {
	st.last++
	if st.logged != nil {
		st.session.endpoint.options.EventLog.add(st.logged, st.last, message, last)
	}
	store := st.session.endpoint.options.EventStore
	kept := store.Append(&share.Asked{Context: context.WithoutCancel(ctx), By: st.session}, st.session.id, Event{Stream: st.number, Number: st.last, Data: message})
	if st.session.hasEnded() {
		store.Forget(st.session.id) // the session may have been removed before
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

// finish sends the last message, if it is not nil, and ends the connection.
func (st *stream) finish(message []byte) {
	st.acquire()
	defer st.turn.Release()
	if message != nil {
		if err := st.send(context.Background(), message, true); err != nil {
			st.session.endpoint.log.Warn("mcp: a client lost the response to its request", "error", err)
		}
	} else if st.logged != nil {
		st.session.endpoint.options.EventLog.add(st.logged, st.last, nil, true)
	}
	st.finished.Store(time.Now().UnixNano())
	if st.out != nil {
		st.out.Finish()
		st.out = nil
	}
}

// disconnect sends the time after which to resume, and ends the connection.
func (st *stream) disconnect(retry time.Duration) {
	st.acquire()
	defer st.turn.Release()
	if st.out == nil || st.write(eventstream.Event{Retry: retry, HasRetry: true}) != nil {
		return
	}
	st.out.Disconnect()
	st.out = nil
}

// resume sends the events after the given one on a new connection, which replaces the current one.
// It reports whether more events may follow.
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

// detach removes the connection out from the stream, if the stream still uses it.
func (st *stream) detach(out *httpedge.EventWriter) {
	st.acquire()
	defer st.turn.Release()
	if st.out == out {
		st.out = nil
	}
}

// A sessionReply sends the messages for a POST in a session. The response becomes a stream with the
// first message that is not the response to the request. Only one goroutine uses it at a time. The
// edge orders the messages of one request. A batchReply orders the messages of several requests.
type sessionReply struct {
	*exchange
	session *session
	ctx     context.Context // context of the HTTP request; computed once, as the requests of a batch run at the same time
	stream  *stream
	id      jsonrpc.ID // of the request
	batch   []byte     // the requests, if there are several
}

// request handles one request. Messages before the response go to out. The context outlives the
// connection, so the loss of a connection does not cancel the request.
func (p *sessionReply) request(dst []byte, m *jsonrpc.Message, out edge.Sender) edge.Reply {
	s := p.session
	ctx, fault := s.calls.Begin(context.WithoutCancel(p.ctx), m.ID.Plain(), false, p.endpoint.edge.MaxInFlight())
	if fault != nil {
		return edge.Reply{Message: jsonrpc.AppendError(dst, m.ID, fault), Code: fault.Code}
	}
	defer s.calls.End(m.ID.Plain())
	defer s.touch() // before End, as an idle session may expire
	if s.isShared() && edge.Changes(m.Method) {
		p.tellPeers(m.Raw(), false)
	}
	return s.protocol.Request(ctx, dst, m, edge.From{Principal: p.principal, Carrier: p.exchange, Way: p.exchange, Out: out})
}

// Send sends a message before the response.
func (p *sessionReply) Send(ctx context.Context, message []byte) error {
	return p.openStream().Send(ctx, message)
}

// openStream returns the stream. The first call opens it.
func (p *sessionReply) openStream() *stream {
	if p.stream == nil {
		p.stream = p.session.newStream()
		if st := p.stream.logged; st != nil {
			st.ids, st.batch = p.requests(), p.batch != nil
		}
		p.stream.attach(p.openEvents(nil))
	}
	return p.stream
}

// requests returns the ids of the requests that the stream responds to.
func (p *sessionReply) requests() (ids []jsonrpc.ID) {
	if p.batch == nil {
		return []jsonrpc.ID{jsonrpc.ID(strings.Clone(string(p.id)))}
	}
	jsonrpc.EachElement(p.batch, func(m []byte) bool {
		if id := jsonrpc.Get(m, "id"); id != nil && len(id) <= maxLoggedID && jsonrpc.Get(m, "method") != nil {
			ids = append(ids, jsonrpc.ID(id))
		}
		return len(ids) < maxLoggedIDs
	})
	return ids
}

// Disconnect ends the connection if the client's revision has polling. The client of a shared session
// must be able to resume at another replica, from the log or through that replica.
func (p *sessionReply) Disconnect() {
	log, elsewhere := p.endpoint.options.EventLog, !p.session.isShared() || p.endpoint.peers.any()
	if !p.session.protocol.Revision().Polling || !elsewhere && log == nil {
		return
	}
	st := p.openStream()
	if st.logged != nil {
		log.add(st.logged, 0, nil, false)
		elsewhere = log.settle(p.ctx) || elsewhere
	}
	if elsewhere {
		st.disconnect(p.endpoint.options.RetryAfter)
	}
}

// finish sends the response to the request, or an empty one if message is nil.
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

// close must be called when the request is over. It ends a stream that finish did not end because
// the Handler panicked.
func (p *sessionReply) close() {
	if p.stream != nil && p.stream.finished.Load() == 0 {
		p.stream.finish(nil)
	}
}

// replay responds with the remainder of the stream of a POST.
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
