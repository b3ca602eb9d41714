package stream

import (
	"bytes"
	"context"
	"io"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A MessageConn transfers whole JSON-RPC messages in both directions, such as a websocket or a pair
// of queues. One goroutine calls Read and another calls Write. Close may be called at any time.
type MessageConn interface {
	// Read returns the next message of the other side. The message must not change afterwards. At
	// the end, the error is io.EOF.
	Read(ctx context.Context) ([]byte, error)
	// Write sends a message. The message is valid only during the call.
	Write(ctx context.Context, message []byte) error
	// Close ends the connection. A blocked Read or Write must then return; its context also ends.
	Close() error
}

// Messages returns c as a pair of byte streams. Together with [Over], it makes a client transport
// from anything that transfers messages, and together with [ServeConn] a server:
//
//	client, err := mcp.Dial(ctx, stream.Over(stream.Messages(socket), "the socket"))
//	err := stream.ServeConn(ctx, stream.Messages(socket), server)
func Messages(c MessageConn) io.ReadWriteCloser {
	m := &messages{conn: c}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// messages sends and receives each message as a line, in the format of package lines.
type messages struct {
	conn   MessageConn
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	in     []byte // remainder of the message that is being read
	out    []byte // beginning of the message that is being written
}

func (m *messages) Read(b []byte) (int, error) {
	for len(m.in) == 0 {
		message, err := m.conn.Read(m.ctx)
		if err != nil {
			return 0, err
		}
		m.in = append(bytes.Clone(message), '\n')
		jsonrpc.JoinLines(m.in[:len(m.in)-1])
	}
	n := copy(b, m.in)
	m.in = m.in[n:]
	return n, nil
}

func (m *messages) Write(b []byte) (int, error) {
	rest := b
	for {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole {
			m.out = append(m.out, line...)
			return len(b), nil
		}
		if len(m.out) > 0 {
			line = append(m.out, line...)
			m.out = m.out[:0]
		}
		if err := m.conn.Write(m.ctx, line); err != nil {
			return len(b) - len(rest), err
		}
		rest = after
	}
}

func (m *messages) Close() error {
	m.cancel(io.ErrClosedPipe)
	return m.conn.Close()
}
