package upstream

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A watchedLink shows its messages to whoever looks.
type watchedLink struct {
	link.Link
	wire mcp.Wire

	mu   sync.Mutex
	open map[jsonrpc.ID]context.Context // of the requests that were seen and wait for a response
}

// A watchedFallback is a watchedLink that can be replaced; what replaces it is watched for itself.
type watchedFallback struct {
	watchedLink
	fallback link.Fallback
}

func (l *watchedFallback) Older(ctx context.Context) (link.Link, error) { return l.fallback.Older(ctx) }

// watched is a link whose messages wire sees; the link itself where wire is nil.
func watched(l link.Link, wire mcp.Wire) link.Link {
	if wire == nil {
		return l
	}
	if f, is := l.(link.Fallback); is {
		return &watchedFallback{watchedLink{Link: l, wire: wire}, f}
	}
	return &watchedLink{Link: l, wire: wire}
}

func (l *watchedLink) Call(ctx context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	if !l.wire.Watching() {
		return l.Link.Call(ctx, out, deliver)
	}
	seen := l.wire.Passes(ctx, l.sent(&out))
	l.begins(out.ID, seen)
	defer l.ends(out.ID)
	m, err := l.Link.Call(seen, out, func(m *jsonrpc.Message) {
		l.wire.Passes(seen, l.received(m))
		deliver(m)
	})
	if err != nil {
		l.wire.Passes(seen, mcp.WireMessage{Err: err, Transport: l.transport()})
		return m, err
	}
	l.wire.Passes(seen, l.received(m))
	return m, nil
}

func (l *watchedLink) Send(ctx context.Context, out link.Out) error {
	if l.wire.Watching() {
		l.wire.Passes(ctx, l.sent(&out))
	}
	return l.Link.Send(ctx, out)
}

func (l *watchedLink) Receive(ctx context.Context, begun func(), deliver func(*jsonrpc.Message)) error {
	return l.Link.Receive(ctx, begun, func(m *jsonrpc.Message) {
		if l.wire.Watching() {
			l.wire.Passes(l.belongs(ctx, m), l.received(m))
		}
		deliver(m)
	})
}

func (l *watchedLink) begins(id jsonrpc.ID, seen context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[jsonrpc.ID]context.Context{}
	}
	l.open[id] = seen
}

func (l *watchedLink) ends(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// belongs returns the context of the request that a message says it is about; else ctx. On a stream all messages come the
// same way, and the id of a request is its token.
func (l *watchedLink) belongs(ctx context.Context, m *jsonrpc.Message) context.Context {
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

func (l *watchedLink) sent(out *link.Out) mcp.WireMessage {
	return mcp.WireMessage{ToServer: true, Message: out.Message, Transport: l.transport()}
}

func (l *watchedLink) received(m *jsonrpc.Message) mcp.WireMessage {
	return mcp.WireMessage{Message: m.Raw(), Transport: l.transport()}
}

// transport is how messages travel; links other than over streams say so.
func (l *watchedLink) transport() string {
	if t, says := l.Link.(interface{ Transport() string }); says {
		return t.Transport()
	}
	return mcp.TransportStream
}
