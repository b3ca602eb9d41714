package ink

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A Style is the meaning of a text, with attributes.
type Style struct {
	Role Role
	Attr Attr
}

// Role is the meaning of a text; a [Theme] gives it a colour.
type Role uint8

// Roles of text.
const (
	Plain Role = iota
	Muted
	Accent
	Heading
	Code
	Quote
	Link
	Good
	Warn
	Bad
	Added
	Removed
	Keyword
	String
	Comment
	Number
	roles
)

// Attr is a set of attributes that look the same in every theme.
type Attr uint8

// Attributes of text.
const (
	Bold Attr = 1 << iota
	Dim
	Italic
	Underline
	Strike
	Reverse
)

// A Span is text of one style.
type Span struct {
	Text  string
	Style Style
}

// A Line is one line of a screen.
type Line []Span

// T returns a cleaned span with a role and attributes. Each tab becomes four spaces, because its
// width would depend on the text before it.
func T(role Role, text string, attr ...Attr) Span {
	s := Span{Text: strings.ReplaceAll(plaintext.Clean(text), "\t", "    "), Style: Style{Role: role}}
	for _, a := range attr {
		s.Style.Attr |= a
	}
	return s
}

// Of returns a line of plain text.
func Of(text string) Line { return Line{T(Plain, text)} }

// Width returns the number of cells that the text takes in a terminal.
func Width(text string) int { return ansi.StringWidth(text) }

// Width returns the number of cells that the line takes.
func (l Line) Width() int {
	cells := 0
	for _, s := range l {
		cells += Width(s.Text)
	}
	return cells
}

// String returns the line without its styles.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Cut returns the line shortened to at most width cells, with an ellipsis if it was longer.
func (l Line) Cut(width int) Line {
	if l.Width() <= width {
		return l
	}
	if width <= 0 {
		return nil
	}
	var out Line
	left := width - 1
	for _, s := range l {
		n := fit(s.Text, left)
		left -= Width(s.Text[:n])
		out = append(out, Span{s.Text[:n], s.Style})
		if n < len(s.Text) {
			break
		}
	}
	return append(out, Span{"…", Style{Role: Muted}})
}

// Pad returns the line with spaces up to width cells.
func (l Line) Pad(width int) Line {
	if missing := width - l.Width(); missing > 0 {
		return append(l[:len(l):len(l)], Span{Text: strings.Repeat(" ", missing)})
	}
	return l
}

// fit returns the number of bytes of text that take at most the given cells, in whole grapheme
// clusters.
func fit(text string, cells int) int { return len(ansi.Truncate(text, cells, "")) }

// widestDrawn is the maximum width in cells of a character that bubbletea draws.
const widestDrawn = 4

// Exact returns lines for a frame, so that no character is lost. A frame adds up the cells of a
// character's code points, and omits characters of more than four cells, such as an emoji of a
// family. (The exception is a terminal that reports that it counts grapheme clusters.) Exact shows
// the parts of such a character separately, and its joiners as escapes. Lines that become too wide
// continue on the next line.
func Exact(lines []Line, width int) []Line {
	var exact []Line
	for _, line := range lines {
		changed := false
		apart := make(Line, len(line))
		for i, s := range line {
			apart[i] = Span{splitWide(s.Text), s.Style}
			changed = changed || apart[i].Text != s.Text
		}
		if !changed {
			exact = append(exact, line)
			continue
		}
		exact = append(exact, Chop(apart, width)...)
	}
	return exact
}

