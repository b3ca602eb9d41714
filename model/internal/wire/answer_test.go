package wire

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// heard is an Assembly that records its input.
type heard struct {
	Assembly
	events []string
	whole  string
}

func (h *heard) Event(data []byte) { h.events = append(h.events, string(data)) }
func (h *heard) Whole(data []byte) { h.whole = string(data) }

// Servers that do not stream do not always send the right media type, and neither do those that
// stream.
func TestWhetherAnAnswerIsAStreamIsSeenFromIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ media, body, events, whole, err string }{
		{"text/event-stream", "data: {\"a\":1}\n\ndata: {\"a\":2}", `{"a":1}|{"a":2}`, "", ""},
		{"", "data: {}\n\n", `{}`, "", ""},
		{"text/plain", "\n\ndata: {}\n\ndata: [DONE]\n\ndata: {}\n\n", `{}`, "", ""},
		{"application/json", "\n {} ", "", "{}", ""},
		{"text/plain; charset=utf-8", `{"a":1}`, "", `{"a":1}`, ""},
		{"application/json", "", "", "", ""},
		{"application/json", "data: {\"a\":1}\n\ndata: [DONE]\n\n", `{"a":1}`, "", ""},
		{"application/json", "\n: wait\n\nevent: x\ndata: {}\n\n", `{}`, "", ""},
		{"application/json", "event: x\ndata: {}\n\n", `{}`, "", ""},
		{"text/html", "<html><p>hello", "", "", "the response is an HTML page; check the base URL"},
		{"application/json", "busy", "", "", "busy"},
	} {
		var a Answer
		var h heard
		res := &http.Response{Header: http.Header{"Content-Type": {test.media}}, Body: io.NopCloser(strings.NewReader(test.body))}
		err := ""
		if failed := a.read(res, &h); failed != nil {
			err = failed.Error()
		}
		if events := strings.Join(h.events, "|"); events != test.events || h.whole != test.whole || err != test.err {
			t.Errorf("%s %q: events %s, whole %s, error %q", test.media, test.body, events, h.whole, err)
		}
	}
}
