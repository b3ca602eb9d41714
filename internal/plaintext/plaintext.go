package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s with everything that a reader would not see, or that a
// terminal would obey, written out as a Go escape:
//
//   - control characters (C0, DEL, C1), and with them every ANSI escape
//     sequence, as \x1b or \u009b; only newline and tab stay as they are, and a
//     carriage return is dropped where a newline follows it;
//   - marks, embeddings, overrides and isolates that change the direction of
//     text, as \u202e;
//   - zero-width and other invisible characters: joiners, fillers, soft hyphens,
//     the byte order mark, tag characters, variation selectors, as \u200b or
//     \U000e0041. One variation selector 16 stays when it follows a symbol, and one
//     joiner between two symbols, because that is how emoji are written; so does one
//     joiner between letters of a script that is written with them, such as Persian
//     or Hindi;
//   - the line and paragraph separators, as \u2028;
//   - each byte that is not valid UTF-8, as \xff.
//
// Text without any of these is returned as it is, without allocation. Cleaning
// twice changes nothing.
func Clean(s string) string {
	first := indexHidden(s)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 32)
	b.WriteString(s[:first])
	last := escape
	if first > 0 {
		last, _ = utf8.DecodeLastRuneInString(s[:first])
	}
	for i := first; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		case invalid(r, size):
			fmt.Fprintf(&b, `\x%02x`, s[i])
			last = escape
		case hidden(r, last) && !joinsAt(r, last, s[i+size:]):
			switch {
			case r < utf8.RuneSelf:
				fmt.Fprintf(&b, `\x%02x`, r)
			case r <= 0xffff:
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				fmt.Fprintf(&b, `\U%08x`, r)
			}
			last = escape
		default:
			b.WriteString(s[i : i+size])
			last = r
		}
		i += size
	}
	return b.String()
}

// Line returns s cleaned as by [Clean] on a single line of at most max runes. A run of newlines and
// tabs becomes one space. Text that does not fit ends in an ellipsis, which counts as one rune. The
// result is empty if max is not positive.
//
// Line reads no more of s than the result needs.
func Line(s string, max int) string {
	switch {
	case max <= 0:
		return ""
	case len(s) <= max && printable(s):
		return s
	}
	line := []rune(fold(Clean(prefix(s, max))))
	if len(line) <= max {
		return string(line)
	}
	// A joiner at the cut would join nothing.
	return strings.TrimRight(string(line[:max-1]), "\u200c\u200d") + "…"
}

// printable reports whether s has only visible ASCII characters and spaces.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Unbroken returns all of s cleaned as by [Clean] on a single line. It is for text that must be
// seen whole and must not forge the beginning of a line.
func Unbroken(s string) string { return fold(Clean(s)) }

// prefix returns a part of s that gives more than max runes once it is cleaned and folded, or all
// of s. Only runs of newlines and tabs become shorter.
func prefix(s string, max int) string {
	runes, folding := 0, false
	for i, r := range s {
		isFold := r == '\n' || r == '\t' || r == '\r'
		if !isFold || !folding {
			runes++
		}
		folding = isFold
		if runes > max+1 && !isFold {
			return s[:i]
		}
	}
	return s
}

// fold replaces each run of newlines and tabs with one space.
func fold(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	folding := false
	for _, r := range s {
		isFold := r == '\n' || r == '\t'
		switch {
		case !isFold:
			b.WriteRune(r)
		case !folding:
			b.WriteByte(' ')
		}
		folding = isFold
	}
	return b.String()
}

// indexHidden returns the index of the first character that must be replaced, or -1.
func indexHidden(s string) int {
	last := escape
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if hiddenASCII(c) {
				return i
			}
			last = rune(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if invalid(r, size) || hidden(r, last) && !joinsAt(r, last, s[i+size:]) {
			return i
		}
		last = r
		i += size
	}
	return -1
}

func invalid(r rune, size int) bool { return r == utf8.RuneError && size <= 1 }

func hiddenASCII(c byte) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// hidden reports whether r must be escaped when it follows last.
func hidden(r, last rune) bool {
	if r < utf8.RuneSelf {
		return hiddenASCII(byte(r))
	}
	if r == emojiSelector && (unicode.Is(unicode.So, last) || last == 'ℹ' || last == '↔') { // symbols with a coloured form
		return false
	}
	return unicode.Is(unicode.Cc, r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.In(r, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// escape is the previous character at the start of the text, or after an escape.
const escape rune = -1

// emojiSelector selects the coloured form of the symbol before it.
const emojiSelector = '\ufe0f'

// Joiners.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// joinsAt reports whether r is a joiner that belongs between last and the rest: between symbols
// that form one emoji, or letters whose script needs it. The end of the text counts as a fitting
// rest.
func joinsAt(r, last rune, rest string) bool {
	if r != joiner && r != nonJoiner {
		return false
	}
	next, size := utf8.DecodeRuneInString(rest)
	if joining(last) && (size == 0 || joining(next)) {
		return true
	}
	isPart := last == emojiSelector || last >= 0x1f3fb && last <= 0x1f3ff // its skin tone
	return r == joiner && (isPart || joinable(last)) && (size == 0 || joinable(next))
}

// joinable reports whether r may be a part of an emoji of several symbols.
func joinable(r rune) bool { return r >= 0x2190 && unicode.Is(unicode.So, r) }

// joining reports whether r is a letter or a mark of a script in which joiners are visible.
func joining(r rune) bool {
	if r >= 0x64b && r <= 0x655 || r == 0x670 { // marks of Arabic, which other scripts use too
		return true
	}
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar) &&
		unicode.In(r, unicode.L, unicode.M) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
