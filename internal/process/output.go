package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeSize is the default capacity of a pipe on Linux, and more than that of other systems.
const pipeSize = 64 << 10

// output is the reading end of a pipe from the child. Descendants of the child may hold the other
// end without limit, so reading can be ended from this side.
type output struct {
	file  *os.File
	ended atomic.Bool

	mu   sync.Mutex
	left int // bytes that may be read after end
}

func newOutput(f *os.File) *output { return &output{file: f, left: pipeSize} }

// end makes Read return the content of the pipe and then io.EOF, even if the other end is open. It
// ends a blocked Read.
func (o *output) end() {
	o.ended.Store(true)
	if err := o.file.SetReadDeadline(time.Unix(1, 0)); errors.Is(err, os.ErrNoDeadline) {
		o.file.Close()
	}
}

func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	switch {
	case err == nil || !o.ended.Load():
		return n, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return o.readLeft(b)
	default:
		return n, io.EOF
	}
}

// readLeft reads the content of the pipe without waiting, at most its capacity, because the other
// end may still be written.
func (o *output) readLeft(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b = b[:min(len(b), o.left)]
	if len(b) == 0 {
		return 0, io.EOF
	}
	n := readNow(o.file, b)
	if n <= 0 {
		o.left = 0
		return 0, io.EOF
	}
	o.left -= n
	return n, nil
}

func (o *output) close() { o.file.Close() }
