package streamable

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

const notifyCancelled = "notifications/cancelled"

// legacy handles a message of a client that begins with a handshake.
func (x *exchange) legacy(m *jsonrpc.Message) {
	if x.endpoint.options.Stateless {
		x.sessionless(m)
		return
	}
	if m.Method == methodInitialize && m.Kind == jsonrpc.Request && len(x.r.Header[headerSession]) == 0 {
		x.initialize(m)
		return
	}
	s := x.findSession()
	if s == nil {
		return
	}
	defer x.endpoint.sessions.release(s)
	if m.Kind != jsonrpc.Request {
		if err := x.take(s, m); err != nil {
			x.refuseUntaken(err)
			return
		}
		x.accepted()
		return
	}
	c := &call{}
	var bySession context.Context // nil, as the session cancels it
	if _, ok := x.enter(bySession, c, m.ID); !ok {
		return
	}
	defer x.endpoint.end(c)
	out := &sessionReply{exchange: x, session: s, ctx: x.context(), id: m.ID}
	defer out.close()
	x.endpoint.buffers.With(func(b []byte) []byte {
		reply := out.request(b, m, out)
		out.finish(out.status(&reply, http.StatusOK), reply.Message)
		return reply.Message
	})
}

// initialize begins a session.
func (x *exchange) initialize(m *jsonrpc.Message) {
	c := &call{caller: x.Caller()}
	ctx, ok := x.enter(x.context(), c, m.ID)
	if !ok {
		return
	}
	defer x.endpoint.end(c)
	from := edge.From{Principal: x.principal, Carrier: x, Way: x, NoTasks: x.endpoint.options.Stateless}
	shared := x.endpoint.sharing
	var key sharedKey
	if shared != nil {
		rand.Read(key[:])
		from.NoTasks, from.Key = !x.endpoint.options.SharedTasks, key
	}
	protocol, reply := x.endpoint.edge.Initialize(ctx, nil, m, from)
	switch {
	case protocol == nil:
	case shared != nil:
		x.w.Header()[headerSession] = []string{shared.seal(key, protocol, x.principal, time.Now())}
		protocol.Close() // later requests recall it
	case x.endpoint.options.Stateless:
		protocol.Close() // no later request belongs to it
	default:
		s := newSession(x.endpoint, rand.Text(), protocol, x.principal, c.caller)
		if x.endpoint.sessions.add(s) == nil {
			protocol.Close()
			x.unavailable(m.ID, "too many sessions: at most %d", x.endpoint.options.MaxSessions)
			return
		}
		x.endpoint.sessions.release(s)
		x.w.Header()[headerSession] = []string{s.id}
	}
	x.respond(http.StatusOK, reply.Message)
}

// sessionless handles a message without a session.
func (x *exchange) sessionless(m *jsonrpc.Message) {
	switch {
	case m.Kind != jsonrpc.Request:
		x.accepted()
		return
	case m.Method == methodInitialize:
		x.initialize(m)
		return
	}
	c := &call{caller: x.Caller()}
	ctx, ok := x.enter(context.WithoutCancel(x.context()), c, m.ID)
	if !ok {
		return
	}
	defer x.endpoint.end(c)
	out := &directReply{exchange: x}
	defer out.close()
	alone := x.endpoint.edge.Sessionless(x.namedRevision())
	defer alone.Close()
	x.endpoint.buffers.With(func(b []byte) []byte {
		reply := alone.Request(ctx, b, m, edge.From{Principal: x.principal, Carrier: x, Way: x, Out: out})
		out.finish(out.status(&reply, http.StatusOK), reply.Message)
		return reply.Message
	})
}

// namedRevision returns the legacy revision in the header, or the revision of clients that name
// none.
func (x *exchange) namedRevision() *revision.Revision {
	if r := revision.Lookup(x.r.Header.Get(headerVersion)); r != nil {
		return r
	}
	return revision.Unnamed()
}

// batch handles a batch, which only one revision has (2025-03-26 basic/transports).
func (x *exchange) batch(body []byte) {
	if x.namesModern() {
		x.refuse(http.StatusBadRequest, "a batch: send one message at a time")
		return
	}
	s, r := (*session)(nil), x.namedRevision()
	if !x.endpoint.options.Stateless {
		if s = x.findSession(); s == nil {
			return
		}
		defer x.endpoint.sessions.release(s)
		r = s.protocol.Revision()
	}
	if !r.Batches {
		x.refuse(http.StatusBadRequest, "%s has no batches: send one message at a time", r.Name)
		return
	}
	c := &call{} // the requests in the batch are counted one by one
	ctx, ok := x.enter(context.WithoutCancel(x.context()), c, "")
	if !ok {
		return
	}
	defer x.endpoint.end(c)
	x.runBatch(ctx, s, r, body)
}

func (x *exchange) runBatch(ctx context.Context, s *session, r *revision.Revision, body []byte) {
	one := func(handle func(m *jsonrpc.Message) []byte) []byte {
		return edge.Batch(nil, body, x.endpoint.edge.MaxInFlight(), func(m *jsonrpc.Message) []byte {
			if m.Kind == jsonrpc.Request && m.Method == methodInitialize {
				return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch"))
			}
			return handle(m)
		})
	}
	if s == nil {
		out := &directReply{exchange: x}
		defer out.close()
		ordered := &batchReply{reply: out}
		responses := one(func(m *jsonrpc.Message) []byte {
			if m.Kind != jsonrpc.Request {
				return nil
			}
			c := &call{caller: x.Caller()}
			ctx, err := x.endpoint.begin(ctx, c)
			if err != nil {
				return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.InternalError, "%v", err))
			}
			defer x.endpoint.end(c)
			alone := x.endpoint.edge.Sessionless(r)
			defer alone.Close()
			return alone.Request(ctx, nil, m, edge.From{Principal: x.principal, Carrier: x, Way: x, Out: ordered}).Message
		})
		out.finish(batchStatus(responses), responses)
		return
	}
	out := &sessionReply{exchange: x, session: s, ctx: x.context(), batch: body}
	defer out.close()
	ordered := &batchReply{reply: out}
	var foreign atomic.Pointer[error]
	responses := one(func(m *jsonrpc.Message) []byte {
		if m.Kind != jsonrpc.Request {
			if err := x.take(s, m); err != nil {
				foreign.Store(&err)
			}
			return nil
		}
		return out.request(nil, m, ordered).Message
	})
	if err := foreign.Load(); err != nil && responses == nil {
		x.refuseUntaken(*err)
		return
	}
	out.finish(batchStatus(responses), responses)
}

// batchStatus returns 400 for a batch that could not be read, and otherwise 200.
func batchStatus(responses []byte) int {
	if len(responses) > 0 && responses[0] != '[' {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// A batchReply lets the requests of a batch share one reply. They use it one at a time.
type batchReply struct {
	turn  turn.Turn
	reply edge.Sender
}

// Send sends a message before the responses.
func (b *batchReply) Send(ctx context.Context, message []byte) error {
	if err := b.turn.Acquire(ctx); err != nil {
		return err
	}
	defer b.turn.Release()
	return b.reply.Send(ctx, message)
}

// Disconnect ends the connection if the reply can be resumed.
func (b *batchReply) Disconnect() {
	if d, ok := b.reply.(interface{ Disconnect() }); ok {
		b.turn.Acquire(context.Background())
		defer b.turn.Release()
		d.Disconnect()
	}
}
