package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Visible returns text in a form that a user can judge. Characters without a shape, and those that
// reorder text, become ⟨U+200B⟩. A run of tag characters becomes the text that a model reads in it,
// ⟨tags: …⟩. The result is safe to print on a terminal. Flags and other emoji with these characters
// are unchanged.
func Visible(text string) string {
	if !hasHidden(text) {
		return plaintext.Clean(text)
	}
	var b, plain strings.Builder
	flush := func() {
		b.WriteString(plaintext.Clean(plain.String()))
		plain.Reset()
	}
	eachHidden(text, func(part string, hidden bool) {
		if !hidden {
			// An emoji sequence contains characters that are hidden elsewhere. They must not be
			// escaped here.
			if emoji := emojiSequence(part); emoji == len(part) {
				flush()
				b.WriteString(part)
				return
			}
			plain.WriteString(part)
			return
		}
		flush()
		if decoded := decodeTags(part); decoded != "" {
			fmt.Fprintf(&b, "⟨tags: %s⟩", plaintext.Clean(decoded))
			return
		}
		for _, r := range part {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	})
	flush()
	return b.String()
}

// Clean returns text for a model, without invisible characters. Emoji, and scripts such as Persian
// or Hindi that need joiners, keep theirs.
func Clean(text string) string {
	if !hasHidden(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	eachHidden(text, func(part string, hidden bool) {
		if !hidden {
			b.WriteString(part)
		}
	})
	return b.String()
}

// hasHidden reports, quickly, whether text may have hidden characters.
func hasHidden(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= 0xc2 { // first byte of U+0080 and above
			return strings.ContainsFunc(text[i:], isHidden)
		}
	}
	return false
}

// isHidden reports whether a character has no shape of its own. eachHidden excepts characters at
// legitimate places.
func isHidden(r rune) bool {
	if r < 0xad {
		return false
	}
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff0 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r >= 0xe000 && r <= 0xf8ff, r >= 0xf0000: // private use: its shape is unknown
		return true
	}
	return false
}

// eachHidden calls f with the parts of text in sequence. hidden reports whether a part consists of
// hidden characters. An emoji sequence is a separate visible part.
func eachHidden(text string, f func(part string, hidden bool)) {
	start, last := 0, rune(0)
	for i := 0; i < len(text); {
		if n := emojiSequence(text[i:]); n > 0 {
			if i > start {
				f(text[start:i], false)
			}
			f(text[i:i+n], false)
			i, start, last = i+n, i+n, 0
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isHidden(r) || inPlace(r, last, text[i+size:]) {
			i, last = i+size, r
			continue
		}
		if i > start {
			f(text[start:i], false)
		}
		end := i + hiddenRun(text[i:])
		f(text[i:end], true)
		i, start, last = end, end, 0
	}
	if start < len(text) {
		f(text[start:], false)
	}
}

// hiddenRun returns the length in bytes of the hidden characters at the start of text. A run has
// either only tag characters or only others, so that the text of tags is in one piece.
func hiddenRun(text string) int {
	first, _ := utf8.DecodeRuneInString(text)
	for i, r := range text {
		if !isHidden(r) || isTag(r) != isTag(first) {
			return i
		}
	}
	return len(text)
}

// inPlace reports whether a character that is otherwise hidden is legitimate at its place. It
// accepts a joiner between letters of a script that needs it, a direction mark next to
// right-to-left text, and a selector behind a character with variants.
func inPlace(r, last rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == 0x200c || r == 0x200d: // joiners
		return joins(last) && joins(next)
	case r == 0x200e || r == 0x200f || r == 0x61c: // direction marks
		return rightToLeft(last) || rightToLeft(next)
	case r >= 0xfe00 && r <= 0xfe0f: // variation selectors
		return last > 0xff && !unicode.Is(unicode.Latin, last) && !isHidden(last) || strings.ContainsRune("#*0123456789©®", last) && r == 0xfe0f
	case r >= 0xe0100 && r <= 0xe01ef: // variants of ideographs
		return unicode.Is(unicode.Han, last)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, last) || unicode.Is(unicode.Mongolian, next)
	}
	return false
}

func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mn, unicode.Mc)
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// decodeTags returns the text of a run of tag characters, or "".
func decodeTags(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 0xe0020 && r <= 0xe007e {
			b.WriteByte(byte(r - 0xe0000))
		}
	}
	return b.String()
}
