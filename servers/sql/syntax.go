package sql

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A syntax describes how a database splits a statement into tokens. begin configures each session
// for it, whatever the database's default is.
type syntax struct {
	mysql    bool // backslashes in strings, "…" is a string, # and "-- " begin comments, /*! … */ is code
	backtick bool // `…` is a quoted name
	bracket  bool // […] is a quoted name
	dollar   bool // PostgreSQL: $tag$ … $tag$ is a string, and so is E'…' with backslashes; a comment ends at \r
	nested   bool // comments can be nested
	at       bool // @name is a variable or a parameter
}

// Kinds of tokens.
const (
	word   = 'w' // a keyword, or a name without quotes
	quoted = 'q' // a name in quotes
	text   = 't' // a string
	symbol = 's' // any other byte, and each digit of a number
)

// A token is a part of a statement.
type token struct {
	kind       byte
	text       string // without its quotes
	begin, end int    // offsets in the statement
	isName     bool   // a dot or @ before the word shows that it is a name, not a keyword
}

// A scanner splits a statement into tokens.
type scanner struct {
	syntax
	in     string
	at     int
	tokens []token
}

var errOpen = errors.New("a string, a quoted name or a comment does not end")

// scan returns the tokens of a statement. Where databases differ, it follows the syntax of its
// database or refuses the statement.
func (y syntax) scan(statement string) ([]token, error) {
	if !utf8.ValidString(statement) || strings.ContainsRune(statement, 0) {
		return nil, errors.New("the statement contains bytes that are not text")
	}
	s := &scanner{syntax: y, in: statement}
	for s.at < len(s.in) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	for i, t := range s.tokens {
		if y.dollar && t.kind == text && i > 0 && s.tokens[i-1].kind == text {
			return nil, errors.New("a string that continues on another line is not supported: the first part decides what a backslash means in the second; write one string")
		}
	}
	return s.tokens, nil
}

func (s *scanner) next() error {
	rest := s.in[s.at:]
	c := rest[0]
	switch {
	case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
		s.at++
	case strings.HasPrefix(rest, "/*"):
		return s.comment()
	case strings.HasPrefix(rest, "--") && (!s.mysql || len(rest) == 2 || rest[2] <= ' ' || rest[2] == 0x7f), c == '#' && s.mysql:
		s.line()
	case c == '\'':
		return s.quote(text, c, s.mysql)
	case c == '"' && s.mysql:
		return s.quote(text, c, true)
	case c == '"', c == '`' && s.backtick:
		return s.quote(quoted, c, false)
	case c == '[' && s.bracket:
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return errOpen
		}
		s.add(quoted, rest[1:end], end+1)
	case c == '$' && s.dollar && s.dollarEnd() > 0:
		return s.dollars()
	case startsWord(c):
		return s.word()
	default:
		s.add(symbol, rest[:1], 1)
	}
	return nil
}

// add adds a token of the given length.
func (s *scanner) add(kind byte, text string, length int) {
	s.tokens = append(s.tokens, token{kind: kind, text: text, begin: s.at, end: s.at + length})
	s.at += length
}

func startsWord(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func inWord(c byte) bool { return startsWord(c) || c == '$' || '0' <= c && c <= '9' }

// line skips a comment up to the end of the line.
func (s *scanner) line() {
	ends := "\n"
	if s.dollar {
		ends = "\r\n"
	}
	if n := strings.IndexAny(s.in[s.at:], ends); n >= 0 {
		s.at += n + 1
		return
	}
	s.at = len(s.in)
}

func (s *scanner) comment() error {
	rest := s.in[s.at+2:]
	if s.mysql && (strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "M!") || strings.HasPrefix(rest, "+")) {
		return errors.New("a comment that begins with /*!, /*M! or /*+ is MySQL code, which is not supported")
	}
	s.at += 2
	for depth := 1; depth > 0; {
		rest := s.in[s.at:]
		switch {
		case rest == "":
			return errOpen
		case strings.HasPrefix(rest, "*/"):
			depth--
			s.at += 2
		case s.nested && strings.HasPrefix(rest, "/*"):
			depth++
			s.at += 2
		default:
			s.at++
		}
	}
	return nil
}

// quote reads up to the closing quote. A doubled quote is part of the text.
func (s *scanner) quote(kind, q byte, backslash bool) error {
	for i := s.at + 1; i < len(s.in); i++ {
		switch {
		case s.in[i] == '\\' && backslash:
			i++
		case s.in[i] != q:
		case i+1 < len(s.in) && s.in[i+1] == q:
			i++
		default:
			content := strings.ReplaceAll(s.in[s.at+1:i], string([]byte{q, q}), string(q))
			s.add(kind, content, i+1-s.at)
			return nil
		}
	}
	return errOpen
}

// dollarEnd returns the length of the $tag$ at the current position, or 0.
func (s *scanner) dollarEnd() int {
	rest := s.in[s.at+1:]
	for i := range len(rest) {
		switch {
		case rest[i] == '$':
			return i + 2
		case i == 0 && !startsWord(rest[i]), !inWord(rest[i]):
			return 0
		}
	}
	return 0
}

func (s *scanner) dollars() error {
	n := s.dollarEnd()
	tag := s.in[s.at : s.at+n]
	length := strings.Index(s.in[s.at+n:], tag)
	if length < 0 {
		return errOpen
	}
	s.add(text, s.in[s.at+n:s.at+n+length], 2*n+length)
	return nil
}

func (s *scanner) word() error {
	end := s.at
	for end < len(s.in) && inWord(s.in[end]) {
		end++
	}
	w, rest := s.in[s.at:end], s.in[end:]
	if s.dollar {
		switch upper := strings.ToUpper(w); {
		case upper == "E" && strings.HasPrefix(rest, "'"):
			s.at = end
			return s.quote(text, '\'', true)
		case upper == "U" && strings.HasPrefix(rest, "&"):
			return fmt.Errorf("%s&'…' and %s&\"…\" are not supported; write the characters themselves", w, w)
		}
	}
	s.add(word, w, len(w))
	s.tokens[len(s.tokens)-1].isName = s.followsDot(len(s.tokens) - 1)
	return nil
}

// followsDot reports whether a word is a name because of the token right before it: the dot after
// another name, or @. A dot after a number, as in 1.INTO, belongs to the number.
func (s *scanner) followsDot(i int) bool {
	before := func(n int) *token {
		if i < n || s.tokens[i-n].end != s.tokens[i-n+1].begin {
			return &token{}
		}
		return &s.tokens[i-n]
	}
	switch dot, left := before(1), before(2); {
	case dot.text == "@" && dot.kind == symbol:
		return s.syntax.at
	case dot.text != "." || dot.kind != symbol:
		return false
	case left.kind == word:
		digit := before(3)
		return digit.kind != symbol || digit.text < "0" || digit.text > "9"
	default:
		return left.kind == quoted
	}
}
