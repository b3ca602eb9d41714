package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the picture in testdata again")

// captured is what tmux tells of a screen: styles that go on over lines, frames,
// wide characters, text that would be markup.
const captured = "\x1b[96m❯ \x1b[0m\x1b[1mHow is it?\x1b[0m\n" +
	"\x1b[90mgrey\n" +
	"goes on\x1b[39m │ 日本 │ <b>&\"x\"</b>\x1b]0;title\a\n" +
	"──┬──\x1b[31m┼─\x1b[0m ends\n" +
	"\x1b[7mturned\x1b[27m\x1b[0m \x1b[38;5;208mpalette\x1b[38;2;1;2;3m own\x1b[48;5;236m  behind\x1b[49;39m \x1b[3;4;9mall\x1b[23;24;29m none\x1b[2J\n" +
	"   \n\n"

func TestAScreenBecomesAPicture(t *testing.T) {
	d := drawing{cells: parse([]byte(captured), 40), columns: 40, title: "a <screen>"}
	got, path := d.bytes(), filepath.Join("testdata", "screen.svg")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the picture differs from %s; look at it, and run the test with -update\n%s", path, got)
	}
	checkXML(t, got)
}

func TestCellsAreThoseOfTheScreen(t *testing.T) {
	for _, test := range []struct {
		name, captured string
		at             int // in the last line
		want           cell
	}{
		{"a style goes on over the end of a line", "\x1b[1;91ma\nb", 0, cell{"b", style{ink: palette(9), bold: true}}},
		{"a reset ends it", "\x1b[1ma\x1b[mb", 1, cell{text: "b"}},
		{"a wide character takes two places", "日x", 2, cell{text: "x"}},
		{"and its second place is empty", "日x", 1, cell{}},
		{"combining characters belong to the letter before", "e\u0301x", 1, cell{text: "x"}},
		{"other sequences are left out", "\x1b[2Jx", 0, cell{text: "x"}},
		{"links and titles too", "\x1b]8;;https://example.com\x1b\\x\x1b]8;;\ay", 1, cell{text: "y"}},
		{"a sequence that is cut off is the end", "x\x1b[3", 0, cell{text: "x"}},
		{"a colour of the cube", "\x1b[38;5;21mx", 0, cell{"x", style{ink: "#0000ff"}}},
		{"a grey", "\x1b[48;5;232mx", 0, cell{"x", style{paper: "#080808"}}},
		{"a colour of its own", "\x1b[38;2;255;128;0mx", 0, cell{"x", style{ink: "#ff8000"}}},
		{"a colour that is cut off is none", "\x1b[38;2;255mx", 0, cell{text: "x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			screen := parse([]byte(test.captured), columns)
			row := screen[len(screen)-1]
			if test.at >= len(row) || row[test.at] != test.want {
				t.Errorf("got %+v, want %+v at %d", row, test.want, test.at)
			}
		})
	}
}

func TestLinesAreCutAtTheEdgeAndEmptyOnesAtTheEnd(t *testing.T) {
	screen := parse([]byte("\n0123456789abc日\n\n  \n"), 10)
	if len(screen) != 2 || len(screen[0]) != 0 || len(screen[1]) != 10 {
		t.Errorf("got %d lines: %+v", len(screen), screen)
	}
}

func TestPicturesMatchThePages(t *testing.T) {
	for name, words := range map[string][]string{
		"chat.svg":        {question, "read-file", "may this call run?", "write-file", "trips/top3.csv", "yes, once", "yes to all of", "more…"},
		"chat-moving.svg": {"ask something", question, "may this call run?", "yes, once", "has the three dearest trips", "prefers-reduced-motion", "infinite"},
		"review.svg":      {"Server “files” changed", "1 command changed", "--write", "approve", "refuse"},
		"trace.svg":       {"list tools", "ask model", "decide", "call: add", "result: add", "answer", "tools/call"},
	} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		checkXML(t, text)
		for _, word := range words {
			if !strings.Contains(string(text), word) {
				t.Errorf("%s does not show %q: go run ./docs/screen", name, word)
			}
		}
	}
}

func checkXML(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
