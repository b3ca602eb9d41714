package eventstream

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// eachLine reads a line at a time.
type eachLine struct{ lines []string }

func (e *eachLine) Read(p []byte) (int, error) {
	if len(e.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.lines[0])
	e.lines = e.lines[1:]
	return n, nil
}

func TestLinesThatComeOneByOneAreNotLookedAtForEach(t *testing.T) {
	const n = 20_000
	looked, total := 0, 0
	lines := strings.SplitAfter(strings.Repeat("data: ,{}\n", n), "\n")
	r := NewReader(iotest.DataErrReader(&eachLine{lines[:n]}), 0)
	r.AcceptUnended(func(data []byte) bool { looked, total = looked+len(data), len(data); return false }, func() {})
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	if most := freeLooks + (looksEach+2)*total; looked > most {
		t.Errorf("looked at %d bytes for an event of %d, want at most %d", looked, total, most)
	}
	if total != 4*n-1 {
		t.Errorf("at the end looked at %d bytes, want all %d", total, 4*n-1)
	}
}
