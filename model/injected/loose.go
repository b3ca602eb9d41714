package injected

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// maxNesting is the maximum nesting of arrays and objects in a call.
const maxNesting = 64

// loose parses text that resembles JSON and writes valid JSON. It accepts single and typographic
// quotes, quotes inside strings, names without quotes, superfluous and missing commas, missing
// brackets, comments, raw line breaks, and Python's literals. It examines every byte a bounded
// number of times and never goes back.
type loose struct {
	src   string
	pos   int
	out   []byte
	depth int
	// open reports that the text ended inside the value, and quoted that it ended inside a string.
	// A value that lacks only its brackets is still accepted.
	open, quoted bool
}

// readLoose parses all of text as one value.
func readLoose(text string) (json.RawMessage, bool) {
	l := loose{src: text}
	ok := l.value()
	l.skip()
	return l.out, ok && !l.open && l.pos == len(text) && jsonrpc.Valid(l.out, jsonrpc.Limits{}) == nil
}

// at returns the byte at offset i from the current position, or 0 after the end.
func (l *loose) at(i int) byte {
	if l.pos+i < len(l.src) {
		return l.src[l.pos+i]
	}
	return 0
}

// atEnd reports whether the text has ended, and if so marks the value as open.
func (l *loose) atEnd() bool {
	l.open = l.open || l.pos >= len(l.src)
	return l.open
}

// blank matches white space and comments.
var blank = lazy.Regexp(`^(?:[ \t\r\n]+|//[^\n]*|#[^\n]*|/\*(?s:.*?)(?:\*/|$))+`)

func (l *loose) skip() { l.pos += len(blank().FindString(l.src[l.pos:])) }

// value parses one value. It returns false if there is none, or if its end cannot be determined.
func (l *loose) value() bool {
	l.skip()
	switch c := l.at(0); {
	case l.atEnd():
		return false
	case c == '{':
		return l.container('}', l.member)
	case c == '[':
		return l.container(']', l.value)
	case l.quote() != "":
		return l.text()
	}
	word := l.word()
	word = cmp.Or(literals[word], word)
	l.out = append(l.out, word...)
	return (l.depth == 0 || !l.atEnd()) && jsonrpc.Valid([]byte(word), jsonrpc.Limits{}) == nil
}

// container parses an array or an object; element parses one element.
func (l *loose) container(end byte, element func() bool) bool {
	if l.depth++; l.depth > maxNesting {
		return false
	}
	l.out = append(l.out, l.at(0))
	l.pos++
	for first := true; ; first = false {
		for l.skip(); l.at(0) == ','; l.skip() {
			l.pos++
		}
		c := l.at(0)
		if c == end {
			l.pos++
		}
		if c == end || c == '}' || c == ']' || l.atEnd() { // a missing bracket is added
			l.depth--
			l.out = append(l.out, end)
			return true
		}
		if !first {
			l.out = append(l.out, ',')
		}
		if !element() {
			return false
		}
	}
}

func (l *loose) member() bool {
	if l.quote() != "" {
		if !l.text() {
			return false
		}
	} else {
		name := l.word()
		if name == "" {
			return false
		}
		l.out = jsonrpc.AppendString(l.out, name)
	}
	l.skip()
	if l.atEnd() || l.at(0) != ':' {
		return false
	}
	l.pos++
	l.out = append(l.out, ':')
	return l.value()
}

// bareWord matches a name or a value without quotes.
var bareWord = lazy.Regexp(`^[\w.+\-\x{80}-\x{10ffff}]{1,256}`)

func (l *loose) word() string {
	word := bareWord().FindString(l.src[l.pos:])
	l.pos += len(word)
	return word
}

var literals = map[string]string{"True": "true", "False": "false", "None": "null"}

// closing maps an opening quotation mark to the marks that can close it.
var closing = map[string]string{`"`: `"`, `'`: `'`, "“": "“”\"", "”": "“”\"", "‘": "‘’'", "’": "‘’'"}

// quote returns the quotation mark at this position, or "".
func (l *loose) quote() string {
	size := 1
	if l.at(0) >= 0x80 {
		size = len("“")
	}
	if mark := l.src[l.pos:min(l.pos+size, len(l.src))]; closing[mark] != "" {
		return mark
	}
	return ""
}

