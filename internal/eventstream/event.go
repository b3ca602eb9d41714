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
	// ID identifies the event for clients that resume the stream. It is valid only if HasID is set.
	// If it is empty and HasID is set, it clears the previous id.
	ID    string
	HasID bool

	// Name is the event's type; empty means "message".
	Name string

	// Data contains the lines of the data fields, separated by '\n'. It is nil if the event has no
	// data field, and empty but not nil if the only data field is empty.
	Data []byte

	// Retry is the time that clients must wait before they connect again. It is sent in whole
	// milliseconds. It is valid only if HasRetry is set.
	Retry    time.Duration
	HasRetry bool
}

// AppendEvent appends the encoding of e, including the final blank line, to dst and returns the
// extended buffer. It appends nothing if e has no field.
//
// CR, LF and CRLF in Data end a line. Each line is sent in a field of its own, and the reader joins
// the lines with LF. AppendEvent omits an ID that contains NUL or a line end, a Name that contains
// a line end, and a negative Retry.
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

// appendData appends each line of text as a data field. It writes a space before a line that is not
// empty; readers remove exactly one.
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

// cutLine cuts text around its first line end: CR, LF or CRLF. If hasCR is false, text contains no
// CR, and the search is much faster.
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
