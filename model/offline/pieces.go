package offline

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNesting is how deep JSON in a question may be nested.
const maxNesting = 64

// A kind says what a piece of a question looks like.
type kind int

const (
	word   kind = iota
	pair        // key=value, key:=JSON or key: value
	quoted      // "some text"
	object      // a JSON object or list
	number
	url
	email
	date
	path
)

// A piece is a word of a question, or what belongs together like one.
type piece struct {
	kind       kind
	text       string // the value, without quotes and punctuation around it
	key        string // of a pair
	start, end int    // where it is in the question, punctuation included
	literal    bool   // the value of the pair is quoted, or JSON
	colon      bool   // the pair is written with a colon
	used       bool   // a parameter has it
}

var (
	keyPattern    = regexp.MustCompile(`^([A-Za-z_][\w.-]*)(:=|=|:)`)
	numberPattern = regexp.MustCompile(`^[$€£]?([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)%?$`)
	sumPattern    = regexp.MustCompile(`^-?\d+(?:\.\d+)?(?:[-+*/x×,]\d+(?:\.\d+)?)+$`)
	digits        = regexp.MustCompile(`\d+(?:\.\d+)?`)
	urlPattern    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://\S+$`)
	emailPattern  = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s.]+$`)
	datePattern   = regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:T\S+)?$`)
	filePattern   = regexp.MustCompile(`^[\w-][\w .-]*\.[A-Za-z][A-Za-z0-9]{0,4}$`)
)

// pieces takes a question apart.
func pieces(s string) []*piece {
	var all []*piece
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			i += size
			continue
		}
		found := next(s, i)
		all = append(all, found...)
		i = found[len(found)-1].end
	}
	return all
}

// next reads what starts at i, which is no space. Only a sum such as 2+40 is
// more than one piece.
func next(s string, i int) []*piece {
	if text, end, ok := literal(s, i); ok {
		k := quoted
		if s[i] == '{' || s[i] == '[' {
			k = object
		}
		return []*piece{{kind: k, text: text, start: i, end: end}}
	}
	end := wordEnd(s, i)
	if m := keyPattern.FindStringSubmatch(s[i:end]); m != nil && !strings.HasPrefix(s[i+len(m[0]):], "//") {
		if p := readPair(s, i, m[1], m[2]); p != nil {
			return []*piece{p}
		}
	}
	raw := strings.Trim(s[i:end], `.,:;!?()<>"'`+"`“”")
	if raw != s[i:end] && strings.Trim(s[i:end], `.`) == "" {
		raw = s[i:end] // the folder . or ..
	}
	if sumPattern.MatchString(raw) && !datePattern.MatchString(raw) {
		return numbers(raw, i, end)
	}
	return []*piece{{kind: kindOf(raw), text: plainNumber(raw), start: i, end: end}}
}

func wordEnd(s string, i int) int {
	if n := strings.IndexFunc(s[i:], unicode.IsSpace); n >= 0 {
		return i + n
	}
	return len(s)
}

// numbers are the operands of a sum, or the members of a list: 2+40, 1,2,3.
func numbers(raw string, start, end int) []*piece {
	var all []*piece
	for i, at := range digits.FindAllStringIndex(raw, -1) {
		from := at[0]
		if i == 0 {
			from = 0 // with its sign
		}
		all = append(all, &piece{kind: number, text: raw[from:at[1]], start: start, end: end})
	}
	return all
}

// readPair reads the value behind a key. A colon at the end of a word is a pair
// if something follows it.
func readPair(s string, start int, key, sign string) *piece {
	i := start + len(key) + len(sign)
	p := &piece{kind: pair, key: key, start: start, colon: sign == ":"}
	if p.colon {
		i += len(s[i:]) - len(strings.TrimLeftFunc(s[i:], unicode.IsSpace))
	}
	if text, end, ok := literal(s, i); ok {
		p.text, p.end, p.literal = text, end, true
		return p
	}
	p.end = wordEnd(s, i)
	p.text = strings.TrimRight(s[i:p.end], ",;")
	if p.colon && p.text == "" {
		return nil
	}
	return p
}

// literal reads a quoted text, or a JSON object or list, that starts at i.
func literal(s string, i int) (text string, end int, ok bool) {
	if i >= len(s) {
		return "", 0, false
	}
	if s[i] == '{' || s[i] == '[' {
		end := balanced(s, i)
		return s[i:end], end, json.Valid([]byte(s[i:end]))
	}
	for _, q := range [...][2]string{{`"`, `"`}, {`'`, `'`}, {"`", "`"}, {"“", "”"}, {"«", "»"}} {
		if !strings.HasPrefix(s[i:], q[0]) {
			continue
		}
		from := i + len(q[0])
		if n := closing(s[from:], q[1]); n >= 0 {
			inner := s[from : from+n]
			if q[0] == `"` {
				inner = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n").Replace(inner)
			}
			return inner, from + n + len(q[1]), true
		}
	}
	return "", 0, false
}

// balanced finds the bracket that closes the one at i, and returns i where there
// is none.
func balanced(s string, i int) int {
	depth, inText := 0, false
	for j := i; j < len(s) && depth <= maxNesting; j++ {
		switch c := s[j]; {
		case inText && c == '\\':
			j++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return j + 1
			}
		}
	}
	return i
}

// closing finds the end of a quoted text: a quote that is not escaped, and not
// the apostrophe of a word.
func closing(s, quote string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && quote == `"` {
			i++
			continue
		}
		if !strings.HasPrefix(s[i:], quote) {
			continue
		}
		after, _ := utf8.DecodeRuneInString(s[i+len(quote):])
		if quote != "'" || !unicode.IsLetter(after) {
			return i
		}
	}
	return -1
}

func kindOf(raw string) kind {
	switch {
	case urlPattern.MatchString(raw):
		return url
	case emailPattern.MatchString(raw):
		return email
	case datePattern.MatchString(raw):
		return date
	case numberPattern.MatchString(raw):
		return number
	case isPath(raw):
		return path
	}
	return word
}

func isPath(raw string) bool {
	switch {
	case raw == "." || raw == "..":
		return true
	case strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "./") || strings.HasPrefix(raw, "../") || strings.HasPrefix(raw, "~/"):
		return true
	}
	return filePattern.MatchString(raw) || strings.ContainsAny(raw, `/\`) && len(raw) > 2
}

// plainNumber is a number without its currency, or the text as it is.
func plainNumber(raw string) string {
	if m := numberPattern.FindStringSubmatch(raw); m != nil {
		return strings.TrimPrefix(m[1], "+")
	}
	return raw
}
