package lines

import (
	"context"
	"io"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	// maxGathered is the maximum number of bytes that wait for a client that does not read. Above
	// it, writers also wait.
	maxGathered = 1 << 20
	// flushSize is the number of gathered bytes that are written at once, even if more may follow.
	flushSize = 128 << 10
)

// A Writer writes lines for many goroutines. If no goroutine is writing, the next one writes
// everything gathered so far. After the first error, a Writer drops all messages.
type Writer struct {
	w      io.Writer
	broken chan struct{} // closed at the first error

	mu       sync.Mutex
	gathered []byte
	spare    []byte
	writing  bool
	err      error
	written  chan struct{} // closed when a Write ends; nil without waiters
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, broken: make(chan struct{})}
}

// Gather adds a message to the output of the next [Writer.Flush]. If too many bytes wait to be
// written, Gather waits until ctx is done.
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

// Give is like [Writer.Gather], for a message whose memory the writer may keep. It returns other
// memory for the next message. A single message is not copied.
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

// lock locks w.mu once there is room for a message. If it returns an error, w.mu is not locked.
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

// waitWritten returns a channel that is closed when a Write ends. The caller holds w.mu.
func (w *Writer) waitWritten() <-chan struct{} {
	if w.written == nil {
		w.written = make(chan struct{})
	}
	return w.written
}

// waitRoom waits until there is room for the next message.
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

// due reports whether enough was gathered to write it now.
func (w *Writer) due() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.gathered) > flushSize && !w.writing
}

// pending reports whether gathered bytes wait and no goroutine writes.
func (w *Writer) pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.gathered) > 0 && !w.writing && w.err == nil
}

// Flush writes the gathered bytes, unless another goroutine is writing and will write them, too. It
// returns the first error of all writes.
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

// finish writes the gathered bytes and waits for other writers, as unwritten bytes are lost when
// the process exits.
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

// failed returns the first error of all writes so far.
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
