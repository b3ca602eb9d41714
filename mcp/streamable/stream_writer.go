package streamable

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
)

var errClosed = errors.New("the connection is closed")

// slowest is how many bytes a second a client must read at least of an event
// that is larger than that.
const slowest = 64 << 10

// An eventWriter writes events into one HTTP response, and comments where there
// is nothing to write for long. Its methods are safe for concurrent use. It
// must be closed before ServeHTTP returns.
type eventWriter struct {
	response http.ResponseWriter
	control  *http.ResponseController
	chunked  bool
	timeout  time.Duration
	interval time.Duration
	hang     func() // lets go of the connection, if ServeHTTP is not waiting for that

	mu    sync.Mutex
	err   error // why nothing can be written any more
	timer *time.Timer
}

// openEvents begins a response that is a stream. hang is called, at most once,
// when the connection is given up; nil if whoever runs ServeHTTP is busy.
func (x *exchange) openEvents(hang func()) *eventWriter {
	o := &x.endpoint.options
	w := &eventWriter{response: x.w, control: http.NewResponseController(x.w), chunked: x.r.ProtoMajor == 1 && x.r.ProtoMinor >= 1,
		timeout: o.WriteTimeout, interval: o.KeepAlive, hang: hang}
	h := x.w.Header()
	h["Content-Type"] = eventsType
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.w.WriteHeader(http.StatusOK)
	if w.interval > 0 {
		w.timer = time.AfterFunc(w.interval, w.keepAlive)
	}
	return w
}

// write sends one event.
func (w *eventWriter) write(e eventstream.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	withBuffer(func(b []byte) []byte {
		b = eventstream.AppendEvent(b, e)
		w.send(b)
		return b
	})
	return w.err
}

// begin sends the head of the response, for who has no event yet.
func (w *eventWriter) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(nil)
	return w.err
}

// send writes and waits until the client's system has it, or the time is over.
func (w *eventWriter) send(b []byte) {
	if w.err != nil {
		return
	}
	w.control.SetWriteDeadline(time.Now().Add(w.timeout + time.Duration(len(b)/slowest)*time.Second))
	if len(b) > 0 {
		_, w.err = w.response.Write(b)
	}
	if w.err == nil {
		w.err = w.control.Flush()
	}
	if w.err != nil {
		w.letGo(false)
		return
	}
	w.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends streams whose deadline passes, idle or not
}

// keepAlive sends a comment, unless something is being sent right now.
func (w *eventWriter) keepAlive() {
	if !w.mu.TryLock() {
		w.timer.Reset(w.interval)
		return
	}
	defer w.mu.Unlock()
	w.send([]byte(":\n\n"))
	if w.err == nil {
		w.timer.Reset(w.interval)
	}
}

// close ends writing; the response ends when ServeHTTP returns.
func (w *eventWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
}

// hangUp ends the response now. It reports nothing: whatever was not received
// is sent when the client comes back.
func (w *eventWriter) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = errClosed
		w.letGo(true)
	}
}

func (w *eventWriter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.err == nil {
		w.err = errClosed
	}
}

// letGo frees the connection. Where nobody waits in ServeHTTP it is taken out of
// the server's hands and closed, after its end was marked if all went well.
func (w *eventWriter) letGo(orderly bool) {
	w.stop()
	if w.hang != nil {
		w.hang()
		return
	}
	conn, _, err := w.control.Hijack()
	if err != nil { // HTTP/2: a deadline in the past resets the stream
		w.control.SetWriteDeadline(time.Unix(1, 0))
		return
	}
	if orderly && w.chunked {
		conn.SetWriteDeadline(time.Now().Add(w.timeout))
		conn.Write([]byte("0\r\n\r\n"))
	}
	conn.Close()
}

// finish ends the response in order.
func (w *eventWriter) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.stop()
	if w.hang != nil {
		w.hang()
	}
}
