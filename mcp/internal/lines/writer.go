package lines

import (
	"context"
	"io"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	// maxGathered is how many bytes wait for a client that does not read before
	// whoever has more to write waits too.
	maxGathered = 1 << 20
	// flushSize is how many bytes are written at once, though more may come.
	flushSize = 128 << 10
)

// A Writer writes lines for many goroutines. Whoever finds nobody writing
// writes everything gathered so far. After the first error it drops everything.
type Writer struct {
	w      io.Writer
	broken chan struct{} // closed at the first error

	mu       sync.Mutex
	gathered []byte
	spare    []byte
	writing  bool
	err      error
	written  chan struct{} // closed when a Write ends; nil while nobody waits
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, broken: make(chan struct{})}
}

// Gather adds a message to what goes out with the next [Writer.Flush]. Where too
// much waits to be written already, it waits too, until ctx is done.
func (w *Writer) Gather(ctx context.Context, message []byte) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.mu.Unlock()
	from := len(w.gathered)
	w.gathered = append(w.gathered, message...)
	jsonrpc.JoinLines(w.gathered[from:])
	w.gathered = append(w.gathered, '\n')
	return nil
}

// Give is [Writer.Gather] for a message whose memory the writer may keep: it
// returns other memory to write the next one into. A lone message is not copied.
func (w *Writer) Give(ctx context.Context, message []byte) []byte {
	w.mu.Lock()
	if len(w.gathered) > 0 || w.err != nil {
		w.mu.Unlock()
		w.Gather(ctx, message) // an error ends Serve
		return message[:0]
	}
	defer w.mu.Unlock()
	other := w.gathered
	jsonrpc.JoinLines(message)
	w.gathered = append(message, '\n')
	return other[:0]
}

// lock locks w.mu when there is room for a message. After an error it is not locked.
func (w *Writer) lock(ctx context.Context) error {
	for {
		w.mu.Lock()
		if w.err != nil {
			defer w.mu.Unlock()
			return w.err
		}
		if len(w.gathered) <= maxGathered {
			return nil
		}
		writing, written := w.writing, w.waitWritten()
		w.mu.Unlock()
		if !writing {
			w.Flush()
			continue
		}
		select {
		case <-written:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitWritten returns a channel that is closed when a Write ends. w.mu is held.
func (w *Writer) waitWritten() <-chan struct{} {
	if w.written == nil {
		w.written = make(chan struct{})
	}
	return w.written
}

// waitRoom waits until the next message has room.
func (w *Writer) waitRoom(ctx context.Context) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	w.mu.Unlock()
	return nil
}

// full reports whether the next message would have to wait.
func (w *Writer) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.gathered) > maxGathered && w.err == nil
}

// due reports whether so much was gathered that it should be written now.
func (w *Writer) due() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.gathered) > flushSize && !w.writing
}

// pending reports whether something was gathered that nobody writes.
func (w *Writer) pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.gathered) > 0 && !w.writing && w.err == nil
}

// Flush writes what was gathered, unless somebody is writing already and will
// take it along. The error is the first that writing ever met.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing {
		return w.err
	}
	w.writing = true
	for len(w.gathered) > 0 && w.err == nil {
		out := w.gathered
		w.gathered = w.spare[:0]
		w.spare = nil
		w.mu.Unlock()
		_, err := w.w.Write(out)
		w.mu.Lock()
		if cap(out) <= maxGathered {
			w.spare = out[:0]
		}
		if err != nil {
			w.err = err
			w.gathered, w.spare = nil, nil
			close(w.broken)
		}
		if w.written != nil {
			close(w.written)
			w.written = nil
		}
	}
	w.writing = false
	return w.err
}

// finish writes what was gathered and waits for whoever is writing: what is not
// written when a process exits is lost.
func (w *Writer) finish() {
	for {
		w.mu.Lock()
		writing, written := w.writing, w.waitWritten()
		w.mu.Unlock()
		if !writing {
			w.Flush()
			return
		}
		<-written
	}
}

// failed is the first error that writing met so far.
func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Send writes a message at once.
func (w *Writer) Send(ctx context.Context, message []byte) error {
	if err := w.Gather(ctx, message); err != nil {
		return err
	}
	return w.Flush()
}
