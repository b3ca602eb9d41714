package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// Suite runs an adapter on a folder of streams.
type Suite struct {
	// Dir has the files, *.txtar.
	Dir string
	// AtLeast is how many there must be, so that none gets lost.
	AtLeast int
	// Open makes the adapter, which must send its requests through the client and
	// must not retry by itself. The options are the stream's options.json, or nil.
	Open func(t testing.TB, client *http.Client, options json.RawMessage) model.Model
	// TextChanges is for adapters whose text can be another when an answer is cut
	// off: what is no call yet is text then.
	TextChanges bool
}

// update is a flag of the test binaries that import this package; it says that
// what is expected is written anew.
var update = flag.Bool("update", false, "write what the streams are expected to give")

// Run runs every stream of the folder.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < s.AtLeast {
		t.Errorf("%s has %d streams, fewer than %d", s.Dir, len(paths), s.AtLeast)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s.stream(t, path)
		})
	}
}

func (s Suite) stream(t *testing.T, path string) {
	stream, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{stream: stream}
	m := s.Open(t, &http.Client{Transport: p}, stream.Options)
	run := func(body func() io.Reader) outcome {
		p.body = body
		return generate(m, &stream.Request)
	}

	whole := run(func() io.Reader { return bytes.NewReader(stream.Body) })
	if problem := missingSent(stream, p.sent); problem != "" {
		t.Errorf("sent: %s\n%s", problem, p.sent)
	}
	checkKept(t, "whole", whole)
	if *update {
		if err := stream.write(whole); err != nil {
			t.Fatal(err)
		}
		return
	}
	if whole.response != stream.Response {
		t.Errorf("response.json is\n%s\nand the stream gave\n%s", stream.Response, whole.response)
	}
	if whole.deltas != stream.Deltas {
		t.Errorf("deltas.txt is\n%s\nand the stream gave\n%s", stream.Deltas, whole.deltas)
	}
	splitEverywhere(t, stream, whole, run)
	s.cutEverywhere(t, stream, whole, run)
}

func missingSent(s *Stream, sent []byte) string {
	if s.Sent == nil {
		return ""
	}
	return missing(s.Sent, sent)
}

// splitEverywhere answers in parts whose borders are at each byte once, a few of
// them at a time.
func splitEverywhere(t *testing.T, s *Stream, whole outcome, run func(func() io.Reader) outcome) {
	t.Helper()
	const borders = 4
	same(t, "byte by byte", whole, run(func() io.Reader { return single{bytes.NewReader(s.Body)} }))
	stride := len(s.Body)/borders + 1
	for i := 1; i <= stride && !t.Failed(); i++ {
		var split [][]byte
		from := 0
		for to := i; to < len(s.Body); to += stride {
			split, from = append(split, s.Body[from:to]), to
		}
		split = append(split, s.Body[from:])
		got := run(func() io.Reader { return &parts{slices.Clone(split), io.EOF} })
		same(t, "split behind "+tail(split[0])+" and further on", whole, got)
	}
}

// cutEverywhere ends the answer behind each byte, by turns as a lost connection
// does and as a server does that thinks it is done.
func (s Suite) cutEverywhere(t *testing.T, stream *Stream, whole outcome, run func(func() io.Reader) outcome) {
	t.Helper()
	for i := 0; i < len(stream.Body) && !t.Failed(); i++ {
		end := []error{io.EOF, io.ErrUnexpectedEOF}[i%2]
		got := run(func() io.Reader { return &parts{[][]byte{stream.Body[:i]}, end} })
		at := end.Error() + " behind " + tail(stream.Body[:i])
		checkKept(t, at, got)
		if whole.got != nil && got.got != nil {
			s.checkPart(t, at, got.got, whole.got)
		}
	}
}

// checkKept checks that an outcome can be used: an error that says what it is,
// and a message that can go back to the provider.
func checkKept(t *testing.T, at string, o outcome) {
	t.Helper()
	var failure *model.Error
	switch {
	case o.err != nil && !errors.As(o.err, &failure):
		t.Errorf("%s: the error is no *model.Error: %v", at, o.err)
	case o.err == nil && o.got == nil:
		t.Errorf("%s: neither response nor error", at)
	case o.err == nil && o.got.Stop == "":
		t.Errorf("%s: no reason to stop", at)
	}
	if o.got == nil {
		return
	}
	for _, fault := range faults(&o.got.Message) {
		t.Errorf("%s: the message cannot be kept: %s", at, fault)
	}
}

// checkPart checks that half an answer says nothing that the whole does not.
func (s Suite) checkPart(t *testing.T, at string, part, whole *model.Response) {
	t.Helper()
	if !s.TextChanges && !strings.HasPrefix(whole.Message.Text(), part.Message.Text()) {
		t.Errorf("%s: the text is %q, which the whole does not begin with", at, part.Message.Text())
	}
	calls := whole.Message.Calls()
	for i, c := range part.Message.Calls() {
		if i >= len(calls) || c.Name != calls[i].Name || !bytes.Equal(c.Arguments, calls[i].Arguments) {
			t.Errorf("%s: call %d is %s %s, which the whole does not have", at, i, c.Name, c.Arguments)
		}
	}
}

func same(t *testing.T, how string, want, got outcome) {
	t.Helper()
	if got.response != want.response {
		t.Errorf("%s: whole it gave\n%s\nand now\n%s", how, want.response, got.response)
	}
	if got.deltas != want.deltas {
		t.Errorf("%s: the deltas were\n%s\nand are\n%s", how, want.deltas, got.deltas)
	}
}

// tail shows the end of what was answered.
func tail(body []byte) string { return string(body[max(0, len(body)-24):]) }
