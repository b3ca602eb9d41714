package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAMovingPictureDrawsLinesOnce(t *testing.T) {
	screen := func(text string) [][]cell { return parse([]byte(text), 40) }
	m := moving{columns: 40, title: "a <screen>", still: 1, frames: []frame{
		{screen("same\n\x1b[96mfirst"), time.Second},
		{screen("same\nsecond\nmore"), 2 * time.Second},
		{screen("same\nsecond"), time.Second},
	}}
	got := string(m.bytes())
	checkXML(t, []byte(got))
	for part, times := range map[string]int{
		">same<": 1, ">first<": 1, ">second<": 1, ">more<": 1, "</g>": 3,
		".t0-1{visibility:hidden;animation:t0-1 4s step-end infinite}@keyframes t0-1{0.00%{visibility:visible}25.00%{visibility:hidden}}":                        1,
		".t1-2{visibility:visible;animation:t1-2 4s step-end infinite}@keyframes t1-2{0%{visibility:hidden}25.00%{visibility:visible}75.00%{visibility:hidden}}": 1,
		".t1-3{visibility:visible;animation:t1-3 4s step-end infinite}@keyframes t1-3{0%{visibility:hidden}25.00%{visibility:visible}to{visibility:visible}}":    1,
		"@media (prefers-reduced-motion:reduce){g{animation:none!important}}":                                                                                    1,
	} {
		if n := strings.Count(got, part); n != times {
			t.Errorf("the picture has %d times %q, expected %d:\n%s", n, part, times, got)
		}
	}
}

func TestTheMovingPictureIsThatOfTheSession(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "chat-moving.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 300_000 {
		t.Errorf("it has %d bytes, expected at most 300000", len(text))
	}
	still, err := os.ReadFile(filepath.Join("..", "chat.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(still) { // each is a line of the screen, or of the window around it
		line = bytes.TrimSpace(line)
		if bytes.HasPrefix(line, []byte("<text")) && !bytes.Contains(text, line) {
			t.Errorf("chat-moving.svg lacks a line of chat.svg: go run ./docs/screen chat\n%s", line)
		}
	}
}