// text parses a string. A quotation mark ends the string only if the text after it can follow a
// string, because many models forget to escape quotation marks.
func (l *loose) text() bool {
	opened := l.quote()
	l.pos += len(opened)
	b := []byte{'"'}
	for !l.atEnd() {
		c := l.at(0)
		mark := l.quote()
		switch {
		case c == '\\':
			b = l.escape(b)
			continue
		case mark != "" && strings.Contains(closing[opened], mark) && l.over(len(mark)):
			l.pos += len(mark)
			var text string
			if json.Unmarshal(append(b, '"'), &text) != nil {
				return false
			}
			l.out = jsonrpc.AppendString(l.out, text)
			return true
		case c == '"':
			b = append(b, `\"`...)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
		l.pos++
	}
	l.quoted = true
	return false
}

// afterString matches text that can follow a string: a separator, a comment, the end of the text,
// or the next string on another line.
var afterString = lazy.Regexp(`^(?:[ \t\r\n]*(?:$|[,:}\]#]|//|/\*)|[ \t\r]*\n[ \t\r\n]*["'“”‘’])`)

// over reports whether a string can end after n more bytes.
func (l *loose) over(n int) bool {
	rest := l.src[l.pos+n:]
	return afterString().MatchString(rest[:min(len(rest), 256)])
}

var escape = lazy.Regexp(`^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})`)

// escape copies an escape sequence. A backslash that begins no valid sequence, as in a regular
// expression, is doubled.
func (l *loose) escape(b []byte) []byte {
	if e := escape().FindString(l.src[l.pos:]); e != "" {
		l.pos += len(e)
		return append(b, e...)
	}
	l.pos++
	if c := l.at(0); c == '\n' || c == '\'' {
		l.pos++
		return append(b, strings.Trim(string(c), "\n")...)
	}
	return append(b, `\\`...)
}

// isObject reports whether valid JSON is an object.
func isObject(raw []byte) bool { return bytes.HasPrefix(raw, []byte{'{'}) }

// maxTries is the number of possible ends of a block that are tried, because an end may be inside a
// string.
const maxTries = 32

// Ends of a call between tags, of a call with parameters as tags, and of a call in a code fence.
var (
	tagEnds     = lazy.Regexp(`</?tool_call>|<tool_response|<\|`)
	functionEnd = lazy.Regexp(`</function>`)
	fenceEnd    = lazy.Regexp("```")
)

// A block is held text that may consist of calls.
type block struct {
	head     int // bytes before its body
	end      *regexp.Regexp
	tagged   bool   // the model marked the block as a call
	function string // name of the function, if its parameters are tags
	looked   int    // number of bytes that contain no end
	tries    int
}

func (p *scanner) hold(b block) {
	b.looked = b.head
	p.block, p.step = b, p.held
}

// held parses the block when it is complete. It returns false if it needs more input.
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

// reject passes a block on as text, because it is not a call.
func (p *scanner) reject() {
	p.step, p.code = p.plain, !p.block.tagged && p.block.function == ""
	if p.code {
		p.pass(3)
	} else {
		p.pass(1)
	}
}

var damagedName = lazy.Regexp(`(?:name|function)["']?\s*:\s*["']?([\w.:/-]{1,128})`)

// readCalls parses the values of a block up to end. It returns false if end is inside a string.
func (p *scanner) readCalls(end int, mark string) bool {
	b := &p.block
	body := string(p.buf[b.head:end])
	cut := mark == "" && !p.complete
	v := p.tools.values(body, b.tagged, cut)
	if v.quoted && mark != "" {
		return false
	}
	switch name := damagedName().FindStringSubmatch(body[v.used:]); {
	case b.tagged && v.bad && cut:
		p.over = true
	case b.tagged && v.bad && name != nil && p.tools.find(name[1]) != nil:
		v.calls = append(v.calls, p.tools.malformed(name[1], string(p.buf[:end]), "the call is not valid JSON"))
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

// values is the result of parsing the body of a block.
type values struct {
	calls []*model.Call
	used  int // number of bytes that are calls or text between them
	// bad reports that the text after the calls cannot be parsed, and quoted that the body ends
	// inside a string of that text.
	bad, quoted bool
}

// between matches text that may be between calls; a superfluous brace is common.
var between = lazy.Regexp("^(?:[\\s,;}\\]]|</?tool_call>|<\\|python_tag\\|>|```(?:json)?)+")

// values parses the calls of a body up to the first value that is not a call. The last call may
// lack brackets, unless the body was cut off.
func (b *toolbox) values(body string, tagged, cut bool) values {
	var v values
	for {
		v.used += len(between().FindString(body[v.used:]))
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

// readFunction parses a call whose parameters are tags or one object.
func (p *scanner) readFunction(end int, mark string) {
	b := &p.block
	body := string(p.buf[b.head:end])
	if before, _, found := strings.Cut(body, "</tool_call>"); mark == "" && found {
		body, mark = before, "</tool_call>" // accept a missing end tag if the enclosing tag ends
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
		p.over = true // the text ended inside the call
	case !whole:
		p.found(p.tools.malformed(b.function, held, "the call breaks off"))
	default:
		p.found(p.tools.made(b.function, arguments))
	}
}

var parameterTag = lazy.Regexp(`<parameter=["']?([^>"'<{]{1,128})["']?>`)

// parameters returns an object with the values of the parameter tags. A parameter may lack its end
// tag. The result is false if the last parameter lacks it and the body is not closed.
func (b *toolbox) parameters(function, body string, closed bool) (json.RawMessage, bool) {
	properties := map[string]schema.View{}
	if t := b.find(function); t != nil && jsonrpc.Valid(t.Schema, jsonrpc.Limits{}) == nil {
		for p := range schema.Look(t.Schema).Properties() {
			properties[p.Name] = p.View
		}
	}
	w := jsonrpc.NewObject(nil)
	whole, seen := true, map[string]bool{}
	tags := parameterTag().FindAllStringSubmatchIndex(body, -1)
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

// convert returns a plain-text value as JSON of the type in its schema.
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

const (
	// maxCalls is the maximum number of calls in one answer; the answer is cut off after them.
	maxCalls = 128
	// maxHeld is the maximum number of bytes that are held while it is unclear whether they are a
	// call. Longer blocks become text.
	maxHeld = 1 << 20
	// maxHead is the number of bytes that suffice to detect the beginning of a call.
	maxHead = 256
	// markSize is the length of the longest mark in bytes.
	markSize = len("<tool_response")
)

// marks matches the marks in text. They are the begin and end of a call, of a result that the model
// invents, and of thoughts.
var marks = lazy.Regexp("</?tool_call>|<tool_response|<\\|python_tag\\|>|<\\|eo[mt]_id\\|>|<function=|</function>|</?think(?:ing)?>|```")

// A scanner finds the calls in the text of a model while it is generated. It holds text that may be
// a call until that is decided. So the result does not depend on how the text was split. The caller
// must close it.
type scanner struct {
	tools *toolbox
	emit  func(model.Delta)
	mute  bool // calls are not wanted

	parts    []model.Part    // the parts found so far
	said     strings.Builder // pending text or reasoning, which is not a part yet
	thinking bool            // said holds reasoning
	code     bool            // inside a code block
	fed      strings.Builder // complete input so far
	in       wire.Joined     // joins split characters
	buf      []byte          // held text
	step     func() bool     // current state; returns false if it needs more input
	block    block
	space    []byte // white space that becomes text only if more text follows
	begun    bool   // the current text has more than white space
	last     byte   // last byte before this position
	lineHead bool   // only white space before this position on the line
	behind   bool   // only white space since the last call
	calls    int
	ended    bool // there is no more input
	complete bool // the model finished its answer
	over     bool // further input is dropped
}

// start begins an answer. It is called again if the request is repeated.
func (p *scanner) start() {
	*p = scanner{tools: p.tools, emit: p.emit, mute: p.mute, lineHead: true}
	p.step = p.plain
}

// write processes the next piece of the text.
func (p *scanner) write(text string) {
	p.fed.WriteString(text)
	p.buf = append(p.buf, p.in.Add(text)...)
	p.run()
}

// close processes the held text. complete reports that the model finished its answer; otherwise an
// unfinished call is dropped.
func (p *scanner) close(complete bool) {
	p.buf = append(p.buf, p.in.End()...)
	p.ended, p.complete = true, complete
	p.run()
	p.flushPending()
}

func (p *scanner) run() {
	for !p.over && len(p.buf) > 0 && p.step() {
	}
}

// plain processes the text before the next mark, or the mark.
func (p *scanner) plain() bool {
	switch at := marks().FindIndex(p.buf); {
	case at != nil && at[0] == 0:
		return p.marked(string(p.buf[:at[1]]))
	case at != nil:
		p.pass(at[0])
		return true
	}
	n := len(p.buf)
	if tail := max(0, n-markSize); !p.ended {
		if i := bytes.IndexAny(p.buf[tail:], "<`"); i >= 0 {
			n = tail + i // the beginning of a possible mark stays held
		}
	}
	p.pass(n)
	return n > 0
}

// marked processes a mark. A mark that has no meaning at its position is text.
func (p *scanner) marked(mark string) bool {
	thought := strings.HasPrefix(mark, "</think")
	switch {
	case p.thinking && !thought, p.code && mark != "```":
		p.pass(len(mark))
	case mark == "```" && p.lineHead:
		return p.fence()
	case thought:
		p.drop(mark)
		if p.thinking {
			p.fresh(false)
		}
	case strings.HasPrefix(mark, "<think") && p.lineHead:
		p.drop(mark)
		p.fresh(true)
	case mark == "<tool_response" && p.calls > 0:
		p.over = true
	case p.behind && (mark[1] == '/' || strings.HasSuffix(mark, "_id|>")):
		p.drop(mark)
	case p.last != '`' && (mark == "<tool_call>" || mark == "<|python_tag|>" || mark == "<function="):
		return p.openCall(len(mark))
	default:
		p.pass(len(mark))
	}
	return true
}

func (p *scanner) drop(mark string) { p.buf = p.buf[len(mark):] }

// head returns the beginning of the held text, and reports whether more of it may come.
func (p *scanner) head() (head []byte, more bool) {
	return p.buf[:min(len(p.buf), maxHead)], len(p.buf) < maxHead && !p.ended
}

// opening matches the beginning of a call after its mark: JSON, possibly in a fence, or the name of
// a function.
var opening = lazy.Regexp("^(?:<tool_call>|<\\|python_tag\\|>)?\\s*(?:[{\\[`]|<function=([^<>{\n]*)>)")

// openCall processes the opening mark of a call, n bytes long. The text after the mark decides
// whether it is a call.
func (p *scanner) openCall(n int) bool {
	head, more := p.head()
	m := opening().FindSubmatchIndex(head)
	switch {
	case m == nil && more:
		return false
	case m == nil && p.ended && !p.complete && len(bytes.TrimSpace(p.buf[n:])) == 0:
		p.over = true // the call was cut off
	case m == nil:
		p.pass(n)
	case m[2] < 0:
		p.hold(block{head: m[1] - 1, tagged: true, end: tagEnds()})
	default:
		p.hold(block{head: m[1], function: strings.Trim(string(head[m[2]:m[3]]), " \"'"), end: functionEnd()})
	}
	return true
}

// fence matches the first line of a code block that may contain a call. calling matches the
// beginning of the call. All other code blocks are text and need not be held.
var (
	fence   = lazy.Regexp("(?i)^```[ \t]*(?:json|tool_calls?|xml|text)?[ \t]*\r?\n")
	calling = lazy.Regexp(`^\s*(?:<tool_call>\s*)?\[?\s*\{\s*["'“]?(?:name|function|type|id|arguments|parameters|args)\W`)
)

// fence processes the mark at the beginning or end of a code block.
func (p *scanner) fence() bool {
	head, more := p.head()
	line := bytes.IndexByte(head, '\n') + 1
	first := fence().FindIndex(head)
	switch {
	case !p.code && line == 0 && more:
		return false
	case !p.code && first != nil && calling().Match(head[first[1]:]):
		p.hold(block{head: first[1], end: fenceEnd()})
		return true
	case !p.code && first != nil && more:
		return false
	}
	p.code = !p.code
	p.pass(3)
	return true
}

// pass emits the next n bytes as text or reasoning. White space at both ends of a text is dropped,
// so pass holds it until more text follows.
func (p *scanner) pass(n int) {
	if n == 0 {
		return
	}
	text := string(p.buf[:n])
	p.buf, p.last = p.buf[n:], text[n-1]
	line := text[strings.LastIndexByte(text, '\n')+1:]
	p.lineHead = (p.lineHead || len(line) < len(text)) && strings.Trim(line, " \t") == ""
	solid := strings.TrimRight(text, " \t\r\n")
	behind := text[len(solid):]
	if !p.begun {
		solid = strings.TrimLeft(solid, " \t\r\n")
	}
	if solid != "" {
		solid = string(p.space) + solid
		p.said.WriteString(solid)
		p.space, p.begun, p.behind = p.space[:0], true, false
		if p.thinking {
			p.emit(model.Delta{Reasoning: solid})
		} else {
			p.emit(model.Delta{Text: solid})
		}
	}
	if p.begun {
		p.space = append(p.space, behind...)
	}
}

// flushPending turns the pending text into a part.
func (p *scanner) flushPending() {
	switch {
	case p.said.Len() == 0:
	case p.thinking:
		p.parts = append(p.parts, model.Part{Reasoning: &model.Reasoning{Text: p.said.String()}})
	default:
		p.parts = append(p.parts, model.Part{Text: p.said.String()})
	}
	p.said.Reset()
}

// fresh starts a new text, or a new reasoning.
func (p *scanner) fresh(thinking bool) {
	p.flushPending()
	p.thinking, p.space, p.begun, p.last, p.lineHead = thinking, p.space[:0], false, 0, true
}

// found emits calls and starts a new text after them.
func (p *scanner) found(calls ...*model.Call) {
	p.fresh(false)
	p.behind = true
	for _, c := range calls {
		if p.calls++; p.calls > maxCalls {
			p.over = true
			return
		}
		c.ID = "call_" + strconv.Itoa(p.tools.lastID+p.calls)
		if !p.mute {
			p.parts = append(p.parts, model.Part{Call: c})
			p.emit(model.Delta{Call: &model.CallDelta{Index: p.calls - 1, ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}})
		}
	}
}
