package httpedge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

// ErrClosed is returned for events on a closed stream.
var ErrClosed = errors.New("the connection is closed")

// slowest is the minimum speed of a client that reads an event larger than this, in bytes a second.
const slowest = 64 << 10

// Headers of streams; never changed.
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
	release  func()      // called when the connection is given up, if ServeHTTP waits for that
	timer    *time.Timer // for comments; may be nil

	turn turn.Turn // right to write
	err  error     // reason why writing is over; guarded by turn
}

// EventOptions are the timeouts and buffers of a stream.
type EventOptions struct {
	// WriteTimeout is the time that a client has to read an event, plus a second for each 64 KiB.
	WriteTimeout time.Duration
	// KeepAlive is the time between comments; none are sent unless it is positive.
	KeepAlive time.Duration
	// Buffers is the pool for encoding events; never nil.
	Buffers *Buffers
}

// OpenEvents starts a response that is a stream, without sending anything yet. It calls release at
// most once, when the connection is given up, to let ServeHTTP return. A nil release means that
// ServeHTTP is busy; the connection is then closed directly.
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

// Write sends one event. It waits until ctx is done for another event or comment to be sent. Each
// has the time of the options.
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

// WaitTurn waits until the current and all waiting writes are done or given up.
func (w *EventWriter) WaitTurn() {
	w.acquire()
	w.turn.Release()
}

// Begin sends the header of the response before the first event.
func (w *EventWriter) Begin() error {
	w.acquire()
	defer w.turn.Release()
	w.send(nil)
	return w.err
}

// acquire waits for the turn, which every holder keeps for at most the time of one event.
func (w *EventWriter) acquire() { w.turn.Acquire(context.Background()) }

// send writes b and waits until the client's system has it or the time is over.
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
	w.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends streams whose deadline passes, even idle ones
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

// Disconnect ends the response now. It returns no error: the client gets the rest when it resumes.
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

// freeConnection frees the connection. If ServeHTTP does not wait for that, it hijacks and closes
// the connection. With orderly it writes the end of the body first.
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

// Finish ends the response properly.
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
