package eventstream

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a stream.
type Event struct {
	// ID identifies the event for a client that resumes. It is valid only if HasID is set: an empty
	// ID then clears the previous one.
	ID    string
	HasID bool

	// Name is the event's type; empty means "message".
	Name string

	// Data is nil in an event without a data field, and empty but not nil in one whose data field
	// is empty. Its lines are separated by '\n'.
	Data []byte

	// Retry is the time to wait before a new connection, sent in whole milliseconds. It is valid
	// only if HasRetry is set.
	Retry    time.Duration
	HasRetry bool
}

// AppendEvent appends e in its sent form, blank line included, and returns the extended buffer. It
// appends nothing for an event without any field.
//
// Each line of Data is sent as a line. CR, LF and CRLF all end a line, and the reader gets LF for
// each. AppendEvent omits an ID with a NUL or a line end, a Name with a line end, and a negative
// Retry.
func AppendEvent(dst []byte, e Event) []byte {
	start := len(dst)
	if e.Name != "" && !strings.ContainsAny(e.Name, "\r\n") {
		dst = appendField(dst, "event", e.Name)
	}
	if e.HasID && !strings.ContainsAny(e.ID, "\x00\r\n") {
		dst = appendField(dst, "id", e.ID)
	}
	if e.HasRetry && e.Retry >= 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, e.Retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	if e.Data != nil {
		dst = appendData(dst, e.Data)
	}
	if len(dst) == start {
		return dst
	}
	return append(dst, '\n')
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, '\n')
}

// appendData appends each line of text as a field. It puts a space before it unless it is empty;
// readers remove exactly one.
func appendData(dst []byte, text []byte) []byte {
	const prefix = "data:"
	dst = slices.Grow(dst, len(prefix)+len(text)+len(" \n\n"))
	hasCR := bytes.IndexByte(text, '\r') >= 0
	for {
		line, rest, more := cutLine(text, hasCR)
		dst = append(dst, prefix...)
		if len(line) > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, line...)
		dst = append(dst, '\n')
		if !more {
			return dst
		}
		text = rest
	}
}

// cutLine cuts text around its first line end: CR, LF or CRLF. Text with hasCR is searched byte by
// byte; searching for LF alone is far faster.
func cutLine(text []byte, hasCR bool) (line, rest []byte, found bool) {
	end := -1
	if hasCR {
		end = bytes.IndexAny(text, "\r\n")
	} else {
		end = bytes.IndexByte(text, '\n')
	}
	if end < 0 {
		return text, nil, false
	}
	width := 1
	if bytes.HasPrefix(text[end:], []byte("\r\n")) {
		width = 2
	}
	return text[:end], text[end+width:], true
}
