package ink

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// widestDrawn is how many cells a character can take for bubbletea to draw it.
const widestDrawn = 4

// Exact is lines for a frame in which nothing may be missing. Unless the terminal says that it
// counts whole characters, a frame adds up the cells of a character's code points, and omits one
// of more than four, such as the emoji of a family. Here its parts are shown, and what joins
// them is written out. What is too wide then goes on in the next line.
func Exact(lines []Line, width int) []Line {
	var exact []Line
	for _, line := range lines {
		changed := false
		apart := make(Line, len(line))
		for i, s := range line {
			apart[i] = Span{takeApart(s.Text), s.Style}
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

// takeApart takes characters that are too wide for a frame apart.
func takeApart(text string) string {
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
