package toolsearch

import (
	"unicode"
	"unicode/utf8"
)

// maxWord is how many bytes of a word count; what is longer is a key or a hash.
const maxWord = 64

// splitter takes a text apart into words. Words are in lower case and not yet stemmed.
// The zero value is ready; it keeps its buffers between texts and is not safe for concurrent use.
type splitter struct {
	word []byte // the run of letters and digits at hand, in lower case
	cuts []int  // offsets in word where a part ends
}

// class is what a rune is to the splitter.
type class uint8

const (
	other class = iota // ends a word
	lower
	upper
	digit
	ideograph // a word of its own
	joining   // belongs to the word, and is of no class: a combining mark
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'a' <= r && r <= 'z':
			return lower
		case 'A' <= r && r <= 'Z':
			return upper
		case '0' <= r && r <= '9':
			return digit
		}
		return other
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return ideograph
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r):
		return joining
	}
	return other
}

// split calls f with each word of text until f returns false. Of an identifier
// in camelCase or with digits it gives the parts and then the whole, and says which it is, because
// GitHub is as often one word as readFile is two. The slice is valid during the call.
func (s *splitter) split(text string, f func(word []byte, whole bool) bool) {
	s.reset()
	last := other
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			r = narrow(r)
		}
		c := classOf(r)
		switch c {
		case other, ideograph:
			if !s.flush(f) {
				return
			}
			if c == ideograph && !f([]byte(text[i:i+size]), false) {
				return
			}
		case joining:
			s.add(r)
		default:
			s.boundary(last, c, text[i+size:])
			s.add(r)
		}
		if c != joining {
			last = c
		}
		i += size
	}
	s.flush(f)
}

// boundary marks a cut before a rune of class c that follows one of class last.
func (s *splitter) boundary(last, c class, rest string) {
	if len(s.word) == 0 {
		return
	}
	cut := false
	switch {
	case (last == digit) != (c == digit):
		cut = true
	case last == lower && c == upper:
		cut = true
	case last == upper && c == upper:
		// The last capital of HTTPServer begins a part; that of APIs does not.
		next, size := utf8.DecodeRuneInString(rest)
		cut = classOf(next) == lower && (next != 's' || startsWithLetter(rest[size:]))
	}
	if cut {
		s.cuts = append(s.cuts, len(s.word))
	}
}

// narrow returns the ASCII character for its wide form, which keyboards for
// Chinese, Japanese and Korean produce, and any other character as it is.
func narrow(r rune) rune {
	if '！' <= r && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

func startsWithLetter(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return classOf(r) == lower
}

func (s *splitter) add(r rune) {
	if len(s.word) >= maxWord {
		return
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	} else if r >= utf8.RuneSelf {
		r = unicode.ToLower(r)
	}
	s.word = utf8.AppendRune(s.word, r)
}

// flush gives the word at hand to f, its parts first.
func (s *splitter) flush(f func(word []byte, whole bool) bool) bool {
	defer s.reset()
	if len(s.word) == 0 {
		return true
	}
	if len(s.cuts) == 0 {
		return f(s.word, false)
	}
	start := 0
	for _, end := range append(s.cuts, len(s.word)) {
		if end > start && !f(s.word[start:end], false) {
			return false
		}
		start = end
	}
	return f(s.word, true)
}

func (s *splitter) reset() { s.word, s.cuts = s.word[:0], s.cuts[:0] }
