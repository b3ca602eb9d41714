package injected

import (
	"strings"

	"github.com/junction-mcp/junction/model"
)

// pythonList reads calls as Python writes them in a list: [f(a=1), g()]. They
// are calls only if every one is of a tool that exists.
func (p *parser) pythonList() bool {
	p.pos++
	var calls []*model.Call
	for {
		p.skipBlank()
		switch {
		case p.at(0) == ',':
			p.pos++
			continue
		case p.at(0) == ']' && len(calls) > 0:
			p.pos++
			return p.emitCalls(calls)
		}
		name := p.word(0)
		if !p.isPythonCall(0) || len(calls) > maxCalls {
			return false
		}
		p.pos += len(name) + 1
		values, ok := p.pythonArguments()
		if !ok {
			return p.damagedPython()
		}
		calls = append(calls, p.tools.assembled(name, values))
	}
}

// isPythonCall reports whether a call of a tool that exists begins i bytes from here.
func (p *parser) isPythonCall(i int) bool {
	name := p.word(i)
	return p.at(i+len(name)) == '(' && p.tools.find(name) != nil
}

// pythonCall reads one call: f(a=1), or print(f(a=1)).
func (p *parser) pythonCall(name string) bool {
	if name == "print" && p.isPythonCall(len("print(")) {
		p.pos += len("print(")
		if !p.pythonCall(p.word(0)) {
			return false
		}
		p.skip(")")
		return true
	}
	if p.tools.find(name) == nil {
		return false
	}
	p.pos += len(name) + 1
	values, ok := p.pythonArguments()
	if !ok {
		return p.damagedPython()
	}
	p.found(p.tools.assembled(name, values))
	return true
}

// damagedPython drops a call that was cut off; any other is text.
func (p *parser) damagedPython() bool {
	if !p.atEnd() || p.complete {
		return false
	}
	p.drop()
	p.over = true
	return true
}

// pythonArguments reads what stands between the parentheses, and the closing one.
func (p *parser) pythonArguments() ([]parameter, bool) {
	var values []parameter
	for {
		l := loose{source: &p.source}
		l.skipCommas()
		if p.skip(")") {
			return values, true
		}
		name := ""
		if isLetter(p.at(0)) {
			word := p.word(0)
			if n := len(word) + p.blank(len(word)); p.at(n) == '=' {
				name = word
				p.pos += n + 1
			}
		}
		if !l.value() || l.open || l.patched {
			return nil, false
		}
		values = append(values, parameter{name: strings.TrimSpace(name), text: string(l.out), json: true})
	}
}
