package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// emojiSequence returns the length in bytes of an emoji at the start of text whose characters would
// otherwise count as hidden. These are symbols with zero-width joiners, and the three flags with
// tags. It returns 0 for other text. A black flag before other tags is a way to hide text.
func emojiSequence(text string) int {
	first, size := utf8.DecodeRuneInString(text)
	if first < 0x2190 || !isPictograph(first) {
		return 0
	}
	if n := tagFlag(text); n > 0 {
		return n
	}
	end, joined := pictographEnd(text, size), false
	for strings.HasPrefix(text[end:], "\u200d") {
		after := end + len("\u200d")
		r, n := utf8.DecodeRuneInString(text[after:])
		if !isPictograph(r) {
			break
		}
		end, joined = after+pictographEnd(text[after:], n), true
	}
	if !joined {
		return 0
	}
	return end
}

// pictographEnd returns the offset after the symbol at the start of text with its skin tone and
// selector. size is the length of its first rune in bytes.
func pictographEnd(text string, size int) int {
	for {
		r, n := utf8.DecodeRuneInString(text[size:])
		if r != 0xfe0f && (r < 0x1f3fb || r > 0x1f3ff) {
			return size
		}
		size += n
	}
}

// tagFlag returns the length in bytes of a flag of England, Scotland or Wales at the start of text,
// or 0.
func tagFlag(text string) int {
	const black = "\U0001f3f4"
	rest, found := strings.CutPrefix(text, black)
	if !found {
		return 0
	}
	rest = strings.TrimPrefix(rest, "\ufe0f")
	for _, region := range []string{
		"\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
		"\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
		"\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
	} {
		if strings.HasPrefix(rest, region) {
			return len(text) - len(rest) + len(region)
		}
	}
	return 0
}

func isPictograph(r rune) bool {
	return r != utf8.RuneError && unicode.Is(unicode.So, r) || r >= 0x1f000 && r <= 0x1faff || strings.ContainsRune("↔↕⚕♀♂", r)
}
