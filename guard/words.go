package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is one word of a text, prepared for the rules.
type word struct {
	ideas      ideas
	position   int // counts words, and adds several at the end of a sentence
	start, end int // offsets in the text
	quoted     bool
}

const (
	// sentenceGap is the number of words that the end of a sentence counts as.
	sentenceGap = 4
	// maxWord is the number of bytes of a word that are compared. No word of the vocabulary is
	// longer.
	maxWord = 64
	// maxQuote is the maximum length of a quotation in bytes.
	maxQuote = 240
)

// wordsOf splits a text into words. mixed is the position of the first word that mixes letters of
// two similar scripts, or nil.
func wordsOf(text string) (words []word, mixed []int) {
	language := theLanguage()
	words = make([]word, 0, len(text)/6+1)
	external, user, private := language.names["external"], language.names["user"], language.names["cred"]|language.names["environ"]
	var plain, last []byte
	const long = 24 // maximum length in bytes of a quoted name or example value
	position, quotedFrom, quotedUntil := 0, 0, -1
	for i := 0; i < len(text); {
		if n := wordLength(text[i:]); n > 0 {
			var mixes bool
			plain, last = last, plain
			plain, mixes = plainWord(plain[:0], withoutGenitive(text[i:i+n]))
			if mixes && mixed == nil {
				mixed = []int{i, i + n}
			}
			w := word{ideas: lookUp(language.words, plain), position: position, start: i, end: i + n, quoted: i < quotedUntil}
			if len(words) > 0 && words[len(words)-1].end+1 == i && strings.IndexByte(" -_", text[i-1]) >= 0 {
				w.ideas |= language.pair(last, plain)
			}
			if strings.HasPrefix(text[i+n:], "@") && i+n+1 < len(text) && isLetter(text[i+n+1]) {
				w.ideas |= external // a mail address
			}
			if w.quoted && quotedUntil-quotedFrom <= long {
				w.ideas &^= private // the name of a field or header is only mentioned
			}
			if w.ideas&user != 0 && (string(last) == "a" || string(last) == "another") {
				w.ideas &^= user
			}
			if n := len(words); n > 0 && words[n-1].ideas&user != 0 && words[n-1].end+1 == i && compounds[string(plain)] {
				words[n-1].ideas &^= user
			}
			if n := len(words); n > 0 && words[n-1].end+1 == i && string(last) == "webhook" && messages[string(plain)] {
				words[n-1].ideas &^= external
			}
			words = append(words, w)
			position++
			i += n
			continue
		}
		if end := quotation(text, i); i > quotedUntil && end > 0 {
			quotedFrom, quotedUntil = i, end
		}
		if endsSentence(text, i) {
			position += sentenceGap
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return words, mixed
}

// wordLength returns the length in bytes of the letters, digits and inner apostrophes at the start
// of text.
func wordLength(text string) int {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			i++
			continue
		case c == '\'' && i > 0 && i+1 < len(text) && (text[i+1]|0x20) >= 'a' && (text[i+1]|0x20) <= 'z':
			i++
			continue
		case c < utf8.RuneSelf:
			return i
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '’' && i > 0 {
			i += size
			continue
		}
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
		i += size
	}
	return len(text)
}

// plainWord appends the word in lower case, without marks and apostrophes. Latin letters replace
// look-alikes, and letters replace digits that resemble them. It reports whether the word mixes
// scripts.
func plainWord(plain []byte, w string) (_ []byte, mixes bool) {
	latin, other, digits := false, false, false
	for _, r := range w[:min(len(w), maxWord)] {
		switch {
		case r >= 'A' && r <= 'Z':
			plain, latin = append(plain, byte(r)|0x20), true
		case r >= 'a' && r <= 'z':
			plain, latin = append(plain, byte(r)), true
		case r >= '0' && r <= '9':
			plain, digits = append(plain, byte(r)), true
		case r == '\'' || r == '’':
		default:
			lower := unicode.ToLower(r)
			same := skeleton(lower)
			other = other || same != lower && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
			if !unicode.Is(unicode.Mn, r) {
				plain = utf8.AppendRune(plain, same)
			}
		}
	}
	if digits && (latin || other) {
		const digits, letters = "013457", "oieast"
		for i, c := range plain {
			if at := strings.IndexByte(digits, c); at >= 0 {
				plain[i] = letters[at]
			}
		}
	}
	return plain, latin && other
}

// withoutGenitive removes the ending of "user's", which is not a plural.
func withoutGenitive(w string) string {
	if cut, found := strings.CutSuffix(w, "'s"); found {
		return cut
	}
	return strings.TrimSuffix(w, "’s")
}

// endsSentence reports whether a sentence or paragraph ends at i.
func endsSentence(text string, i int) bool {
	switch text[i] {
	case '.', '!', '?':
		return i+1 == len(text) || strings.IndexByte(" \n\r\t\"')", text[i+1]) >= 0
	case '\n':
		return strings.HasPrefix(text[i:], "\n\n") || strings.HasPrefix(text[i:], "\n-") || strings.HasPrefix(text[i:], "\n*")
	}
	return strings.HasPrefix(text[i:], "。")
}

// quotation returns the end of the quotation that starts at i, or 0.
func quotation(text string, i int) int {
	closing := ""
	switch c := text[i]; {
	case c == '"' || c == '`':
		closing = string(c)
	case c == '\'' && (i == 0 || strings.IndexByte(" (\n[{,:", text[i-1]) >= 0):
		closing = "'"
	case strings.HasPrefix(text[i:], "“"):
		closing = "”"
	case strings.HasPrefix(text[i:], "«"):
		closing = "»"
	default:
		return 0
	}
	rest := text[i+1 : min(len(text), i+1+maxQuote)]
	if n := strings.Index(rest, closing); n >= 0 {
		return i + 1 + n
	}
	return 0
}
