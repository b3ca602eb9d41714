package registry

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold is a text as it is searched: without accents, case and punctuation, its words apart by one space.
func fold(text string) string {
	var b strings.Builder
	apart := true
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r >= 0x300 && r <= 0x36F: // accents; what makes か of が is no accent and stays
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r):
			b.WriteRune(r)
			apart = false
		case !apart:
			b.WriteByte(' ')
			apart = true
		}
	}
	return strings.TrimSpace(cases.Fold().String(norm.NFC.String(b.String())))
}

// isJoined reports whether the words of a script stand without spaces between them, so that they are found inside of others.
func isJoined(word string) bool {
	for _, r := range word {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return true
		}
	}
	return false
}
