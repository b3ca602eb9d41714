package tui

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// search looks for a text in what was printed.
type search struct {
	text  editor.Buffer
	match int // which of the matches is shown, from the last one on
}

func newSearch() *search { return &search{} }

func (f *search) write(_ *screen, text string) {
	f.text.Insert(oneLine(text, 200))
	f.match = 0
}

func (f *search) press(s *screen, k keypress) bool {
	n := len(f.matches(s))
	switch k.name {
	case "esc":
		return true
	case "up", "enter", "ctrl+f", "ctrl+p":
		f.match++
	case "down", "ctrl+n":
		f.match--
	default:
		if editKey(&f.text, k) {
			f.match = 0
		}
		return false
	}
	if n > 0 {
		f.match = (f.match + n) % n
	}
	return false
}

// matches are the lines that hold the text, the last one first.
func (f *search) matches(s *screen) []int {
	text := strings.ToLower(f.text.Text())
	if text == "" {
		return nil
	}
	var found []int
	for i := len(s.paper.transcript) - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(s.paper.transcript[i].String()), text) {
			found = append(found, i)
		}
	}
	return found
}

func (f *search) lines(s *screen, width, height int) []ink.Line {
	all := s.paper.transcript
	found := f.matches(s)
	title, rows := "search", max(1, height-3)
	from, at := max(0, len(all)-rows), -1
	switch {
	case f.match < len(found):
		at = found[f.match]
		from = max(0, min(from, at-rows/2))
		title = fmt.Sprintf("search: match %d of %d, from the end", f.match+1, len(found))
	case !f.text.Empty():
		title = "search: not found"
	}
	var seen []ink.Line
	for i, l := range all[from:min(len(all), from+rows)] {
		if from+i == at {
			l = highlighted(l, f.text.Text())
		}
		seen = append(seen, l.Cut(width))
	}
	foot := []ink.Line{
		append(ink.Line{ink.T(ink.Muted, "text: ")}, withCursor(&f.text)...),
		keyLine("↑ earlier", "↓ later", "Esc close"),
	}
	return framed(title, seen, &scroll{}, foot, width, height)
}

// highlighted marks a text in a line. The line loses its other styles.
func highlighted(l ink.Line, text string) ink.Line {
	line := l.String()
	at := strings.Index(strings.ToLower(line), strings.ToLower(text))
	if at < 0 || at+len(text) > len(line) {
		return l
	}
	return ink.Line{ink.T(ink.Plain, line[:at]), ink.T(ink.Plain, line[at:at+len(text)], ink.Reverse), ink.T(ink.Plain, line[at+len(text):])}
}
