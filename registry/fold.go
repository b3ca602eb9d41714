package registry

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/mod/semver"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold returns a text as it is searched: without accents, case and punctuation, its words apart by one space.
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
	return strings.ContainsFunc(word, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	})
}

// compareVersions orders versions as semantic versions, 2.0.0-beta before 2.0.0. What is no such version comes before all that are, in the order
// of its text.
func compareVersions(a, b string) int {
	x, y := "v"+strings.TrimPrefix(a, "v"), "v"+strings.TrimPrefix(b, "v")
	return cmp.Or(semver.Compare(x, y), strings.Compare(a, b))
}
