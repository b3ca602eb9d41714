package policy

import (
	"strings"
	"unicode/utf8"
)

// kind tells how many names a pattern can match.
type kind int

const (
	anything kind = iota // empty or only stars
	some                 // has * or ?, and other characters
	exactly              // one name
)

// pattern is a pattern of names.
type pattern struct {
	text string // text of the pattern, or the name if kind is exactly
	kind kind
}

func parsePattern(text string) pattern {
	if strings.Trim(text, "*") == "" {
		return pattern{text, anything}
	}
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?':
			return pattern{text, some}
		case '\\':
			i = min(i+1, len(text)-1)
		}
		name.WriteByte(text[i])
	}
	return pattern{name.String(), exactly}
}

func (p pattern) matches(name string) bool {
	switch p.kind {
	case anything:
		return p.text == "" || name != ""
	case exactly:
		return p.text == name
	}
	return matchGlob(p.text, name)
}

// escapePattern returns the pattern that matches only the given name.
func escapePattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(name)
}

// matchGlob reports whether the whole of s matches a pattern. It backtracks only to the last star,
// so its time is at most proportional to the product of both lengths.
func matchGlob(pattern, s string) bool {
	p, i := 0, 0
	star, from := -1, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, i
			p++
			continue
		}
		if pEnd, iEnd, ok := matchOne(pattern, p, s, i); ok {
			p, i = pEnd, iEnd
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[from:])
		from += size
		p, i = star+1, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches the element of pattern at p, which is not a star, against the character of s at
// i.
func matchOne(pattern string, p int, s string, i int) (pEnd, iEnd int, ok bool) {
	if p >= len(pattern) {
		return 0, 0, false
	}
	if pattern[p] == '?' {
		_, size := utf8.DecodeRuneInString(s[i:])
		return p + 1, i + size, true
	}
	if pattern[p] == '\\' && p+1 < len(pattern) {
		p++
	}
	return p + 1, i + 1, pattern[p] == s[i]
}
