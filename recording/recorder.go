package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// The limits of a Recorder.
const (
	// maxQueued is the largest number of bytes that wait to be written. Further messages are
	// dropped and counted in the file.
	maxQueued = 32 << 20
	// maxCallers is the largest number of clients that get their own numbers.
	maxCallers = 1_024
	// closeTime is how long Close waits for the remaining lines.
	closeTime = 5 * time.Second
)

// Options configure a Recorder. A zero field means its default.
type Options struct {
	// Program names the recording program, such as "junction 1.0 proxy".
	Program string
	// Through makes every message wait until it is written, so that none is lost, even in a crash.
	// Without Through no message is delayed. A message that cannot be written in time is dropped
	// and counted in the file.
	Through bool
	// OnError is called once, when writing fails. Messages pass on without being recorded.
	OnError func(error)
}

// A Recorder records the messages that pass through its [Recorder.Middleware]. Its methods are safe
// for concurrent use.
type Recorder struct {
	options Options
	began   time.Time
	calls   atomic.Int64
	wake    chan struct{} // signalled when write has work
	done    chan struct{} // closed when write has ended

	mu      sync.Mutex
	queue   []entry
	queued  int             // size of queue in bytes
	secrets []string        // secrets that write has not learned yet
	hidden  map[string]bool // all secrets passed to Hide
	lost    line            // counts of dropped lines
	callers map[any]int
	closed  bool
	failed  error
}

// An entry is a line to write.
type entry struct {
	line    *line
	size    int
	written chan<- struct{} // closed when the line is written; nil if no caller waits
}

// New returns a Recorder that writes to w. The caller must close it.
func New(w io.Writer, o Options) (*Recorder, error) {
	r := &Recorder{options: o, began: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{}), callers: map[any]int{}, hidden: map[string]bool{}}
	first := append(headers.Append(nil, &header{Recording: format, Program: o.Program, Began: r.began.UTC().Format(time.RFC3339Nano)}, nil), '\n')
	if _, err := w.Write(first); err != nil {
		return nil, err
	}
	go r.write(&file{w: w, size: len(first)})
	return r, nil
}

// Hide replaces these secrets wherever they occur in later lines. Short secrets of less than 6
// bytes and short plain words are less certain. They are replaced only if they are the value of a
// member whose name indicates a secret.
func (r *Recorder) Hide(secrets ...string) {
	if !r.hide(secrets) {
		r.failedWith(fmt.Errorf("there are more than %d secrets to hide", maxHidden))
	}
}

// hide queues secrets for write. It returns false if there are too many.
func (r *Recorder) hide(secrets []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range secrets {
		if secret == "" || r.hidden[secret] {
			continue
		}
		if len(r.hidden) >= maxHidden {
			return false
		}
		r.hidden[secret] = true
		r.secrets = append(r.secrets, secret)
	}
	return true
}

// Close writes the remaining lines. It returns the error that ended the recording, or nil.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.signal()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-r.done:
	case <-late.C:
		return fmt.Errorf("the recording is not complete: it could not be written within %v", closeTime)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // a signal is pending
	}
}

// add queues a line. The caller must not change the line's content afterwards. With Through, add
// waits until the line is written.
func (r *Recorder) add(ctx context.Context, l *line) {
	e := entry{line: l, size: l.size()}
	var written chan struct{}
	if r.options.Through {
		written = make(chan struct{})
		e.written = written
	}
	if !r.enqueue(ctx, e) {
		return
	}
	r.signal()
	if written != nil {
		select {
		case <-written:
		case <-ctx.Done():
		}
	}
}

func (r *Recorder) enqueue(ctx context.Context, e entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.line.MS = ms(time.Since(r.began))
	switch {
	case r.closed || r.failed != nil:
		return false
	case r.queued+e.size > maxQueued && (e.written == nil || ctx.Err() != nil): // callers that wait for their lines limit their own number
		r.lost.Lines++
		r.lost.Bytes += e.size
		r.lost.MS = e.line.MS
		return false
	}
	r.queue = append(r.queue, e)
	r.queued += e.size
	return true
}

// take removes the queued lines and secrets from the Recorder. more reports whether others may
// follow.
func (r *Recorder) take() (lines []entry, secrets []string, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, secrets = r.queue, r.secrets
	if r.lost.Lines > 0 {
		lost := r.lost
		lost.Event = eventLost
		lines = append(lines, entry{line: &lost})
	}
	r.queue, r.secrets, r.lost = nil, nil, line{}
	return lines, secrets, !r.closed
}

// write writes lines until the Recorder is closed. It alone uses the file.
func (r *Recorder) write(f *file) {
	defer close(r.done)
	for more := true; more; {
		<-r.wake
		var lines []entry
		var secrets []string
		lines, secrets, more = r.take()
		for _, secret := range secrets {
			f.hider.hide(secret)
		}
		for _, e := range lines {
			r.failedWith(f.add(e.line))
			r.mu.Lock()
			r.queued -= e.size
			r.mu.Unlock()
			if e.written != nil {
				close(e.written)
			}
		}
	}
	if !r.hasFailed() { // after an error the file just ends
		r.failedWith(f.add(&line{MS: ms(time.Since(r.began)), Event: eventEnd}))
	}
}

func (r *Recorder) hasFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed != nil
}

// failedWith stores the first error, which ends the recording.
func (r *Recorder) failedWith(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	first := r.failed == nil
	if first {
		r.failed = fmt.Errorf("the recording ends here: %w", err)
		err = r.failed
	}
	r.mu.Unlock()
	if first && r.options.OnError != nil {
		r.options.OnError(err)
	}
}

// caller returns the number of a client, or 0 if it has none.
func (r *Recorder) caller(who any) int {
	if who == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.callers[who]
	if n == 0 && len(r.callers) < maxCallers {
		n = len(r.callers) + 1
		r.callers[who] = n
	}
	return n
}

// A file is the output of a Recorder.
type file struct {
	w     io.Writer
	size  int
	ended bool // whether add writes no more lines
	hider hider
	buf   []byte
}

var errFull = errors.New("it has reached the largest size of a recording")

// add writes a line. After an error or at the largest size it writes nothing.
func (f *file) add(l *line) error {
	if f.ended {
		return nil
	}
	if l.size() > maxLine {
		l = l.without()
	}
	f.buf = l.append(f.buf[:0], &f.hider)
	if len(f.buf) > maxLine { // placeholders made the line longer
		f.buf = l.without().append(f.buf[:0], &f.hider)
	}
	const last = 1 << 10 // room for the line that reports a full file
	if f.size+len(f.buf) > MaxSize-last {
		f.ended = true
		_, err := f.w.Write((&line{MS: l.MS, Event: eventFull}).append(nil, &f.hider))
		return errors.Join(errFull, err)
	}
	n, err := f.w.Write(f.buf)
	f.size += n
	f.ended = err != nil
	if cap(f.buf) > 1<<20 {
		f.buf = nil // release the buffer of a long message
	}
	return err
}
