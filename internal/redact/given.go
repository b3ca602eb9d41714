package redact

import "strings"

// A given parses the value of a setting with a sensitive name: a single value or a list. The text
// may be JSON within a string, in which quotation marks are written as \", and it may be cut off.
type given struct {
	text  string
	at    int  // current position
	named bool // the name is in quotation marks, as in JSON
	found found
}

// values calls found for each value, and reports whether found returned true for all of them.
func (g *given) values() bool {
	g.space()
	if !g.named || g.at == len(g.text) || g.text[g.at] != '[' {
		return g.value()
	}
	for more := true; more; {
		g.at++
		g.space()
		if !g.value() {
			return false
		}
		g.space()
		more = g.at < len(g.text) && g.text[g.at] == ','
	}
	return true
}

func (g *given) space() {
	g.at += len(g.text[g.at:]) - len(strings.TrimLeft(g.text[g.at:], " \t\r\n"))
}

func (g *given) value() bool {
	rest := g.text[g.at:]
	slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
	var start, end int
	switch {
	case slashes < len(rest) && rest[slashes] == '"':
		start = slashes + 1
		end = closing(rest, start, slashes)
	case rest != "" && rest[0] == '\'':
		start = 1
		if end = strings.IndexByte(rest[1:], '\'') + 1; end == 0 {
			end = len(rest)
		}
	default:
		return g.word(rest)
	}
	from, to := g.at+start, g.at+end
	g.at = min(to+slashes+1, len(g.text)) // after the closing quotation mark
	return from == to || g.found(from, to, kindAssigned)
}

// closing returns the end of a string. slashes is the number of backslashes before each of its two
// quotation marks.
func closing(text string, at, slashes int) int {
	run := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '\\':
			run++
			continue
		case '"':
			if run%(2*(slashes+1)) == slashes {
				return i - slashes
			}
		}
		run = 0
	}
	return len(text)
}

// word finds a value without quotation marks, which may follow a scheme such as "bearer ".
func (g *given) word(rest string) bool {
	const ends, long = " \t\r\n,;\"'&}]", 6
	for _, scheme := range []string{"bearer ", "basic ", "token ", "digest "} {
		if hasPrefix(rest, scheme) {
			rest = rest[len(scheme):]
			g.at += len(scheme)
			break
		}
	}
	end := strings.IndexAny(rest, ends)
	if end < 0 {
		end = len(rest)
	}
	from, to := g.at, g.at+end
	if g.at = to; end > 1 && (rest[end-1] == ':' || rest[end-1] == '=') {
		g.at-- // the value may be the name of another setting, as in YAML
	}
	if strings.Trim(rest[:end], "*&#") == "" { // it is hidden already
		return true
	}
	if end < long && !(g.named && end > 0 && (rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9')) {
		return true
	}
	return g.found(from, to, kindAssigned)
}
