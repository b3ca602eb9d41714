package upstream

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A watchedLink shows its messages to whoever looks.
type watchedLink struct {
	link.Link
	wire mcp.Wire
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
		return &watchedFallback{watchedLink{l, wire}, f}
	}
	return &watchedLink{l, wire}
}

func (l *watchedLink) Call(ctx context.Context, out link.Out, deliver func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	if !l.wire.Watching() {
		return l.Link.Call(ctx, out, deliver)
	}
	seen := l.wire.Passes(ctx, l.sent(&out))
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
			l.wire.Passes(ctx, l.received(m))
		}
		deliver(m)
	})
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
