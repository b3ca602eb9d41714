package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeSize is the default capacity of a pipe on Linux. On other systems pipes are smaller.
const pipeSize = 64 << 10

// output is the reading end of a pipe from the child. Reading can be ended from this side, because
// descendants of the child may keep the other end open for any time.
type output struct {
	file  *os.File
	ended atomic.Bool

	mu   sync.Mutex
	left int // number of bytes that may still be read after end
}

func newOutput(f *os.File) *output { return &output{file: f, left: pipeSize} }

// end makes Read return the current content of the pipe and then io.EOF, even if the other end is
// open. It wakes a blocked Read.
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

// readLeft reads the remaining content of the pipe without waiting. It reads at most the capacity
// of a pipe, because the other end may still write.
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
