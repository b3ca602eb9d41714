package stream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
	"github.com/junction-mcp/junction/mcp/internal/upstream"
)

// pipeDrain is how long requests may continue when a Pipe is closed. No client reads their
// responses then.
const pipeDrain = time.Second

// Pipe returns a transport to a Handler in the same process. It encodes and decodes every message,
// as over a socket. Each connection is served separately until it is closed. Closing waits for the
// Handler, at most for DrainTimeout; the default here is one second. Pipe is meant for tests. If
// messages need not be encoded, call the Handler.
func Pipe(h mcp.Handler) mcp.Transport { return PipeWith(h, mcp.ServeOptions{}) }

// PipeWith is like [Pipe], with options.
func PipeWith(h mcp.Handler, o mcp.ServeOptions) mcp.Transport {
	p := &memory{handler: h, options: o}
	if p.options.DrainTimeout <= 0 {
		p.options.DrainTimeout = pipeDrain
	}
	return p
}

type memory struct {
	handler mcp.Handler
	options mcp.ServeOptions
}

// Connect implements [mcp.Transport].
func (m *memory) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	return upstream.Connect(ctx, m.Link, o)
}

func (m *memory) Link(ctx context.Context) (link.Link, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect to %s: %w", m, context.Cause(ctx))
	}
	s, err := newServer(m.handler, m.options)
	if err != nil {
		return nil, err
	}
	toServer, toClient := newHalf(), newHalf()
	end := &served{duplex: duplex{in: toClient, out: toServer}, drain: m.options.DrainTimeout}
	var serving context.Context
	serving, end.cancel = context.WithCancel(context.WithoutCancel(ctx))
	end.serving.Go(func() {
		s.serveOne(serving, &duplex{in: toServer, out: toClient})
	})
	return pipe.New(end, pipe.Options{Name: m.String(), MaxMessage: m.options.MaxMessage, Logger: m.options.Logger}), nil
}

// String returns the transport's name.
func (m *memory) String() string { return "a server in this process" }

// A served is the client's end of a duplex whose other end is being served.
type served struct {
	duplex
	serving sync.WaitGroup
	drain   time.Duration
	cancel  context.CancelFunc // ends serve
}

// Close ends the serving and waits for it. A server in an endless handshake does not read, so it
// does not notice that the client is gone. In that case, Close cancels its context after the drain
// time.
func (s *served) Close() error {
	s.duplex.Close()
	defer s.cancel()
	defer time.AfterFunc(s.drain, s.cancel).Stop()
	s.serving.Wait()
	return nil
}

// A duplex is one end of a connection in memory.
type duplex struct{ in, out *half }

func (d *duplex) Read(b []byte) (int, error)  { return d.in.read(b) }
func (d *duplex) Write(b []byte) (int, error) { return d.out.write(b) }

// Close lets the other end read the written bytes, and io.EOF after them.
func (d *duplex) Close() error {
	d.in.end(true)
	d.out.end(false)
	return nil
}

// maxHalf is the maximum number of buffered bytes in one direction. Above it, a writer waits.
const maxHalf = 64 << 10

// A half is one direction of a connection in memory.
type half struct {
	mu      sync.Mutex
	changed *sync.Cond
	bytes   []byte
	ended   bool // set when the writer has closed its side
	refused bool // set when the reader has closed its side
}

func newHalf() *half {
	h := new(half)
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.bytes) == 0 && !h.ended && !h.refused {
		h.changed.Wait()
	}
	switch {
	case h.refused:
		return 0, io.ErrClosedPipe
	case len(h.bytes) == 0:
		return 0, io.EOF
	}
	n := copy(b, h.bytes)
	h.bytes = h.bytes[:copy(h.bytes, h.bytes[n:])]
	h.changed.Broadcast()
	return n, nil
}

func (h *half) write(b []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(b) > 0 {
		for len(h.bytes) == maxHalf && !h.ended && !h.refused {
			h.changed.Wait()
		}
		if h.ended || h.refused {
			return n, io.ErrClosedPipe
		}
		part := b[:min(len(b), maxHalf-len(h.bytes))]
		h.bytes = append(h.bytes, part...)
		h.changed.Broadcast()
		b, n = b[len(part):], n+len(part)
	}
	return n, nil
}

// end closes the reading side, or the writing side if reading is false.
func (h *half) end(reading bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reading {
		h.refused = true
	} else {
		h.ended = true
	}
	h.changed.Broadcast()
}
