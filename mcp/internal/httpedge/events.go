package httpedge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

// ErrClosed is the error for events on a closed stream.
var ErrClosed = errors.New("the connection is closed")

// slowest is the minimum speed of a client in bytes per second. It applies to larger bodies and
// events.
const slowest = 64 << 10

// The headers of streams; never changed.
var (
	eventsType     = []string{EventStream}
	eventsCaching  = []string{"no-cache"}
	eventsBuffered = []string{"no"}
)

// An EventWriter writes events into one HTTP response, and comments after long pauses. Its methods
// are safe for concurrent use. It must be closed before ServeHTTP returns.
type EventWriter struct {
	response http.ResponseWriter
	control  http.ResponseController
	chunked  bool
	options  EventOptions
	release  func()      // called when the connection is given up, if ServeHTTP waits for the call
	timer    *time.Timer // for comments; may be nil

	turn turn.Turn // the right to write
	err  error     // why writing has ended; guarded by turn
}

// EventOptions are the timeouts and buffers of a stream.
type EventOptions struct {
	// WriteTimeout is how long a client may take to read an event, plus a second for each 64 KiB.
	WriteTimeout time.Duration
	// KeepAlive is the interval of comments. No comments are sent unless it is positive.
	KeepAlive time.Duration
	// Buffers is the pool for encoding events; never nil.
	Buffers *Buffers
}

// OpenEvents starts a response that is a stream of events, without sending anything yet. It calls
// release at most once, when the connection is given up, so that ServeHTTP can return. If release
// is nil, ServeHTTP is busy, and the connection is closed directly.
func OpenEvents(w http.ResponseWriter, r *http.Request, o EventOptions, release func()) *EventWriter {
	e := &EventWriter{response: w, control: *http.NewResponseController(w), chunked: r.ProtoMajor == 1 && r.ProtoMinor >= 1, options: o, release: release}
	h := w.Header()
	h["Content-Type"] = eventsType
	h["Cache-Control"] = eventsCaching
	h["X-Accel-Buffering"] = eventsBuffered
	w.WriteHeader(http.StatusOK)
	if o.KeepAlive > 0 {
		e.timer = time.AfterFunc(time.Hour, e.keepAlive)
		e.timer.Reset(o.KeepAlive) // after e.timer is set, as it may fire at once
	}
	return e
}

// Write sends one event. It waits for the events and comments before it, until ctx is done. Each
// may take the time in the options.
func (w *EventWriter) Write(ctx context.Context, e eventstream.Event) error {
	if err := w.turn.Acquire(ctx); err != nil {
		return err
	}
	defer w.turn.Release()
	b := w.options.Buffers.get()
	event := eventstream.AppendEvent((*b)[:0], e)
	w.send(event)
	w.options.Buffers.put(b, event)
	return w.err
}

// WaitTurn waits until the current write and all waiting writes have ended.
func (w *EventWriter) WaitTurn() {
	w.acquire()
	w.turn.Release()
}

// Begin sends the header of the response, before the first event.
func (w *EventWriter) Begin() error {
	w.acquire()
	defer w.turn.Release()
	w.send(nil)
	return w.err
}

// acquire waits for the turn. Each holder keeps it for at most the time of one event.
func (w *EventWriter) acquire() { w.turn.Acquire(context.Background()) }

// send writes b, and waits until the client's system has received it or the time is over.
func (w *EventWriter) send(b []byte) {
	if w.err != nil {
		return
	}
	w.control.SetWriteDeadline(time.Now().Add(w.options.WriteTimeout + time.Duration(len(b)/slowest)*time.Second))
	if len(b) > 0 {
		_, w.err = w.response.Write(b)
	}
	if w.err == nil {
		w.err = w.control.Flush()
	}
	if w.err != nil {
		w.freeConnection(false)
		return
	}
	w.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends streams whose deadline passes, even unused ones
}

// keepAlive sends a comment, unless a write is in progress.
func (w *EventWriter) keepAlive() {
	if !w.turn.TryAcquire() {
		w.timer.Reset(w.options.KeepAlive)
		return
	}
	defer w.turn.Release()
	w.send([]byte(":\n\n"))
	if w.err == nil {
		w.timer.Reset(w.options.KeepAlive)
	}
}

// Close ends writing. The response ends when ServeHTTP returns.
func (w *EventWriter) Close() {
	w.acquire()
	defer w.turn.Release()
	w.stop()
}

// Disconnect ends the response now. The client gets the remaining events when it resumes.
func (w *EventWriter) Disconnect() {
	w.acquire()
	defer w.turn.Release()
	if w.err == nil {
		w.err = ErrClosed
		w.freeConnection(true)
	}
}

func (w *EventWriter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.err == nil {
		w.err = ErrClosed
	}
}

// freeConnection gives the connection up. If ServeHTTP does not wait for release, it hijacks and
// closes the connection. With orderly set, it first writes the end of the body.
func (w *EventWriter) freeConnection(orderly bool) {
	w.stop()
	if w.release != nil {
		w.release()
		return
	}
	conn, _, err := w.control.Hijack()
	if err != nil { // for HTTP/2, a deadline in the past resets the stream
		w.control.SetWriteDeadline(time.Unix(1, 0))
		return
	}
	if orderly && w.chunked {
		conn.SetWriteDeadline(time.Now().Add(w.options.WriteTimeout))
		conn.Write([]byte("0\r\n\r\n"))
	}
	conn.Close()
}

// Finish ends the response in an orderly way.
func (w *EventWriter) Finish() {
	w.acquire()
	defer w.turn.Release()
	if w.err != nil {
		return
	}
	w.stop()
	if w.release != nil {
		w.release()
	}
}
