package ink

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A Style says what a text is and how it stands out.
type Style struct {
	Role Role
	Attr Attr
}

// Role is the meaning of a text; a [Theme] gives it a colour.
type Role uint8

// The roles.
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

// Attr is a set of attributes, which every theme shows.
type Attr uint8

// The attributes.
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

// T is text of a role, cleaned, with the given attributes. Each tab is four spaces: how many
// cells it would take depends on what stands before it.
func T(role Role, text string, attr ...Attr) Span {
	s := Span{Text: strings.ReplaceAll(plaintext.Clean(text), "\t", "    "), Style: Style{Role: role}}
	for _, a := range attr {
		s.Style.Attr |= a
	}
	return s
}

// Of is a line of plain text.
func Of(text string) Line { return Line{T(Plain, text)} }

// Width is how many cells the text takes in a terminal.
func Width(text string) int { return ansi.StringWidth(text) }

// Width is how many cells the line takes.
func (l Line) Width() int {
	cells := 0
	for _, s := range l {
		cells += Width(s.Text)
	}
	return cells
}

// String is the line without its styles.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Cut is the line in at most width cells; what does not fit ends in an ellipsis.
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

// Pad is the line with spaces up to width cells.
func (l Line) Pad(width int) Line {
	if missing := width - l.Width(); missing > 0 {
		return append(l[:len(l):len(l)], Span{Text: strings.Repeat(" ", missing)})
	}
	return l
}

// fit is how many bytes of text take at most the given cells, whole characters
// as a reader counts them.
func fit(text string, cells int) int { return len(ansi.Truncate(text, cells, "")) }
