package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeSize is what a pipe holds on Linux by default, and more
// than it holds elsewhere.
const pipeSize = 64 << 10

// output is the reading end of a pipe from the child. Processes that the child
// started may hold the other end for ever, so that reading can be ended from
// this side.
type output struct {
	file  *os.File
	ended atomic.Bool

	mu   sync.Mutex
	left int // how much more is read once reading was ended
}

func newOutput(f *os.File) *output { return &output{file: f, left: pipeSize} }

// end lets Read return what is in the pipe already and then io.EOF, whoever
// holds the other end. A Read that waits returns.
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

// readLeft reads what is in the pipe without waiting, and no more than a pipe
// holds, because somebody may still be writing.
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
