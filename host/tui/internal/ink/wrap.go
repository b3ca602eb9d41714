package ink

import (
	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks spans into lines of at most width cells, at spaces where it can.
// A line break in a text is one. The spaces at a break are dropped; those at
// the beginning of a text's own line are kept. No spans are one empty line.
func Wrap(spans Line, width int) []Line {
	w := wrapping{width: max(width, 1)}
	for _, s := range spans {
		for rest := s.Text; rest != ""; {
			n := pieceEnd(rest)
			w.take(rest[:n], s.Style)
			rest = rest[n:]
		}
	}
	w.endWord()
	return append(w.lines, w.line)
}

// Lines breaks plain text of one style into lines of at most width cells.
func Lines(role Role, text string, width int, attr ...Attr) []Line {
	return Wrap(Line{T(role, text, attr...)}, width)
}

// goesOn stands before a line that goes on with the one above.
const goesOn = "┆ "

// Barred is [Wrap] for what somebody else wrote: a bar stands before all lines but the first, so
// that no text, however its blanks make it break, begins a line of its own.
func Barred(spans Line, width int) []Line {
	if lines := Wrap(spans, width); len(lines) == 1 {
		return lines
	}
	return Indent(Wrap(spans, max(1, width-Width(goesOn))), nil, Line{T(Muted, goesOn)})
}

// Chop breaks a line hard, keeping every space: for code.
func Chop(line Line, width int) []Line {
	width = max(width, 1)
	var out []Line
	var now Line
	left := width
	for _, s := range line {
		for rest := s.Text; rest != ""; {
			n := fit(rest, left)
			if n == 0 && left < width {
				out, now, left = append(out, now), nil, width
				continue
			}
			if n == 0 { // a character that is wider than the screen
				now, rest = append(now, Span{"…", s.Style}), rest[First(rest):]
				continue
			}
			now = append(now, Span{rest[:n], s.Style})
			left -= Width(rest[:n])
			rest = rest[n:]
		}
	}
	return append(out, now)
}

// Indent puts a prefix before each line: before the first one, and before others.
func Indent(lines []Line, first, others Line) []Line {
	out := make([]Line, len(lines))
	for i, l := range lines {
		prefix := others
		if i == 0 {
			prefix = first
		}
		out[i] = append(prefix[:len(prefix):len(prefix)], l...)
	}
	return out
}

// wrapping is the state of Wrap.
type wrapping struct {
	width int
	lines []Line
	line  Line
	used  int  // cells of line
	gap   Span // spaces between line and word
	gaps  int  // their cells
	word  Line
	cells int // of word
}

// take takes a run of spaces, a line break or a piece of a word.
func (w *wrapping) take(piece string, style Style) {
	switch {
	case piece == "\n":
		w.endWord()
		w.gap, w.gaps = Span{}, 0
		w.endLine()
	case piece[0] == ' ':
		w.endWord()
		w.gap, w.gaps = Span{w.gap.Text + piece, style}, w.gaps+len(piece)
	default:
		w.word = append(w.word, Span{piece, style})
		w.cells += Width(piece)
	}
}

func (w *wrapping) endLine() {
	w.lines = append(w.lines, w.line)
	w.line, w.used = nil, 0
}

// endWord puts the word onto the line, or onto the next.
func (w *wrapping) endWord() {
	if len(w.word) == 0 {
		return
	}
	switch {
	case w.used+w.gaps+w.cells <= w.width:
		if w.gaps > 0 {
			w.line, w.used = append(w.line, w.gap), w.used+w.gaps
		}
	case w.used > 0:
		w.endLine()
	}
	w.gap, w.gaps = Span{}, 0
	if w.cells <= w.width-w.used {
		w.line, w.used = append(w.line, w.word...), w.used+w.cells
	} else {
		parts := Chop(w.word, w.width)
		w.lines = append(w.lines, parts[:len(parts)-1]...)
		w.line = parts[len(parts)-1]
		w.used = w.line.Width()
	}
	w.word, w.cells = nil, 0
}

// pieceEnd is where the first run of spaces, line break or piece of a word ends.
func pieceEnd(s string) int {
	if s[0] == '\n' {
		return 1
	}
	blank := s[0] == ' '
	for i := 1; i < len(s); i++ {
		if s[i] == '\n' || (s[i] == ' ') != blank {
			return i
		}
	}
	return len(s)
}

// First is the length of the first character of a text, as a reader counts them.
func First(text string) int {
	if text == "" {
		return 0
	}
	character, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return max(1, len(character))
}
