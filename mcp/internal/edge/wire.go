package edge

import (
	"context"
	"log/slog"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
)

// A line describes the connection to a client for an [mcp.Wire].
type line struct {
	wire      mcp.Wire // nil without observers
	revision  string
	client    *mcp.Implementation
	transport string
	log       *slog.Logger
}

// lineOf returns the line of a request with this metadata.
func (e *Edge) lineOf(meta *mcp.Meta) line {
	return line{wire: e.options.Wire, transport: e.options.Transport, log: e.log, revision: meta.Revision, client: meta.Client}
}

func (s *Session) line() line { return s.edge.lineOf(&s.meta) }

// takes is like passes, for a request of the client. It also passes the observer's NoteObserver to
// carrier.
func (l *line) takes(ctx context.Context, m *jsonrpc.Message, carrier Carrier) context.Context {
	seen := l.passes(ctx, true, m.Raw())
	if m.Odd != 0 {
		name := "a client"
		if l.client != nil {
			name = l.client.Name
		}
		if m.Odd&jsonrpc.OddNumber != 0 {
			tolerance.WholeNumberID.Met(seen, l.log, name, m.Method)
		}
		if m.Odd&jsonrpc.OddSurrogate != 0 {
			tolerance.HalfSurrogate.Met(seen, l.log, name, m.Method)
		}
	}
	if seen != ctx && carrier != nil {
		if n := mcp.NoteObserverOf(seen, note.HTTP); n != nil {
			carrier.Watched(n)
		}
	}
	return seen
}

// passes shows a message to the observers, and returns the context for handling the message
// further.
func (l *line) passes(ctx context.Context, toServer bool, message []byte) context.Context {
	if l.wire == nil || len(message) == 0 || !l.wire.Watching() {
		return ctx
	}
	return l.wire.Passes(ctx, mcp.WireMessage{ToServer: toServer, Message: message, Revision: l.revision, Client: l.client, Transport: l.transport})
}

// reply shows a reply that was appended to dst to the observers, and returns the reply.
func (l *line) reply(ctx context.Context, dst []byte, r Reply) Reply {
	if len(r.Message) > len(dst) {
		l.passes(ctx, false, r.Message[len(dst):])
	}
	return r
}

// Show shows a response or notification of the client to the observers.
func (s *Session) Show(m *jsonrpc.Message) {
	l := s.line()
	l.passes(context.Background(), true, m.Raw())
}

// A seen is a Sender that shows its messages to the observers.
type seen struct {
	Sender
	line line
}

// Send implements [Sender].
func (s seen) Send(ctx context.Context, message []byte) error {
	s.line.passes(ctx, false, message)
	return s.Sender.Send(ctx, message)
}

// Refused shows the observers the error with which a transport refused a request before it reached
// the Edge.
func (e *Edge) Refused(ctx context.Context, message []byte) {
	l := e.lineOf(&mcp.Meta{})
	l.passes(ctx, false, message)
}
