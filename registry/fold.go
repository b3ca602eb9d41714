package registry

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/mod/semver"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold converts a text to the form that searches use. It removes accents, case and punctuation, and
// separates words by one space.
func fold(text string) string {
	var b strings.Builder
	apart := true
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r >= 0x300 && r <= 0x36F: // accents; not the mark that distinguishes が from か
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

// isJoined reports whether a word is of a script without spaces between words. Searches then also
// match inside of words.
func isJoined(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	})
}

// compareVersions compares semantic versions; 2.0.0-beta is before 2.0.0. Other versions come
// first, sorted as text.
func compareVersions(a, b string) int {
	x, y := "v"+strings.TrimPrefix(a, "v"), "v"+strings.TrimPrefix(b, "v")
	return cmp.Or(semver.Compare(x, y), strings.Compare(a, b))
}
