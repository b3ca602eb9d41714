package injected

import (
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// What models write around calls. The tags are those of Hermes and Qwen, of
// Anthropic and those who imitate it, and whatever else ends up in them.
var (
	tagPrefixes = []string{"antml:", "minimax:", "｜DSML｜", "|DSML|", ""}
	groupTags   = []string{"tool_calls", "tool_call", "function_calls", "function_call", "toolcall", "tool_use", "tools_call"}
	functionTag = []string{"function", "invoke"}
	valueTag    = []string{"parameter", "param"}

	openers = []string{
		"[TOOL_CALLS]", "<|python_tag|>", "<|tool_calls|>", "<|tool_call|>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_calls_begin|>",
		"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<|tool▁calls▁begin|>", "<|tool▁call▁begin|>",
	}
	separators = []string{"<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool▁sep|>", "<|tool_sep|>", "[ARGS]"}
	closers    = []string{
		"<|/tool_call|>", "<|/tool_calls|>", "<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_calls_end|>",
		"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|tool▁call▁end|>", "<|tool▁calls▁end|>", "[/TOOL_CALLS]",
	}
)

// region reads what stands between the marks of calls. A region ends where
// something else than marks and calls begins, whether it was closed or not.
func (p *parser) region() bool {
	open := p.opener()
	if !open {
		if !p.atFunction() {
			return false
		}
	}
	before := p.calls
	for !p.over {
		if p.noise(&open) {
			if p.calls > before {
				p.mark = p.pos
			}
			continue
		}
		if !(open && p.oneCall() || p.atFunction() && p.function()) {
			break
		}
	}
	switch {
	case p.calls > before:
	case p.cutOff():
		p.drop()
		p.over = true
	default:
		p.pass()
	}
	return true
}

// opener goes behind a mark that begins calls.
func (p *parser) opener() bool {
	if t := p.tag(groupTags); t.size > 0 && !t.closing {
		p.pos += t.size
		return true
	}
	return p.skipAny(openers)
}

func (p *parser) skipAny(marks []string) bool {
	for _, mark := range marks {
		if p.skip(mark) {
			return true
		}
	}
	return false
}

// noise goes behind what can stand between calls.
func (p *parser) noise(open *bool) bool {
	if isBlank(p.at(0)) {
		p.skipBlank()
		return true
	}
	if t := p.tag(groupTags); t.size > 0 {
		p.pos += t.size
		*open = !t.closing
		return true
	}
	switch {
	case p.skipAny(openers):
		*open = true
		return true
	case p.skipAny(closers) || p.skipAny(controls):
		*open = false
		return true
	}
	if !*open {
		return false
	}
	if c := p.at(0); c == ',' || c == ';' || c == '}' || c == ']' {
		p.pos++ // one brace too many is common
		return true
	}
	return p.fenceInside()
}

// fenceInside goes behind the line of a code fence.
func (p *parser) fenceInside() bool {
	if !p.skip("```") {
		return false
	}
	for isLetter(p.at(0)) {
		p.pos++
	}
	return true
}

// oneCall reads the next call, or the next list of calls, between marks.
func (p *parser) oneCall() bool {
	switch c := p.at(0); {
	case c == '[' && isLetter(p.at(1+p.blank(1))):
		return p.pythonList()
	case c == '{' || c == '[':
		return p.json(true)
	case isLetter(c):
		return p.namedCall()
	}
	return false
}

// json reads a value that should be a call, or a list of them. It reports false
// where it is none; then what was read is text. Tagged is whether the model
// said with a mark that it is a call.
func (p *parser) json(tagged bool) bool {
	l := loose{source: &p.source}
	ok := l.value()
	if ok && (!l.open || p.closesItself(&l)) && (tagged || !l.patched) {
		return p.emitCalls(p.tools.read(l.out, tagged && !p.known))
	}
	return p.damaged(l.open, tagged)
}

// closesItself reports whether a value in which only brackets are missing, at
// the end of the text, is as the model wanted it.
func (p *parser) closesItself(l *loose) bool { return p.atEnd() && p.complete && !l.torn }

// atEnd reports whether the text is over; it is not where too much is held back.
func (p *parser) atEnd() bool { return p.missed && !p.long }

func (p *parser) emitCalls(calls []*model.Call) bool {
	for _, c := range calls {
		p.found(c)
		if p.over {
			break
		}
	}
	return len(calls) > 0
}

var damagedName = regexp.MustCompile(`(?:name|tool|function)["']?\s*[:=]\s*["']?([\w.:/-]{1,128})`)

// damaged says what becomes of a call that cannot be read: one that was cut off is
// dropped, and one that the model finished is reported as malformed.
func (p *parser) damaged(cut, tagged bool) bool {
	if cut && p.atEnd() && !p.complete {
		if tagged || p.names(p.held()) != "" {
			p.drop()
			p.over = true
			return true
		}
		return false
	}
	if !tagged {
		return false
	}
	p.skipDamage(cut)
	name := p.names(p.held())
	if name == "" {
		return false
	}
	why := "the call is no JSON that can be read"
	if cut {
		why = "the call breaks off"
	}
	p.found(p.tools.malformed(name, p.held(), why))
	return true
}

// skipDamage goes to the next mark, or to the end if the text was cut off.
func (p *parser) skipDamage(cut bool) {
	if cut && p.ended {
		p.pos = len(p.buf)
		return
	}
	p.until("</", "<|", "<｜", "<tool_call>", "[TOOL_CALLS]")
}

// names returns the name of the tool that exists and that a damaged call seems
// to want; "" if there is none.
func (p *parser) names(text string) string {
	match := damagedName.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	if t := p.tools.find(match[1]); t != nil {
		return t.name
	}
	return ""
}

// namedCall reads a call whose name stands before its arguments: with a
// separator, in Python's way, or as tags of names and values.
func (p *parser) namedCall() bool {
	name := p.word(0)
	n := len(name) + p.blank(len(name))
	if p.at(len(name)) == '(' {
		return p.pythonCall(name)
	}
	separated := p.hasAny(n, separators)
	if !separated && !p.has(n, "<arg_key>") && (p.at(n) != '{' || p.tools.find(name) == nil) {
		return p.emptyCall(name, n)
	}
	p.pos += n
	if p.has(0, "<arg_key>") {
		return p.pairs(name)
	}
	if p.skipAny(separators) && p.at(0) != '{' && name == "function" {
		name = p.word(0)
		p.pos += len(name)
	}
	for isBlank(p.at(0)) || p.has(0, "```") {
		p.skipBlank()
		p.fenceInside()
	}
	return p.arguments(name)
}

func (p *parser) hasAny(i int, marks []string) bool {
	for _, mark := range marks {
		if p.has(i, mark) {
			return true
		}
	}
	return false
}

// emptyCall reads a name alone, which is a call without arguments.
func (p *parser) emptyCall(name string, size int) bool {
	end := p.at(size)
	if p.tools.find(name) == nil || end != '<' && (end != none || !p.complete) {
		return false
	}
	p.pos += size
	p.found(p.tools.made(name, nil))
	return true
}

// arguments reads the object behind a name.
func (p *parser) arguments(name string) bool {
	if p.known && p.tools.find(name) == nil || name == "" {
		return false
	}
	l := loose{source: &p.source}
	switch ok := l.value(); {
	case ok && (!l.open || p.closesItself(&l)):
		p.found(p.tools.made(name, l.out))
	case l.open && p.atEnd() && !p.complete:
		p.drop()
		p.over = true
	default:
		p.long = false
		p.skipDamage(l.open)
		p.found(p.tools.malformed(name, strings.TrimSpace(p.held()), "the arguments are no JSON that can be read"))
	}
	return true
}
