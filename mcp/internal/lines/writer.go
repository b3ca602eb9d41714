package lines

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// maxGathered is how much may wait for a slow reader on the other side before
// writers wait too.
const maxGathered = 4 << 20

// A Writer writes lines for many goroutines. Whoever finds nobody writing
// writes everything gathered so far.
type Writer struct {
	w io.Writer

	mu       sync.Mutex
	room     *sync.Cond // told when what was gathered has gone out
	gathered []byte
	spare    []byte
	writing  bool
	err      error
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: w}
	out.room = sync.NewCond(&out.mu)
	return out
}

// Gather adds a message to what goes out with the next [Writer.Flush].
func (w *Writer) Gather(message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.gathered) > maxGathered && w.writing && w.err == nil {
		w.room.Wait()
	}
	from := len(w.gathered)
	w.gathered = append(w.gathered, message...)
	joinLines(w.gathered[from:])
	w.gathered = append(w.gathered, '\n')
}

// Give is [Writer.Gather] for a message whose memory the writer may keep: it
// returns other memory to write the next one into. A lone message is not copied.
func (w *Writer) Give(message []byte) []byte {
	w.mu.Lock()
	if len(w.gathered) > 0 {
		w.mu.Unlock()
		w.Gather(message)
		return message[:0]
	}
	defer w.mu.Unlock()
	other := w.gathered
	joinLines(message)
	w.gathered = append(message, '\n')
	return other[:0]
}

// joinLines makes one line of JSON that was written over several: line breaks
// can only stand between its tokens.
func joinLines(message []byte) {
	for i := bytes.IndexByte(message, '\n'); i >= 0; i = bytes.IndexByte(message, '\n') {
		message[i] = ' '
		message = message[i+1:]
	}
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
		}
		w.room.Broadcast()
	}
	w.writing = false
	return w.err
}

// finish writes what was gathered and waits for whoever is writing: what is not
// written when a process exits is lost.
func (w *Writer) finish() {
	w.mu.Lock()
	for w.writing {
		w.room.Wait()
	}
	w.mu.Unlock()
	w.Flush()
}

// failed is the first error that writing met so far.
func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Send writes a message at once.
func (w *Writer) Send(_ context.Context, message []byte) error {
	w.Gather(message)
	return w.Flush()
}
