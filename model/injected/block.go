package injected

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
)

// maxTries is how many ends of a block are tried; one may stand within a string.
const maxTries = 32

// What ends a call between tags, one whose parameters are tags, and one in a fence.
var (
	tagEnds     = regexp.MustCompile(`</?tool_call>|<tool_response|<\|`)
	functionEnd = regexp.MustCompile(`</function>`)
	fenceEnd    = regexp.MustCompile("```")
)

// block is what is held back because it may be calls.
type block struct {
	head     int // bytes before its body
	end      *regexp.Regexp
	tagged   bool   // the model said with a mark that it is a call
	function string // whose parameters are tags
	looked   int    // bytes in which no end is
	tries    int
}

func (p *scanner) hold(b block) {
	b.looked = b.head
	p.block, p.step = b, p.held
}

// held reads the block once its end has come.
func (p *scanner) held() bool {
	b := &p.block
	end, mark := len(p.buf), ""
	if at := b.end.FindIndex(p.buf[b.looked:]); at != nil && b.tries < maxTries {
		end, mark = b.looked+at[0], string(p.buf[b.looked+at[0]:b.looked+at[1]])
	} else if !p.ended && end <= maxHeld {
		b.looked = max(b.looked, end-markSize)
		return false
	}
	switch {
	case end > maxHeld:
		p.reject()
	case b.function != "":
		p.readFunction(end, mark)
	case !p.readCalls(end, mark):
		b.looked, b.tries = end+1, b.tries+1
	}
	return true
}

// reject makes text of what turned out to be no call.
func (p *scanner) reject() {
	p.step, p.code = p.plain, !p.block.tagged && p.block.function == ""
	if p.code {
		p.pass(3)
	} else {
		p.pass(1)
	}
}

var damagedName = regexp.MustCompile(`(?:name|function)["']?\s*:\s*["']?([\w.:/-]{1,128})`)

// readCalls reads the values of a block up to an end. It reports false if that is not
// the end, because it stands within a string.
func (p *scanner) readCalls(end int, mark string) bool {
	b := &p.block
	body := string(p.buf[b.head:end])
	cut := mark == "" && !p.complete
	v := p.tools.values(body, b.tagged, cut)
	if v.quoted && mark != "" {
		return false
	}
	switch name := damagedName.FindStringSubmatch(body[v.used:]); {
	case b.tagged && v.bad && cut:
		p.over = true
	case b.tagged && v.bad && name != nil && p.tools.find(name[1]) != nil:
		v.calls = append(v.calls, p.tools.malformed(name[1], string(p.buf[:end]), "the call is no JSON that can be read"))
		v.used = len(body)
	case len(v.calls) == 0, !b.tagged && v.used < len(body):
		p.reject()
		return true
	}
	p.step, p.buf = p.plain, p.buf[b.head+v.used:]
	if !b.tagged {
		p.buf = p.buf[len(mark):]
	}
	p.found(v.calls...)
	return true
}

// values are what a body holds.
type values struct {
	calls []*model.Call
	used  int // bytes of the body that are calls and what stands between them
	// bad is whether what follows cannot be read, quoted whether the body ends in a
	// string of it.
	bad, quoted bool
}

// between is what may stand between calls; one brace too many is common.
var between = regexp.MustCompile("^(?:[\\s,;}\\]]|</?tool_call>|<\\|python_tag\\|>|```(?:json)?)+")

// values reads the calls of a body, as far as all values are some. The last may lack brackets,
// unless the body was cut off.
func (b *toolbox) values(body string, tagged, cut bool) values {
	var v values
	for {
		v.used += len(between.FindString(body[v.used:]))
		if v.used == len(body) || body[v.used] != '{' && body[v.used] != '[' {
			return v
		}
		l := loose{src: body, pos: v.used}
		var calls []*model.Call
		if l.value() && !(l.open && cut) {
			calls = b.read(l.out, tagged)
		}
		v.quoted = l.quoted
		if v.bad = calls == nil; v.bad {
			return v
		}
		v.calls, v.used = append(v.calls, calls...), l.pos
	}
}

// readFunction reads a call whose parameters are tags, or one object.
func (p *scanner) readFunction(end int, mark string) {
	b := &p.block
	body := string(p.buf[b.head:end])
	if before, _, found := strings.Cut(body, "</tool_call>"); mark == "" && found {
		body, mark = before, "</tool_call>" // a missing end is forgiven in front of the one around it
		end = b.head + len(body)
	}
	arguments, whole := readLoose(body)
	if !strings.HasPrefix(strings.TrimSpace(body), "{") {
		arguments, whole = p.tools.parameters(b.function, body, mark != "")
	}
	held := string(p.buf[:end])
	p.step, p.buf = p.plain, p.buf[end+len(mark):]
	switch {
	case mark == "" && !p.complete:
		p.over = true // its end is half a call
	case !whole:
		p.found(p.tools.malformed(b.function, held, "the call breaks off"))
	default:
		p.found(p.tools.made(b.function, arguments))
	}
}

var parameterTag = regexp.MustCompile(`<parameter=["']?([^>"'<{]{1,128})["']?>`)

// parameters makes an object of the tags of a function's arguments. The end of a
// parameter can be missing; it reports false if that of the last one is, and the body
// is not closed.
func (b *toolbox) parameters(function, body string, closed bool) (json.RawMessage, bool) {
	properties := map[string]schema.View{}
	if t := b.find(function); t != nil && jsonrpc.Valid(t.Schema, jsonrpc.Limits{}) == nil {
		for p := range schema.Look(t.Schema).Properties() {
			properties[p.Name] = p.View
		}
	}
	w := jsonrpc.NewObject(nil)
	whole, seen := true, map[string]bool{}
	tags := parameterTag.FindAllStringSubmatchIndex(body, -1)
	for i, t := range tags {
		end := len(body)
		if i+1 < len(tags) {
			end = tags[i+1][0]
		}
		text, _, ends := strings.Cut(body[t[1]:end], "</parameter>")
		if name := strings.TrimSpace(body[t[2]:t[3]]); !seen[name] {
			seen[name] = true
			w.Raw(name, convert(text, properties[name]))
		}
		whole = ends || closed || i+1 < len(tags)
	}
	return w.Bytes(), whole
}

// convert returns the JSON of a value that was written as plain text, in the type
// that its schema wants.
func convert(text string, property schema.View) json.RawMessage {
	types := property.Types()
	plain := strings.TrimSpace(text)
	raw, ok := readLoose(plain)
	if len(types) == 0 {
		ok = property.Raw() == nil && jsonrpc.Valid([]byte(plain), jsonrpc.Limits{}) == nil
	}
	if ok && (!slices.Contains(types, "string") || plain == "null" && slices.Contains(types, "null")) {
		return raw
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
	return jsonrpc.AppendString(nil, strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"))
}
