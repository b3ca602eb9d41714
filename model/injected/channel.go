package injected

import "strings"

// maxHeader is how many bytes a header of a message has, between its marks.
const maxHeader = 256

// controls are tokens of chat templates, which end up in the text of a server that
// does not know them.
var controls = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end|>", "<|return|>", "<|call|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>",
}

// control drops such a token, and the end mark of a call that is over.
func (p *parser) control() bool {
	if !p.skipAny(controls) && (p.calls == 0 || !p.skipAny(closers)) {
		return false
	}
	p.mark = p.pos
	return true
}

// harmony reads a message of OpenAI's open models: a header that names the
// channel and, for a call, the tool; then the text.
func (p *parser) harmony() bool {
	if !p.has(0, "<|channel|>") && !p.has(0, "<|start|>") {
		return false
	}
	header, size := p.header()
	if size == 0 {
		return false
	}
	if p.calls > 0 && strings.Contains(header, "to=assistant") {
		p.over = true
		return true
	}
	p.pos += size
	if _, rest, ok := strings.Cut(header, "to="); ok {
		if name := strings.FieldsFunc(rest, func(r rune) bool { return !isWord(int(r)) }); len(name) > 0 {
			return p.channelCall(name[0])
		}
	}
	p.split()
	if strings.Contains(header, "analysis") {
		p.think("<|end|>", "<|start|>", "<|channel|>", "<|return|>")
	}
	return true
}

// header returns what stands before the text of a message, and its length with
// the marks; 0 if there is no end of it.
func (p *parser) header() (string, int) {
	for n := len("<|start|>"); n < maxHeader; n++ {
		switch {
		case p.at(n) == none:
			return "", 0
		case p.at(n) == '<' && p.has(n, "<|message|>"):
			return string(p.buf[p.pos : p.pos+n]), n + len("<|message|>")
		}
	}
	return "", 0
}

func (p *parser) channelCall(name string) bool {
	p.skipBlank()
	if !p.arguments(name) {
		p.pass()
	}
	p.skipBlank()
	if p.calls > 0 && p.skip("<|call|>") {
		p.drop()
	}
	return true
}

// results are what begins a result. A model that writes one itself, behind its
// call, has made it up, and all that follows from it.
var results = []string{
	"<tool_response", "<tool_result", "<tool_output", "<function_response", "<function_result", "<function_output", "<observation", "<|observation|>",
	"<|tool_response|>", "<tool▁output", "<｜tool▁output", "<|tool▁output", "[TOOL_RESULTS]", "<|im_start|>", "<|start_header_id|>",
	"Observation:", "Tool result", "Tool response", "Tool output", "Function result", "Function output",
	"```tool_output", "```tool_response", "```tool_result", "```output",
}

// pretendsResult reports whether what stands here pretends to be a result.
func (p *parser) pretendsResult() bool {
	c := p.at(0)
	return (c == '<' || c == '[' || p.lineHead) && p.hasAny(0, results)
}
