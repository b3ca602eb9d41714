package injected

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quote returns how many bytes the quotation mark has that stands i bytes from
// here; 0 if there is none.
func (l *loose) quote(i int) int {
	switch l.at(i) {
	case '"', '\'':
		return 1
	case 0xE2:
		// “ ” ‘ ’
		if c := l.at(i + 2); l.at(i+1) == 0x80 && (c == 0x98 || c == 0x99 || c == 0x9C || c == 0x9D) {
			return 3
		}
	}
	return 0
}

// text reads a string. A quotation mark inside it ends it only if what follows
// can follow a string, because many models forget to escape.
func (l *loose) text() (string, bool) {
	triple := l.has(0, `"""`) || l.has(0, `'''`)
	size := l.quote(0)
	if triple {
		size = 3
	}
	first := l.at(0)
	double := l.at(size-1) == 0x9C || l.at(size-1) == 0x9D
	l.pos += size
	var b []byte
	for {
		c := l.at(0)
		switch {
		case c == none:
			l.open, l.torn = true, true
			return "", false
		case c == '\\':
			b = l.escape(b)
			continue
		case l.matches(first, double):
			n := l.quote(0)
			if triple && l.at(1) == c && l.at(2) == c {
				n = 3
			} else if triple {
				break
			}
			if l.ends(n) {
				l.pos += n
				return strings.ToValidUTF8(string(b), "\uFFFD"), true
			}
		}
		b = append(b, byte(c))
		l.pos++
	}
}

// matches reports whether the mark here can close a string that first opened.
func (l *loose) matches(first int, double bool) bool {
	c := l.at(0)
	if first != 0xE2 {
		return c == first
	}
	if l.quote(0) == 3 {
		end := l.at(2)
		return double == (end == 0x9C || end == 0x9D)
	}
	return double && c == '"' || !double && c == '\''
}

// ends reports whether a string is over if n more bytes belong to it.
func (l *loose) ends(n int) bool {
	next := n
	broken := false // a line break stands between
	for isBlank(l.at(next)) {
		broken = broken || l.at(next) == '\n'
		next++
	}
	switch c := l.at(next); c {
	case none, ',', ':', '}', ']', ')', '#':
		return true
	case '/':
		return l.at(next+1) == '/' || l.at(next+1) == '*'
	case '<':
		return l.at(next+1) == '/' || l.at(next+1) == '|' || l.at(next+1) >= 0x80
	}
	return broken && l.quote(next) > 0
}

// escape reads what a backslash begins and appends what it stands for; the
// backslash itself where it stands for nothing, as in a regular expression.
func (l *loose) escape(b []byte) []byte {
	c := l.at(1)
	l.pos++
	if c == none {
		return b
	}
	l.pos++
	if i := strings.IndexByte(`nrtbf"'\/`, byte(c)); i >= 0 {
		return append(b, "\n\r\t\b\f\"'\\/"[i])
	}
	switch c {
	case '\n':
		return b
	case 'u':
		if r, ok := l.hex(0, 4); ok {
			l.pos += 4
			return utf8.AppendRune(b, l.surrogate(r))
		}
	case 'x':
		if r, ok := l.hex(0, 2); ok {
			l.pos += 2
			return utf8.AppendRune(b, r)
		}
	}
	l.pos--
	return append(b, '\\')
}

// surrogate completes a pair of escapes whose first half was r.
func (l *loose) surrogate(r rune) rune {
	if !utf16.IsSurrogate(r) || !l.has(0, `\u`) {
		return r // AppendRune makes U+FFFD of half a pair
	}
	low, ok := l.hex(2, 4)
	whole := utf16.DecodeRune(r, low)
	if ok && whole != utf8.RuneError {
		l.pos += 6
		return whole
	}
	return r
}

// hex reads n digits, i bytes from here.
func (l *loose) hex(i, n int) (rune, bool) {
	digits := make([]byte, 0, 4)
	for k := range n {
		c := l.at(i + k)
		if c == none {
			return 0, false
		}
		digits = append(digits, byte(c))
	}
	r, err := strconv.ParseUint(string(digits), 16, 32)
	return rune(r), err == nil
}
