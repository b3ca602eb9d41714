package terminal

import "github.com/charmbracelet/x/ansi"

// Width is how many cells of a terminal a cleaned line takes.
func Width(s string) (cells int) {
	for s != "" {
		character, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s, cells = s[len(character):], cells+width
	}
	return cells
}

// fit is how many bytes of s take at most the given cells, and at least one character.
func fit(s string, cells int) (end int) {
	for end < len(s) {
		character, width := ansi.FirstGraphemeCluster(s[end:], ansi.GraphemeWidth)
		if cells -= width; cells < 0 && end > 0 {
			break
		}
		end += len(character)
	}
	return end
}
