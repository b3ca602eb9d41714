package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s with Go escapes in place of all characters that a reader would not see or that a
// terminal would interpret:
//
//   - Control characters (C0, DEL, C1), and thus every ANSI escape sequence, become escapes such as
//     \x1b or \u009b. Only newlines and tabs stay. A carriage return before a newline is removed.
//   - Marks, embeddings, overrides and isolates that change the direction of text become escapes
//     such as \u202e.
//   - Zero-width and other invisible characters become escapes such as \u200b or \U000e0041: joiners,
//     fillers, soft hyphens, the byte order mark, tag characters and variation selectors. Some of
//     them stay because normal text needs them: one variation selector 16 after a symbol and one
//     joiner between two symbols, which emoji need, and one joiner between letters of a script that
//     uses joiners, such as Persian or Hindi.
//   - The line and paragraph separators become \u2028 and \u2029.
//   - Each byte that is not valid UTF-8 becomes an escape such as \xff.
//
// Clean returns text without such characters unchanged and without an allocation. Cleaning text a
// second time does not change it.
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

// Line returns s, cleaned as [Clean] does, as a single line of at most max runes. It replaces each
// run of newlines and tabs by one space. If the text is too long, it is cut, and the last rune is
// an ellipsis. The result is empty if max is not positive. Line reads only as much of s as it
// needs.
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
	// A joiner at the end would have nothing to join.
	return strings.TrimRight(string(line[:max-1]), "\u200c\u200d") + "…"
}

// printable reports whether s consists of visible ASCII characters and spaces.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Unbroken returns all of s, cleaned as [Clean] does, as a single line. It is meant for text that a
// user must see completely and that must not be able to imitate another line.
func Unbroken(s string) string { return fold(Clean(s)) }

// prefix returns all of s, or a part of s that has more than max runes after cleaning and folding.
// Only runs of newlines and tabs become shorter in these steps.
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

// fold replaces each run of newlines and tabs by one space.
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

// indexHidden returns the index of the first character that Clean must replace, or -1.
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

// hidden reports whether r must be escaped if it follows last.
func hidden(r, last rune) bool {
	if r < utf8.RuneSelf {
		return hiddenASCII(byte(r))
	}
	if r == emojiSelector && (unicode.Is(unicode.So, last) || last == 'ℹ' || last == '↔') { // these symbols have a coloured form
		return false
	}
	return unicode.Is(unicode.Cc, r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.In(r, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// escape stands for the previous character at the start of the text and after an escape.
const escape rune = -1

// emojiSelector selects the coloured form of the symbol that it follows.
const emojiSelector = '\ufe0f'

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// joinsAt reports whether r is a joiner that is needed between the character last and the text
// rest. Joiners are needed between symbols that form one emoji, and between letters of some
// scripts. If rest is empty, joinsAt accepts a joiner after such a symbol or letter.
func joinsAt(r, last rune, rest string) bool {
	if r != joiner && r != nonJoiner {
		return false
	}
	next, size := utf8.DecodeRuneInString(rest)
	if joining(last) && (size == 0 || joining(next)) {
		return true
	}
	isPart := last == emojiSelector || last >= 0x1f3fb && last <= 0x1f3ff // last is the symbol's selector or skin tone
	return r == joiner && (isPart || joinable(last)) && (size == 0 || joinable(next))
}

// joinable reports whether r can be a part of an emoji that consists of several symbols.
func joinable(r rune) bool { return r >= 0x2190 && unicode.Is(unicode.So, r) }

// joining reports whether r is a letter or mark of a script in which joiners change the appearance.
func joining(r rune) bool {
	if r >= 0x64b && r <= 0x655 || r == 0x670 { // Arabic marks that other scripts use too
		return true
	}
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar) &&
		unicode.In(r, unicode.L, unicode.M) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
