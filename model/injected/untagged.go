package injected

import (
	"slices"
	"strings"
)

// maxPassed is how many bytes of data that is no call are passed on at a time.
const maxPassed = 4 << 10

// untagged reads JSON at the beginning of a line, and Python's lists of calls,
// which some models write without any mark. It is a call only if it is one of a
// tool that exists, with arguments; all else stays text.
func (p *parser) untagged() bool {
	inner := 0
	if p.at(0) == '[' {
		inner = 1 + p.blank(1)
	}
	switch {
	case p.at(inner) == '{' && p.callKey(inner+1):
		if !p.json(false) {
			p.pass()
		}
		return true
	case inner > 0 && p.isPythonCall(inner):
		if !p.pythonList() {
			p.pass()
		}
		return true
	}
	return p.data()
}

// firstKeys are the names with which an object can begin that is a call.
var firstKeys = []string{
	"name", "tool", "tool_name", "function", "function_name", "type", "id", "tool_calls",
	"arguments", "parameters", "args", "input", "action", "recipient_name",
}

// callKey reports whether the first name of an object, i bytes from here, is one
// that a call can have. It looks no further than the name.
func (p *parser) callKey(i int) bool {
	i += p.blank(i)
	if c := p.at(i); c == '"' || c == '\'' {
		i++
	}
	n := 0
	for n < 32 && isLetter(p.at(i+n)) {
		n++
	}
	return slices.Contains(firstKeys, string(p.buf[p.pos+i:p.pos+i+n]))
}

// data passes on JSON that is no call, to its end, so that nothing inside it is
// taken for one. It reports false if what stands here does not look like JSON.
func (p *parser) data() bool {
	i := 1 + p.blank(1)
	if c := p.at(i); c != '"' && c != '{' && c != '[' && !isDigit(c) && c != '}' {
		return false
	}
	depth, quoted := 0, false
	for {
		c := p.at(0)
		switch {
		case c == none || !quoted && (c == '<' || c == '`'):
			p.pass()
			return true
		case quoted && c == '\\' && p.at(1) != none:
			p.pos++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			depth++
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
		p.pos++
		p.passData(depth == 0)
		if depth == 0 {
			return true
		}
	}
}

// passData passes on what is held back, unless a character is incomplete.
func (p *parser) passData(all bool) {
	held := p.buf[p.mark:p.pos]
	if all || (p.pos == len(p.buf) || len(held) >= maxPassed) && partialRune(held) == 0 {
		p.pass()
	}
}

// ticks reads what backticks begin: calls in a code fence, or code, in which
// nothing is a call.
func (p *parser) ticks() bool {
	if !p.lineHead || !p.has(0, "```") {
		return p.inlineCode()
	}
	n := 3
	for n < 40 && (isWord(p.at(n)) || p.at(n) == ' ' || p.at(n) == '|') {
		n++
	}
	info := strings.ToLower(strings.TrimSpace(string(p.buf[p.pos+3 : p.pos+n])))
	p.pos += n
	switch info {
	case "tool_call", "tool_calls", "function_call", "tool_code", "tool_use", "tool", "tool_request":
		if p.fencedCalls(true) {
			return true
		}
	case "json", "json5", "jsonl", "javascript", "xml", "text", "plaintext", "":
		if p.fencedCalls(false) {
			return true
		}
	}
	p.pass()
	p.code()
	return true
}

// fencedCalls reads the calls in a code fence, whose first line has been read.
// It reports false, and has read no more than is text then, if there are none.
func (p *parser) fencedCalls(tagged bool) bool {
	before := p.calls
	p.known = true
	defer func() { p.known = false }()
	for !p.over {
		p.skipBlank()
		switch c := p.at(0); {
		case p.calls > before && p.skip("```"):
			p.drop()
			return true
		case p.calls > before && (c == ',' || c == ';'):
			p.pos++
			continue
		}
		if !p.fencedCall(tagged) {
			break
		}
	}
	return p.calls > before
}

func (p *parser) fencedCall(tagged bool) bool {
	switch c := p.at(0); {
	case c == '{':
		return (tagged || p.callKey(1)) && p.json(tagged)
	case c == '[':
		i := 1 + p.blank(1)
		if p.at(i) == '{' {
			return (tagged || p.callKey(i+1)) && p.json(tagged)
		}
		return p.isPythonCall(i) && p.pythonList()
	case c == '<':
		before := p.calls
		return p.region() && p.calls > before
	case tagged && isLetter(c):
		return p.namedCall()
	}
	return false
}

// code passes on the rest of a code fence.
func (p *parser) code() {
	for c := p.at(0); c != none; c = p.at(0) {
		if p.lineHead && c == '`' && p.skip("```") {
			p.pass()
			return
		}
		p.plain()
	}
}

// inlineCode passes on code between backticks on one line.
func (p *parser) inlineCode() bool {
	for n := 1; n < 200; n++ {
		switch p.at(n) {
		case none, '\n':
			return false
		case '`':
			p.pos += n + 1
			p.pass()
			return true
		}
	}
	return false
}
