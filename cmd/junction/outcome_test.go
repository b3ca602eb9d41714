package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// An outcome is what a run left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

func runs(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr clitest.SafeBuffer
	code := run(t.Context(), clitest.PlaceOf(t), args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// expect compares the exit code, and looks for texts in both outputs. Where
// nothing is wanted on standard output, nothing may be there.
func (o outcome) expect(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.stdout, stdout) || !strings.Contains(o.stderr, stderr) {
		t.Errorf("exit code %d, want %d\nstdout: %s\nwant %q\nstderr: %s\nwant %q", o.code, code, o.stdout, stdout, o.stderr, stderr)
	}
	if stdout == "" && o.stdout != "" {
		t.Errorf("an error printed on stdout: %s", o.stdout)
	}
}

// expectObject compares the exit code, and the members of the object that was
// printed, in their order.
func (o outcome) expectObject(t *testing.T, code int, members string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d; %s", o.code, code, o.stderr)
	}
	if got := memberNames(t, o.stdout); got != members {
		t.Errorf("printed an object of %q, want %q", got, members)
	}
}

var _ io.Writer = (*clitest.SafeBuffer)(nil)

// memberNames are the names of the one object in text.
func memberNames(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if token, err := d.Token(); token != json.Delim('{') || err != nil {
		t.Fatalf("no object: %q", text)
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("more than one value: %q", text)
	}
	return strings.Join(names, " ")
}
