package wiretest

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// FuzzStream runs the adapters on bodies derived from the streams. They must end with an answer or
// an error, and with a message that can be kept.
func FuzzStream(f *testing.F) {
	for i, a := range adapters {
		for _, path := range a.paths(f) {
			s, err := read(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), s.Body, s.Status == http.StatusOK)
		}
	}
	f.Fuzz(func(t *testing.T, of uint8, body []byte, good bool) {
		s := &stream{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}}
		if !good {
			s.Status, s.Header = http.StatusBadRequest, http.Header{}
		}
		s.Request.Messages = []model.Message{model.UserText("go on")}
		p := &provider{stream: s, body: func() io.Reader { return bytes.NewReader(body) }}
		checkKept(t, "fuzzed", generate(adapters[int(of)%len(adapters)].opened(t, p, nil), &s.Request))
	})
}
