package httplink

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	maxBegin      = 4 << 10 // maximum bytes to read to find the form of a body
	maxShownBegin = 100     // maximum runes of these bytes in an error
)

// ByteOrderMark may precede the text of a body.
const ByteOrderMark = "\ufeff"

// A Form is the kind of a body, recognized by its first bytes.
type Form int

// The forms of bodies.
const (
	FormUnknown Form = iota
	FormJSON
	FormEvents
	formPage // HTML or XML
)

// FormOf returns the form of a body with the given first bytes.
func FormOf(begin []byte) Form {
	begin = bytes.TrimLeft(bytes.TrimPrefix(begin, []byte(ByteOrderMark)), " \t\r\n")
	if len(begin) == 0 {
		return FormUnknown
	}
	switch begin[0] {
	case '{', '[':
		return FormJSON
	case '<':
		return formPage
	case ':':
		return FormEvents
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(begin, []byte(field)) {
			return FormEvents
		}
	}
	return FormUnknown
}

// Begin reads the first bytes of a body until they determine its form or the body ends. The caller
// can still read the body from its beginning.
func Begin(resp *http.Response) ([]byte, error) {
	begin := make([]byte, 0, maxBegin)
	for {
		n, err := resp.Body.Read(begin[len(begin):cap(begin)])
		begin = begin[:len(begin)+n]
		if err != nil || FormOf(begin) != FormUnknown || len(begin) == cap(begin) {
			resp.Body = &begun{Reader: io.MultiReader(bytes.NewReader(begin), resp.Body), Closer: resp.Body}
			if err == io.EOF {
				err = nil
			}
			return begin, err
		}
	}
}

// A begun is a body whose first bytes were read and put back.
type begun struct {
	io.Reader
	io.Closer
}

// MayBeEvents reports whether the body of a response to a GET begins as a stream of events despite
// another media type. If the response has neither a type nor a length, it waits for the first
// bytes.
func MayBeEvents(resp *http.Response, mediaType string) bool {
	switch mediaType {
	case "", "text/plain", "application/octet-stream":
	default:
		return false
	}
	if resp.StatusCode != http.StatusOK || resp.ContentLength >= 0 {
		return false
	}
	begin, err := Begin(resp)
	return err == nil && FormOf(begin) == FormEvents
}

// Shown returns the description of an unusable body for an error. For a web page, it is the title.
func Shown(begin []byte) string {
	text := string(begin)
	lower := strings.ToLower(text)
	if at := strings.Index(lower, "<title"); at >= 0 && len(lower) == len(text) {
		if _, title, found := strings.Cut(text[at:], ">"); found {
			title, _, _ = strings.Cut(title, "<")
			text = strings.TrimSpace(title)
		}
	}
	return plaintext.Line(strings.TrimSpace(text), maxShownBegin)
}

// Expect makes reading the body of a response fail with [ErrOtherForm] if it begins as JSON instead
// of events, or the reverse. After that, the body can be read from its beginning.
func Expect(resp *http.Response, form Form) { resp.Body = &expected{ReadCloser: resp.Body, form: form} }

type expected struct {
	io.ReadCloser
	form   Form
	looked bool
	back   []byte // bytes to read again
}

func (e *expected) Read(p []byte) (int, error) {
	if len(e.back) > 0 {
		n := copy(p, e.back)
		e.back = e.back[n:]
		return n, nil
	}
	n, err := e.ReadCloser.Read(p)
	if e.looked || n == 0 {
		return n, err
	}
	e.looked = true
	if found := FormOf(p[:n]); found != e.form && (found == FormJSON || found == FormEvents) {
		e.back = bytes.Clone(p[:n])
		return 0, ErrOtherForm
	}
	return n, err
}
