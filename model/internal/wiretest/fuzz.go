package wiretest

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// Fuzz runs the adapter on bodies made from those of the folder: whatever comes, it
// ends with an answer or an error, and with a message that can be kept.
func (s Suite) Fuzz(f *testing.F) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Dir, "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		stream, err := Read(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream.Body, stream.Status == http.StatusOK)
	}
	f.Fuzz(func(t *testing.T, body []byte, good bool) {
		stream := &Stream{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}}
		if !good {
			stream.Status, stream.Header = http.StatusBadRequest, http.Header{}
		}
		stream.Request.Messages = []model.Message{model.UserText("go on")}
		p := &provider{stream: stream, body: func() io.Reader { return bytes.NewReader(body) }}
		checkKept(t, "fuzzed", generate(s.Open(t, &http.Client{Transport: p}, nil), &stream.Request))
	})
}
