package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// provider is an http.RoundTripper that responds to every request with the stream.
type provider struct {
	stream *stream
	body   func() io.Reader
	sent   []byte // the body of the last request
}

// RoundTrip responds at once.
func (p *provider) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := p.took(req); err != nil {
		return nil, err
	}
	s := p.stream
	return &http.Response{
		StatusCode: s.Status, Status: fmt.Sprintf("%d %s", s.Status, http.StatusText(s.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.Header.Clone(), Body: io.NopCloser(p.body()), ContentLength: -1, Request: req,
	}, nil
}

func (p *provider) took(req *http.Request) (err error) {
	if req.Body == nil {
		p.sent = nil
		return nil
	}
	p.sent, err = io.ReadAll(req.Body)
	return err
}

// parts reads one part after another, and then returns the error.
type parts struct {
	parts [][]byte
	end   error
}

// Read reads from one part at a time.
func (r *parts) Read(p []byte) (int, error) {
	for len(r.parts) > 0 && len(r.parts[0]) == 0 {
		r.parts = r.parts[1:]
	}
	if len(r.parts) == 0 {
		return 0, r.end
	}
	n := copy(p, r.parts[0])
	r.parts[0] = r.parts[0][n:]
	return n, nil
}

// single reads one byte at a time.
type single struct{ *bytes.Reader }

// Read reads one byte.
func (r single) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

// missing returns the parts of want that got lacks, with their places.
func missing(want, got json.RawMessage) string {
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		return "sent.json: " + err.Error()
	}
	if err := json.Unmarshal(got, &g); err != nil {
		return "what was sent: " + err.Error()
	}
	return lacks("", w, g)
}

func lacks(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, not an object", at, got)
		}
		for name, value := range want {
			if _, there := object[name]; value == nil && there {
				return fmt.Sprintf("%s.%s is there: %v", at, name, object[name])
			}
			if problem := lacks(at+"."+name, value, object[name]); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, not a list of %d", at, got, len(want))
		}
		for i := range want {
			if problem := lacks(fmt.Sprintf("%s[%d]", at, i), want[i], list[i]); problem != "" {
				return problem
			}
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, not %v", at, got, want)
	}
	return ""
}
