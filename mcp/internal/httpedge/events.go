package httpedge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

// ErrClosed is returned for events on a stream that was closed.
var ErrClosed = errors.New("the connection is closed")

// slowest is how many bytes a second a client must read at least of an event
// that is larger than that.
const slowest = 64 << 10

// Headers of streams, which are never changed.
var (
	eventsType     = []string{EventStream}
	eventsCaching  = []string{"no-cache"}
	eventsBuffered = []string{"no"}
)

// An EventWriter writes events into one HTTP response, and comments where there
// is nothing to write for long. Its methods are safe for concurrent use. It
// must be closed before ServeHTTP returns.
type EventWriter struct {
	response http.ResponseWriter
	control  http.ResponseController
	chunked  bool
	options  EventOptions
	release  func()      // called when the connection is given up, if ServeHTTP is waiting for that
	timer    *time.Timer // for comments; may be nil

	turn turn.Turn // to write
	err  error     // why nothing can be written any more; it belongs to whoever has the turn
}

// EventOptions say how long things may take on a stream.
type EventOptions struct {
	// WriteTimeout is how long a client may take to read an event; it gets a second
	// more for each 64 KiB.
	WriteTimeout time.Duration
	// KeepAlive is the time between comments; none are sent if it is not positive.
	KeepAlive time.Duration
	// Buffers are where events are put together; never nil.
	Buffers *Buffers
}

// OpenEvents begins a response that is a stream; nothing is sent yet. release is
// called, at most once, when the connection is given up, for ServeHTTP to
// return. Where it is nil ServeHTTP is busy, and the connection is closed
// without it.
func OpenEvents(w http.ResponseWriter, r *http.Request, o EventOptions, release func()) *EventWriter {
	e := &EventWriter{response: w, control: *http.NewResponseController(w), chunked: r.ProtoMajor == 1 && r.ProtoMinor >= 1, options: o, release: release}
	h := w.Header()
	h["Content-Type"] = eventsType
	h["Cache-Control"] = eventsCaching
	h["X-Accel-Buffering"] = eventsBuffered
	w.WriteHeader(http.StatusOK)
	if o.KeepAlive > 0 {
		e.timer = time.AfterFunc(time.Hour, e.keepAlive)
		e.timer.Reset(o.KeepAlive) // not before e.timer is set, as it may fire at once
	}
	return e
}

// Write sends one event. Where another event, or a comment, is being sent it waits
// for that until ctx is done; each has the time of the options.
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

// WaitTurn waits until what is being sent now, and what waits for that, is sent or
// given up.
func (w *EventWriter) WaitTurn() {
	w.acquire()
	w.turn.Release()
}

// Begin sends the header of the response before there is an event.
func (w *EventWriter) Begin() error {
	w.acquire()
	defer w.turn.Release()
	w.send(nil)
	return w.err
}

// acquire waits for the turn, which everybody has for at most the time that an event
// may take.
func (w *EventWriter) acquire() { w.turn.Acquire(context.Background()) }

// send writes and waits until the client's system has it, or the time is over.
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
	w.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends streams whose deadline passes, idle or not
}

// keepAlive sends a comment, unless something is being sent right now.
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

// Close ends writing; the response ends when ServeHTTP returns.
func (w *EventWriter) Close() {
	w.acquire()
	defer w.turn.Release()
	w.stop()
}

// Disconnect ends the response now. It reports nothing: whatever was not received
// is sent when the client comes back.
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

// freeConnection frees the connection. Where nobody waits in ServeHTTP it is taken out of
// the server's hands and closed, after its end was marked if all went well.
func (w *EventWriter) freeConnection(orderly bool) {
	w.stop()
	if w.release != nil {
		w.release()
		return
	}
	conn, _, err := w.control.Hijack()
	if err != nil { // HTTP/2: a deadline in the past resets the stream
		w.control.SetWriteDeadline(time.Unix(1, 0))
		return
	}
	if orderly && w.chunked {
		conn.SetWriteDeadline(time.Now().Add(w.options.WriteTimeout))
		conn.Write([]byte("0\r\n\r\n"))
	}
	conn.Close()
}

// Finish ends the response in order.
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
