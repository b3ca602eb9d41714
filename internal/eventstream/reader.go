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

// DefaultMaxEvent is the default maximum size of an event, in bytes.
const DefaultMaxEvent = 16 << 20

// ErrTooLarge is wrapped by the error for an event that exceeds the reader's limit.
var ErrTooLarge = errors.New("event too large")

// A Reader reads the events of one stream. It is not safe for concurrent use.
type Reader struct {
	src      io.Reader
	maxEvent int
	err      error // permanent; src is not read after it
	buf      buffer

	begun  bool // a line was read, so a byte order mark is not skipped any more
	skipLF bool // the last line ended in CR; an LF after it belongs to the line end

	event Event // fields so far, without Data
	data  span
	has   bool // the event has a field to deliver

	whole   func(data []byte) bool // argument of AcceptUnended; may be nil
	unended func()
	asked   bool // whole was called with the current data
	looked  int  // bytes passed to whole during this event
	early   bool // the last event was delivered before its blank line, which can still follow
}

// span is the part of the buffer that contains an event's data so far. Its offsets are relative to
// the start of the event.
type span struct {
	from, to int
	set      bool
}

// NewReader returns a reader of the events in r. maxEvent is the maximum size of an event in bytes,
// including the names and line ends of all its fields but not the blank line; 0 means
// [DefaultMaxEvent].
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = DefaultMaxEvent
	}
	return &Reader{src: r, maxEvent: min(maxEvent, math.MaxInt/4)}
}

// AcceptUnended makes the reader deliver events whose final blank line is missing, if whole reports
// that their data is complete. The reader delivers such an event as soon as no more input is
// available, and at the end of the stream. At the end of the stream the line end of the last line
// may be missing too. whole must not use its argument after it returns. The reader calls unended
// once it finds that the blank line is missing. AcceptUnended must be called before [Reader.Next].
func (r *Reader) AcceptUnended(whole func(data []byte) bool, unended func()) {
	r.whole, r.unended = whole, unended
}

// Next returns the next event as soon as its blank line has been read. The caller owns the event's
// Data.
//
// Next skips events without data, id and retry time. At the end of the stream it drops an
// incomplete event and returns [io.EOF]. It returns other errors of the stream unchanged. For an
// event that exceeds the limit, the error wraps [ErrTooLarge]. After an error, all later calls
// return the same error.
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

// endLine adds the missing line end of the last line of a finished stream. It reports whether it
// did.
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

// Limits on the bytes that are passed to whole for one event: a constant, and a multiple of the
// size of its data.
const (
	freeLooks = 256 << 10
	looksEach = 16
)

// isWhole reports whether the event's data is complete without further input. It calls whole once
// after each line of data, within the limit above, and always at the end of the stream.
func (r *Reader) isWhole() bool {
	if r.whole == nil || !r.data.set || r.asked {
		return false
	}
	n := r.data.to - r.data.from
	if r.looked > freeLooks+looksEach*n && r.err == nil {
		return false // without this limit, the time for a stream that arrives line by line is quadratic
	}
	r.asked, r.looked = true, r.looked+n
	return r.whole(r.buf.bytes[r.buf.start+r.data.from : r.buf.start+r.data.to])
}

// notEnded calls unended if the blank line of the last event is missing. If the stream failed, it
// is unknown whether the line is missing.
func (r *Reader) notEnded() {
	if r.early && (r.err == nil || r.err == io.EOF) {
		r.unended()
	}
	r.early = false
}

// tooLarge reports whether the event exceeds the limit. whole tells whether line is complete; if
// not, the limit applies to the input so far. A blank line does not count.
func (r *Reader) tooLarge(line []byte, whole bool) bool {
	b := &r.buf
	if whole {
		return len(line) > 0 && b.pos-b.start > r.maxEvent
	}
	return b.pos < b.end && b.end-b.start > r.maxEvent
}

// fail releases the buffer and returns the permanent error. A failed reader therefore needs little
// memory.
func (r *Reader) fail() error {
	r.buf = buffer{}
	r.reset()
	return r.err
}

// line returns the next line without its line end. ok is false if the line is incomplete.
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

// field processes a line that is not blank. It drops all input before an event's first field at
// once, so that comments do not count as part of a large event.
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

// addData adds a line, which ends at the current position, to the event's data. It moves every line
// after the first one forward, over the line end and the name of its field.
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

// setRetry sets the retry time, given in milliseconds. It limits it to the range of time.Duration.
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
