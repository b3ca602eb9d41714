package upstream

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A readingLink repairs the server's messages with conn.read, and shows them to observers as they
// were received.
type readingLink struct {
	link.Link
	conn *conn
	wire mcp.Wire // nil without observers

	mu   sync.Mutex
	open map[jsonrpc.ID]context.Context // contexts of the shown requests that wait for a response
}

// A readingFallback is a readingLink that can be replaced. The replacement gets its own
// readingLink.
type readingFallback struct {
	readingLink
	fallback link.Fallback
}

func (l *readingFallback) Older(ctx context.Context) (link.Link, error) { return l.fallback.Older(ctx) }

// reading wraps a link, so that the connection reads its messages.
func (c *conn) reading(l link.Link) link.Link {
	if f, is := l.(link.Fallback); is {
		return &readingFallback{readingLink{Link: l, conn: c, wire: c.options.Wire}, f}
	}
	return &readingLink{Link: l, conn: c, wire: c.options.Wire}
}

// Way implements the method that [link.WayOf] needs.
func (l *readingLink) Way() link.Way { return link.WayOf(l.Link) }

// Stray implements the method that [link.WithStray] needs.
func (l *readingLink) Stray() string {
	if s, ok := l.Link.(interface{ Stray() string }); ok {
		return s.Stray()
	}
	return ""
}

func (l *readingLink) watching() bool { return l.wire != nil && l.wire.Watching() }

func (l *readingLink) Call(ctx context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	if !l.watching() {
		m, err := l.Link.Call(ctx, out, deliver)
		if err == nil {
			l.conn.readResponse(ctx, &out, m)
		}
		return m, err
	}
	seen := l.wire.Passes(ctx, l.sent(&out))
	l.begins(out.ID, seen)
	defer l.ends(out.ID)
	m, err := l.Link.Call(seen, out, func(m *jsonrpc.Message) {
		l.wire.Passes(seen, l.received(m))
		l.conn.read(seen, m)
		deliver(m)
	})
	if err != nil {
		l.wire.Passes(seen, mcp.WireMessage{Err: err, Transport: l.transport()})
		return m, err
	}
	l.wire.Passes(seen, l.received(m))
	l.conn.readResponse(seen, &out, m)
	return m, nil
}

func (l *readingLink) Send(ctx context.Context, out link.Out) error {
	if l.watching() {
		l.wire.Passes(ctx, l.sent(&out))
	}
	return l.Link.Send(ctx, out)
}

func (l *readingLink) Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error {
	return l.Link.Receive(ctx, begun, func(m *jsonrpc.Message) {
		if l.watching() {
			of := l.belongs(ctx, m)
			l.wire.Passes(of, l.received(m))
			l.conn.read(of, m)
		}
		deliver(m)
	})
}

func (l *readingLink) begins(id jsonrpc.ID, seen context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[jsonrpc.ID]context.Context{}
	}
	l.open[id] = seen
}

func (l *readingLink) ends(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// belongs returns the context of the request that a progress notification names, or ctx. On a
// stream, all messages share one channel. The progress token is the request's id.
func (l *readingLink) belongs(ctx context.Context, m *jsonrpc.Message) context.Context {
	if m.Kind != jsonrpc.Notification || m.Method != notificationProgress {
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen := l.open[jsonrpc.ID(m.Members.Get("progressToken"))]; seen != nil {
		return seen
	}
	return ctx
}

func (l *readingLink) sent(out *link.Out) mcp.WireMessage {
	return mcp.WireMessage{ToServer: true, Message: out.Message, Transport: l.transport()}
}

func (l *readingLink) received(m *jsonrpc.Message) mcp.WireMessage {
	return mcp.WireMessage{Message: m.Raw(), Transport: l.transport()}
}

// transport returns the kind of transport. Links that do not use streams have the method Transport.
func (l *readingLink) transport() string {
	if t, says := l.Link.(interface{ Transport() string }); says {
		return t.Transport()
	}
	return mcp.TransportStream
}
