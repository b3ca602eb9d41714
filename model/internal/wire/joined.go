package wire

import (
	"strings"
	"unicode/utf8"
)

// Joined is text from pieces. A character whose bytes came in two pieces is
// given on when it is whole; bytes that are none become U+FFFD.
type Joined struct {
	strings.Builder
	rest string
}

// Add takes in a piece, and returns what can be shown now.
func (j *Joined) Add(piece string) string {
	if piece == "" {
		return ""
	}
	text := j.rest + piece
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if b := text[len(text)-back]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(text[len(text)-back:]) {
				whole -= back
			}
			break
		}
	}
	j.rest = text[whole:]
	return j.write(text[:whole])
}

// End returns what was held back.
func (j *Joined) End() string {
	rest := j.rest
	j.rest = ""
	return j.write(rest)
}

func (j *Joined) write(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // byte by byte, however they came
	}
	j.WriteString(text)
	return text
}
