//go:build unix

package process

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFloodOfStderrNeitherBlocksNorGrows(t *testing.T) {
	p := start(t, Command{StderrTail: 1000}, "floods stderr") // ready only after the flood
	p.Close()
	tail := p.Stderr()
	if len(tail) > 1000 || len(tail) < 800 || !strings.HasPrefix(tail, "flood ") || !strings.HasSuffix(tail, "\nthe end") {
		t.Errorf("tail of %d bytes: %q", len(tail), tail)
	}
}

func TestFloodGoesOnWhileALineIsLookedAt(t *testing.T) {
	release := make(chan struct{})
	var reported, missed int
	p := start(t, Command{OnStderr: func(line string) {
		<-release
		var n int
		if _, err := fmt.Sscanf(line, "(%d lines left out)", &n); err == nil {
			missed += n
			return
		}
		reported++
	}}, "floods stderr")
	close(release)
	p.Close()
	if reported+missed != 50001 || missed == 0 {
		t.Errorf("%d lines reported and %d left out, want 50001 together", reported, missed)
	}
}

func TestHugeLineIsCut(t *testing.T) {
	var lines []string
	p := start(t, Command{OnStderr: func(line string) { lines = append(lines, line) }}, "writes a huge line")
	p.Close()
	if len(lines) != 2 || lines[0] != strings.Repeat("x", maxLine)+"…" || lines[1] != "after" {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
	if want := lines[0] + "\nafter"; p.Stderr() != want {
		t.Errorf("tail of %d bytes, want %d", len(p.Stderr()), len(want))
	}
}

func TestStderrLinesAreCleaned(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"plain text", "hello", "hello"},
		{"a Windows line end", "hello\r", "hello"},
		{"colours", "\x1b[1;31merror\x1b[0m: no \x1b[38:5:1mfile\x1b[m", "error: no file"},
		{"what is no colour", "a\x1b[2Jb\x1b[", `a\x1b[2Jb\x1b[`},
		{"control characters", "a\x00b\x07", `a\x00b\x07`},
		{"invalid UTF-8", "a\xffb", `a\xffb`},
		{"an incomplete last rune of a long line", strings.Repeat("x", maxLine-1) + "é", strings.Repeat("x", maxLine-1) + "…"},
		{"what becomes long", strings.Repeat("\x00", maxLine), strings.Repeat(`\x00`, maxLine/4) + "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := cleanLine([]byte(test.in)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestTailBeginsWithALine(t *testing.T) {
	for _, test := range []struct {
		name string
		keep int
		in   string
		want string
	}{
		{"all of it", 10, "one\ntwo\n", "one\ntwo"},
		{"a line without end", 10, "one\ntwo", "one\ntwo"},
		{"exactly", 7, "zero\none\ntwo\n", "one\ntwo"},
		{"one less", 6, "zero\none\ntwo\n", "two"},
		{"a part of the only line", 4, "abcdefgh", "efgh"},
		{"between runes", 5, "ééé\n", "éé"},
		{"after very much", 7, strings.Repeat("zero\n", 100) + "one\ntwo\n", "one\ntwo"},
		{"nothing", 7, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			whole := newStderrLog(test.keep, nil)
			whole.add([]byte(test.in))
			bytewise := newStderrLog(test.keep, nil)
			for i := range len(test.in) {
				bytewise.add([]byte(test.in[i : i+1]))
			}
			if got := whole.text(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if got := bytewise.text(); got != test.want {
				t.Errorf("byte by byte %q, want %q", got, test.want)
			}
			if got := cap(bytewise.tail); got > 4*test.keep+64 {
				t.Errorf("tail holds %d bytes", got)
			}
		})
	}
}

func FuzzStderrStaysWithinItsBounds(f *testing.F) {
	f.Add([]byte("one\ntwo\x1b[31m\n\xff"), 3)
	f.Fuzz(func(t *testing.T, in []byte, keep int) {
		keep = min(max(keep, 1), 1<<16)
		l := newStderrLog(keep, nil)
		l.add(in)
		if got := l.text(); len(got) > keep || !utf8.ValidString(got) {
			t.Errorf("tail of %d bytes, limit %d: %q", len(got), keep, got)
		}
	})
}