// splitWide splits characters that are too wide for a frame into their parts.
func splitWide(text string) string {
	if ansi.StringWidthWc(text) == ansi.StringWidth(text) && ansi.StringWidth(text) == len(text) {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		character, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		if character == "" {
			b.WriteString(rest)
			break
		}
		rest = rest[len(character):]
		if ansi.StringWidthWc(character) <= widestDrawn {
			b.WriteString(character)
			continue
		}
		for i, part := range strings.Split(character, "\u200d") {
			if i > 0 {
				b.WriteString(`\u200d`)
			}
			if ansi.StringWidthWc(part) <= widestDrawn {
				b.WriteString(part)
				continue
			}
			for _, r := range part {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		}
	}
	return b.String()
}

// Wrap breaks spans into lines of at most width cells, at spaces if possible. A line break in a
// text ends a line. The spaces at a break are dropped; those at the beginning of a line of the text
// are kept. Without spans it returns one empty line.
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

// goesOn begins a line that continues the one above.
const goesOn = "┆ "

// Barred is like [Wrap], for text from other authors. A bar begins all lines but the first, so that
// no text can imitate a separate line by its spaces.
func Barred(spans Line, width int) []Line {
	if lines := Wrap(spans, width); len(lines) == 1 {
		return lines
	}
	return Indent(Wrap(spans, max(1, width-Width(goesOn))), nil, Line{T(Muted, goesOn)})
}

// Chop breaks a line at any character and keeps all spaces, for code.
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
			if n == 0 { // a character wider than the screen
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

// Indent puts first before the first line, and others before the other lines.
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
	used  int  // width of line
	gap   Span // spaces between line and word
	gaps  int  // width of gap
	word  Line
	cells int // width of word
}

// take adds a run of spaces, a line break or a piece of a word.
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

// endWord adds the word to the line or to the next line.
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

// pieceEnd returns the end of the first run of spaces, line break or piece of a word.
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

// First returns the length in bytes of the first grapheme cluster of a text.
func First(text string) int {
	if text == "" {
		return 0
	}
	character, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return max(1, len(character))
}

// A Theme gives roles a look. It uses the sixteen colours that every terminal has and users can
// configure.
type Theme struct {
	Name  string
	codes [roles]string // parameters of the SGR sequence; empty for a role without colour
	bare  bool          // no escape sequences at all
}

// Themes returns the names that [Named] accepts, without "auto".
func Themes() []string { return []string{"dark", "light", "mono"} }

// Named returns the theme with a name, and reports whether it exists.
func Named(name string) (Theme, bool) {
	switch name {
	case "dark":
		return Theme{Name: name, codes: [roles]string{
			Muted: "90", Accent: "96", Heading: "95", Code: "93", Quote: "37", Link: "94",
			Good: "92", Warn: "93", Bad: "91", Added: "32", Removed: "31",
			Keyword: "94", String: "32", Comment: "90", Number: "36",
		}}, true
	case "light":
		return Theme{Name: name, codes: [roles]string{
			Muted: "90", Accent: "34", Heading: "35", Code: "36", Quote: "90", Link: "34",
			Good: "32", Warn: "33", Bad: "31", Added: "32", Removed: "31",
			Keyword: "34", String: "32", Comment: "90", Number: "36",
		}}, true
	case "mono":
		return Theme{Name: name}, true
	case "bare":
		return Theme{Name: name, bare: true}, true
	}
	return Theme{}, false
}

// Paint returns the text for a terminal. All of it is cleaned, every style ends with the line, and
// line breaks and tabs become spaces.
func (t Theme) Paint(l Line) string {
	var b strings.Builder
	now := ""
	for _, s := range l {
		text := breaks.Replace(plaintext.Clean(s.Text))
		if text == "" {
			continue
		}
		code := t.code(s.Style)
		if code != now && now != "" {
			b.WriteString("\x1b[m")
		}
		if code != now && code != "" {
			b.WriteString("\x1b[" + code + "m")
		}
		now = code
		b.WriteString(text)
	}
	if now != "" {
		b.WriteString("\x1b[m")
	}
	return b.String()
}

// PaintAll paints lines and joins them with line breaks.
func (t Theme) PaintAll(lines []Line) string {
	painted := make([]string, len(lines))
	for i, l := range lines {
		painted[i] = t.Paint(l)
	}
	return strings.Join(painted, "\n")
}

var breaks = strings.NewReplacer("\n", " ", "\t", " ") // a line stays one line

// code returns the parameters of the SGR sequence for a style.
func (t Theme) code(s Style) string {
	if t.bare {
		return ""
	}
	var codes []string
	for i, c := range []string{"1", "2", "3", "4", "9", "7"} {
		if s.Attr&(1<<i) != 0 {
			codes = append(codes, c)
		}
	}
	if s.Role < roles && t.codes[s.Role] != "" {
		codes = append(codes, t.codes[s.Role])
	}
	return strings.Join(codes, ";")
}
