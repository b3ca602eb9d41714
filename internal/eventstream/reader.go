package eventstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// DefaultMaxEvent is the default limit of an event of a [Reader], in bytes.
const DefaultMaxEvent = 16 << 20

// ErrTooLarge is wrapped by the error for an event over the reader's limit.
var ErrTooLarge = errors.New("event too large")

// A Reader reads the events of one stream. It is not safe for concurrent use.
type Reader struct {
	src      io.Reader
	maxEvent int
	err      error // final: src is not read any more
	buf      buffer

	begun  bool // a line was read, so a byte order mark has no meaning any more
	skipLF bool // the last line ended in CR: a following LF belongs to it

	event Event // fields so far, except Data
	data  span
	has   bool // the event has a field to deliver

	whole   func(data []byte) bool // see AcceptUnended; may be nil
	unended func()
	asked   bool // whole was called for the data
	looked  int  // bytes passed to whole for this event
	early   bool // the last event was delivered before its blank line, which may still come
}

// span is the data of an event so far: a part of the buffer, relative to the start of the event.
type span struct {
	from, to int
	set      bool
}

// NewReader returns a reader of the events in r. An event may have up to maxEvent bytes, including
// the names and ends of all its lines except the blank one; 0 means [DefaultMaxEvent].
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = DefaultMaxEvent
	}
	return &Reader{src: r, maxEvent: min(maxEvent, math.MaxInt/4)}
}

// AcceptUnended makes the reader deliver an event without its blank line if whole reports that its
// data is complete, whatever follows. It does so as soon as there is no more input, and at the end
// of the stream, where the last line need not end either. whole may use the data only until it
// returns. The reader calls unended when the blank line turns out to be missing. Call AcceptUnended
// before [Reader.Next].
func (r *Reader) AcceptUnended(whole func(data []byte) bool, unended func()) {
	r.whole, r.unended = whole, unended
}

// Next returns the next event as soon as its blank line has been read. The event's Data belongs to
// the caller.
//
// An event is delivered if it has data, an id or a retry time. At the end of the stream an event
// without its blank line is dropped, and the error is [io.EOF]. Other errors of the stream are
// returned unchanged. For an event over the limit the error wraps [ErrTooLarge]. Every error is
// final.
func (r *Reader) Next() (Event, error) {
	for {
		line, ok := r.line()
		switch {
		case r.tooLarge(line, ok):
			r.err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.maxEvent)
			return Event{}, r.fail()
		case !ok && r.err != nil && r.endLine():
		case !ok && r.isWhole():
			if r.early = true; r.err != nil {
				r.notEnded()
			}
			return r.deliver(), nil
		case !ok && r.err != nil:
			r.notEnded()
			return Event{}, r.fail()
		case !ok:
			r.err = r.buf.fill(r.src, r.maxEvent)
		case len(line) > 0:
			r.notEnded()
			r.field(line)
		case r.has:
			return r.deliver(), nil
		default:
			r.early = false
			r.reset()
		}
	}
}

// endLine ends the last line of a finished stream, if it has no end.
func (r *Reader) endLine() bool {
	if r.whole == nil || r.buf.pos == r.buf.end {
		return false
	}
	if r.buf.end == len(r.buf.bytes) {
		r.buf.makeRoom(r.maxEvent)
	}
	r.buf.bytes[r.buf.end] = '\n'
	r.buf.end++
	return true
}

// Bytes that are passed to whole for one event: a fixed number, plus a multiple of the size of its
// data.
const (
	freeLooks = 256 << 10
	looksEach = 16
)

// isWhole reports whether the event is complete without further input. It calls whole once for each
// line of data, within the limit above, and again at the end of the stream.
func (r *Reader) isWhole() bool {
	if r.whole == nil || !r.data.set || r.asked {
		return false
	}
	n := r.data.to - r.data.from
	if r.looked > freeLooks+looksEach*n && r.err == nil {
		return false // otherwise a stream that comes line by line would cost quadratic time
	}
	r.asked, r.looked = true, r.looked+n
	return r.whole(r.buf.bytes[r.buf.start+r.data.from : r.buf.start+r.data.to])
}

// notEnded reports the missing blank line of the last event. If the stream broke, it is unknown
// whether the line is missing.
func (r *Reader) notEnded() {
	if r.early && (r.err == nil || r.err == io.EOF) {
		r.unended()
	}
	r.early = false
}

// tooLarge reports whether the event exceeds the limit with a complete line, or with the part of an
// incomplete one. A blank line does not count.
func (r *Reader) tooLarge(line []byte, whole bool) bool {
	b := &r.buf
	if whole {
		return len(line) > 0 && b.pos-b.start > r.maxEvent
	}
	return b.pos < b.end && b.end-b.start > r.maxEvent
}

// fail drops the buffer, so that a reader that is kept costs nothing.
func (r *Reader) fail() error {
	r.buf = buffer{}
	r.reset()
	return r.err
}

// line returns the next line without its end, if it is complete.
func (r *Reader) line() (line []byte, ok bool) {
	if r.skipLF && r.buf.pos < r.buf.end {
		r.skipLF = false
		if r.buf.bytes[r.buf.pos] == '\n' {
			r.buf.pos++
		}
	}
	line, ok = r.buf.line()
	if !ok {
		return nil, false
	}
	r.skipLF = r.buf.bytes[r.buf.pos-1] == '\r'
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, true
}

// field handles a line that is not blank. Input before an event's first field is dropped at once,
// so that comments never add up to a large event.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		r.addData(value)
	case "event":
		if r.event.Name = "message"; string(value) != r.event.Name {
			r.event.Name = string(value)
		}
	case "id":
		r.setID(value)
	case "retry":
		r.setRetry(value)
	}
	if !r.has && r.event.Name == "" {
		r.reset()
	}
}

// addData adds a line of data: the last line, or its tail. It moves a second line up to the first
// within the buffer, over the bytes between them.
func (r *Reader) addData(line []byte) {
	r.has, r.asked = true, false
	lineEnd := r.buf.pos - 1 - r.buf.start
	if !r.data.set {
		r.data = span{from: lineEnd - len(line), to: lineEnd, set: true}
		return
	}
	event := r.buf.bytes[r.buf.start:]
	event[r.data.to] = '\n'
	r.data.to += 1 + copy(event[r.data.to+1:], line)
}

func (r *Reader) setID(value []byte) {
	if bytes.IndexByte(value, 0) >= 0 {
		return
	}
	r.has, r.event.HasID, r.event.ID = true, true, string(value)
}

// setRetry sets the retry time in milliseconds. One that is too large for a Duration means the
// longest.
func (r *Reader) setRetry(value []byte) {
	ms, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return
	}
	ms = min(ms, uint64(math.MaxInt64/time.Millisecond))
	r.has, r.event.HasRetry, r.event.Retry = true, true, time.Duration(ms)*time.Millisecond
}

func (r *Reader) deliver() Event {
	e := r.event
	if r.data.set {
		e.Data = r.buf.take(r.data.from, r.data.to)
	}
	r.reset()
	return e
}

// reset begins the next event at the next line.
func (r *Reader) reset() {
	r.event, r.data, r.has, r.looked = Event{}, span{}, false, 0
	r.buf.start = r.buf.pos
}
