package redact

import "strings"

// A given reads the value of a setting whose name is that of a secret: one value, or a list. The
// text may be JSON inside strings, where \" is a quotation mark, and may be cut off.
type given struct {
	text  string
	at    int  // current position
	named bool // the name is in quotes, as in JSON
	found found
}

// values calls found with the values and reports whether it always returned true.
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
	g.at = min(to+slashes+1, len(g.text)) // after the quotation mark
	return from == to || g.found(from, to, kindAssigned)
}

// closing returns the end of the string whose quotation marks are preceded by that many
// backslashes.
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

// word reads a value without quotation marks, after an optional scheme.
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
		g.at-- // it may be the name of another setting, as in YAML
	}
	if strings.Trim(rest[:end], "*&#") == "" { // hidden already
		return true
	}
	if end < long && !(g.named && end > 0 && (rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9')) {
		return true
	}
	return g.found(from, to, kindAssigned)
}
