package injected

import "strings"

// maxTag is how many bytes a tag has at most.
const maxTag = 512

// tag is a tag of XML, as models write it.
type tag struct {
	size    int // in bytes; 0 if there is no tag
	closing bool
	// value is what stands behind the name, as in <function=add>, or the value of
	// the attribute that is called name.
	value string
}

// tag looks whether one of the tags stands here. It waits only while that is open.
func (p *parser) tag(names []string) tag {
	if p.at(0) != '<' {
		return tag{}
	}
	i := 1
	closing := p.at(1) == '/'
	if closing {
		i++
	}
	for _, prefix := range tagPrefixes {
		if !p.has(i, prefix) {
			continue
		}
		for _, name := range names {
			if !p.has(i+len(prefix), name) {
				continue
			}
			if t := p.tagEnd(i + len(prefix) + len(name)); t.size > 0 {
				t.closing = closing
				return t
			}
		}
	}
	return tag{}
}

// tagEnd reads the rest of a tag behind its name.
func (p *parser) tagEnd(i int) tag {
	if c := p.at(i); c != '>' && c != '=' && !isBlank(c) {
		return tag{}
	}
	for n := i; n < i+maxTag; n++ {
		switch p.at(n) {
		case none, '<', '{':
			return tag{}
		case '>':
			return tag{size: n + 1, value: attribute(string(p.buf[p.pos+i : p.pos+n]))}
		}
	}
	return tag{}
}

// attribute finds the name in what stands behind the name of a tag.
func attribute(rest string) string {
	value, ok := strings.CutPrefix(rest, "=")
	if !ok {
		_, value, ok = strings.Cut(rest, "name=")
		if !ok {
			return ""
		}
	}
	value = strings.TrimSpace(value)
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value, _, _ = strings.Cut(value[1:], value[:1])
		return value
	}
	value, _, _ = strings.Cut(value, " ")
	return value
}

// atFunction reports whether a call begins here that is written as a tag.
func (p *parser) atFunction() bool {
	t := p.tag(functionTag)
	return t.size > 0 && !t.closing && t.value != ""
}

// parameter is one argument of a call that was not written as an object.
type parameter struct {
	name string // "" where only the position says which
	text string
	json bool // text is JSON already
}

// function reads a call that is written as a tag, with its values in tags or
// with one object inside.
func (p *parser) function() bool {
	t := p.tag(functionTag)
	name := t.value
	p.pos += t.size
	if p.known && p.tools.find(name) == nil {
		return false
	}
	p.skipBlank()
	if p.at(0) == '{' {
		ok := p.arguments(name)
		p.skipBlank()
		p.closeFunction()
		return ok
	}
	values, whole := p.values()
	switch {
	case whole:
		p.found(p.tools.assembled(name, values))
	case p.complete || p.long:
		p.found(p.tools.malformed(name, p.held(), "the call breaks off"))
	default:
		p.drop()
		p.over = true
	}
	return true
}

func (p *parser) closeFunction() bool {
	t := p.tag(functionTag)
	if t.size == 0 || !t.closing {
		return false
	}
	p.pos += t.size
	p.mark = p.pos
	return true
}

// values reads the tags of values until the function ends. It reports false if
// the text ends before that, in the middle of one or with more to come.
func (p *parser) values() ([]parameter, bool) {
	var values []parameter
	for {
		p.skipBlank()
		if p.closeFunction() {
			return values, true
		}
		t := p.tag(valueTag)
		if t.size == 0 || t.closing || t.value == "" {
			return values, !p.long && (!p.atEnd() || p.complete)
		}
		p.pos += t.size
		text, closed := p.value()
		values = append(values, parameter{name: t.value, text: text})
		if !closed {
			return values, false
		}
	}
}

// value reads the text of a value up to its end tag, or up to the next tag
// where that is missing.
func (p *parser) value() (text string, closed bool) {
	from := p.pos - p.mark
	for c := p.at(0); c != none; c = p.at(0) {
		if c == '<' {
			text = string(p.buf[p.mark+from : p.pos])
			if t := p.tag(valueTag); t.closing {
				p.pos += t.size
				return text, true
			} else if t.size > 0 && t.value != "" {
				return text, true
			}
			if t := p.tag(functionTag); t.closing {
				return text, true
			}
		}
		p.pos++
	}
	return string(p.buf[p.mark+from : p.pos]), false
}

// pairs reads the arguments of a call as pairs of tags, behind its name.
func (p *parser) pairs(name string) bool {
	var values []parameter
	for p.skipBlank(); p.skip("<arg_key>"); p.skipBlank() {
		key, _ := p.until("</arg_key>")
		if !p.skip("</arg_key>") {
			break
		}
		p.skipBlank()
		p.skip("<arg_value>")
		value, ok := p.until("</arg_value>", "<arg_key>", "</tool_call>")
		if !ok {
			p.drop()
			p.over = p.atEnd()
			return p.over
		}
		p.skip("</arg_value>")
		values = append(values, parameter{name: strings.TrimSpace(key), text: value})
	}
	p.found(p.tools.assembled(name, values))
	return true
}
