package ink

import (
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// A Theme gives roles a look. It uses the sixteen colours that every terminal
// has and its owner may have chosen.
type Theme struct {
	Name  string
	codes [roles]string // parameters of the SGR sequence; empty for none
	bare  bool          // no escape sequences at all
}

// Themes are the names that [Named] knows, without "auto".
func Themes() []string { return []string{"dark", "light", "mono"} }

// Named is the theme of a name, or false where there is none.
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

// Paint makes of a line what a terminal is sent. Everything is cleaned, and
// every style ends with the line; line breaks and tabs become spaces.
func (t Theme) Paint(l Line) string {
	var b strings.Builder
	now := ""
	for _, s := range l {
		text := oneLine(s.Text)
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

// PaintAll paints lines, with a line break between each two.
func (t Theme) PaintAll(lines []Line) string {
	painted := make([]string, len(lines))
	for i, l := range lines {
		painted[i] = t.Paint(l)
	}
	return strings.Join(painted, "\n")
}

func oneLine(text string) string {
	text = plaintext.Clean(text)
	if strings.ContainsAny(text, "\n\t") {
		return strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	}
	return text
}

// code is the parameters of the SGR sequence for a style.
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
