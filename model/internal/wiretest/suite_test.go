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

// An adapter is tested with a folder of streams.
type adapter struct {
	// name is the name of its package, whose folder testdata/streams has the files, *.txtar.
	name string
	// atLeast is the minimum number of streams, so that none gets lost.
	atLeast int
	// open opens the adapter, which sends its requests through the client and does not retry.
	// options are the stream's options.json, or nil.
	open func(client *http.Client, options json.RawMessage) (model.Model, error)
	// textChanges marks adapters whose text can change when an answer is cut off, because an
	// unfinished call is text.
	textChanges bool
}

// update makes the tests write the expected results.
var update = flag.Bool("update", false, "write what the streams are expected to give")

func TestStreams(t *testing.T) {
	for _, a := range adapters {
		paths := a.paths(t)
		if len(paths) < a.atLeast {
			t.Errorf("%s has %d streams, fewer than %d", a.name, len(paths), a.atLeast)
		}
		for _, path := range paths {
			t.Run(a.name+"/"+strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				t.Parallel()
				a.stream(t, path)
			})
		}
	}
}

func (a adapter) paths(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", a.name, "testdata", "streams", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func (a adapter) opened(t testing.TB, p *provider, options json.RawMessage) model.Model {
	t.Helper()
	m, err := a.open(&http.Client{Transport: p}, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (a adapter) stream(t *testing.T, path string) {
	stream, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{stream: stream}
	m := a.opened(t, p, stream.Options)
	run := func(body func() io.Reader) outcome {
		p.body = body
		return generate(m, &stream.Request)
	}

	whole := run(func() io.Reader { return bytes.NewReader(stream.Body) })
	if problem := missing(stream.Sent, p.sent); stream.Sent != nil && problem != "" {
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
	if testing.Short() {
		return // the test reads it some thousand times in one goroutine
	}
	splitEverywhere(t, stream, whole, run)
	a.cutEverywhere(t, stream, whole, run)
}

// splitEverywhere splits the answer at each byte once, at a few borders at a time.
func splitEverywhere(t *testing.T, s *stream, whole outcome, run func(func() io.Reader) outcome) {
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

// cutEverywhere cuts the answer after each byte, alternately like a lost connection and like a
// server that ends normally.
func (a adapter) cutEverywhere(t *testing.T, stream *stream, whole outcome, run func(func() io.Reader) outcome) {
	t.Helper()
	for i := 0; i < len(stream.Body) && !t.Failed(); i++ {
		end := []error{io.EOF, io.ErrUnexpectedEOF}[i%2]
		got := run(func() io.Reader { return &parts{[][]byte{stream.Body[:i]}, end} })
		at := end.Error() + " behind " + tail(stream.Body[:i])
		checkKept(t, at, got)
		if whole.got != nil && got.got != nil {
			a.checkPart(t, at, got.got, whole.got)
		}
	}
}

// checkKept checks that an outcome is usable: its error has a cause, and its message can be sent
// back to the provider.
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

// checkPart checks that a part of an answer contains nothing that the whole does not.
func (a adapter) checkPart(t *testing.T, at string, part, whole *model.Response) {
	t.Helper()
	if !a.textChanges && !strings.HasPrefix(whole.Message.Text(), part.Message.Text()) {
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

// tail returns the end of a body, for errors.
func tail(body []byte) string { return string(body[max(0, len(body)-24):]) }
