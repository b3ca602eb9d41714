package injected

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// maxCalls is how many calls one answer may have; what follows is cut off.
	maxCalls = 128
	// maxHeld is how many bytes are held back at most while it is not known whether
	// they are a call. What is longer is text.
	maxHeld = 1 << 20
	// maxHead is how many bytes show whether a call begins.
	maxHead = 256
	// markSize is how many bytes the longest mark has.
	markSize = len("<tool_response")
)

// marks are what is looked for in text: what begins and ends a call, what a model makes
// up as a result, and what is around its thoughts.
var marks = regexp.MustCompile("</?tool_call>|<tool_response|<\\|python_tag\\|>|<\\|eo[mt]_id\\|>|<function=|</function>|</?think(?:ing)?>|```")

// scanner finds the calls in what a model writes, while it writes. What may be a
// call is held back until that is known, so how the text was cut into pieces makes
// no difference. It must be closed.
type scanner struct {
	tools *toolbox
	emit  func(model.Delta)
	mute  bool // no calls are wanted

	parts    []model.Part    // what was found
	said     strings.Builder // text or reasoning that is no part yet
	thinking bool            // which of them
	code     bool            // the text is within a code block
	fed      strings.Builder // all that came
	in       wire.Joined     // makes whole characters of the pieces
	buf      []byte          // what is held back
	step     func() bool     // reads on; false if it needs more
	block    block
	space    []byte // white space that is text only if more text follows
	begun    bool   // the text that comes now has had something else than space
	last     byte   // what stands before here
	lineHead bool   // nothing but space stands before here on its line
	behind   bool   // nothing but space stands between the last call and here
	calls    int
	ended    bool // no more comes
	complete bool // the model stopped because it was done
	over     bool // what comes now is cut off
}

// start begins an answer, and begins it anew where the model is asked again.
func (p *scanner) start() {
	*p = scanner{tools: p.tools, emit: p.emit, mute: p.mute, lineHead: true}
	p.step = p.plain
}

// write reads the next piece of the text.
func (p *scanner) write(text string) {
	p.fed.WriteString(text)
	p.buf = append(p.buf, p.in.Add(text)...)
	p.run()
}

// close reads what was held back. Complete says whether the model stopped because it
// was done; a call that breaks off otherwise is dropped.
func (p *scanner) close(complete bool) {
	p.buf = append(p.buf, p.in.End()...)
	p.ended, p.complete = true, complete
	p.run()
	p.settle()
}

func (p *scanner) run() {
	for !p.over && len(p.buf) > 0 && p.step() {
	}
}

// plain reads text up to the next mark, or the mark.
func (p *scanner) plain() bool {
	switch at := marks.FindIndex(p.buf); {
	case at != nil && at[0] == 0:
		return p.marked(string(p.buf[:at[1]]))
	case at != nil:
		p.pass(at[0])
		return true
	}
	n := len(p.buf)
	if tail := max(0, n-markSize); !p.ended {
		if i := bytes.IndexAny(p.buf[tail:], "<`"); i >= 0 {
			n = tail + i // this may become a mark
		}
	}
	p.pass(n)
	return n > 0
}

// marked reads a mark. Where it means nothing it is text.
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
		return p.opened(len(mark))
	default:
		p.pass(len(mark))
	}
	return true
}

func (p *scanner) drop(mark string) { p.buf = p.buf[len(mark):] }

// head is the beginning of what is held back, and whether more of it may come.
func (p *scanner) head() (head []byte, more bool) {
	return p.buf[:min(len(p.buf), maxHead)], len(p.buf) < maxHead && !p.ended
}

// opening is how a call begins behind its mark: with JSON, which may be in a fence, or
// with the name of a function.
var opening = regexp.MustCompile("^(?:<tool_call>|<\\|python_tag\\|>)?\\s*(?:[{\\[`]|<function=([^<>{\n]*)>)")

// opened reads the mark of a call, which has n bytes: what follows says whether it is one.
func (p *scanner) opened(n int) bool {
	head, more := p.head()
	m := opening.FindSubmatchIndex(head)
	switch {
	case m == nil && more:
		return false
	case m == nil && p.ended && !p.complete && len(bytes.TrimSpace(p.buf[n:])) == 0:
		p.over = true // it was cut off
	case m == nil:
		p.pass(n)
	case m[2] < 0:
		p.hold(block{head: m[1] - 1, tagged: true, end: tagEnds})
	default:
		p.hold(block{head: m[1], function: strings.Trim(string(head[m[2]:m[3]]), " \"'"), end: functionEnd})
	}
	return true
}

// fence is the first line of a code block in which a call may stand, and calling how
// the block goes on if it does. Another code block is text that need not be held back.
var (
	fence   = regexp.MustCompile("(?i)^```[ \t]*(?:json|tool_calls?|xml|text)?[ \t]*\r?\n")
	calling = regexp.MustCompile(`^\s*(?:<tool_call>\s*)?\[?\s*\{\s*["'“]?(?:name|function|type|id|arguments|parameters|args)\W`)
)

// fence reads the mark of a code block, at either end.
func (p *scanner) fence() bool {
	head, more := p.head()
	line := bytes.IndexByte(head, '\n') + 1
	first := fence.FindIndex(head)
	switch {
	case !p.code && line == 0 && more:
		return false
	case !p.code && first != nil && calling.Match(head[first[1]:]):
		p.hold(block{head: first[1], end: fenceEnd})
		return true
	case !p.code && first != nil && more:
		return false
	}
	p.code = !p.code
	p.pass(3)
	return true
}

// pass emits the next n bytes as text, or as reasoning. White space at both ends is
// dropped, so it waits for more.
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

// settle makes a part of what was said.
func (p *scanner) settle() {
	switch {
	case p.said.Len() == 0:
	case p.thinking:
		p.parts = append(p.parts, model.Part{Reasoning: &model.Reasoning{Text: p.said.String()}})
	default:
		p.parts = append(p.parts, model.Part{Text: p.said.String()})
	}
	p.said.Reset()
}

// fresh begins a new text, or reasoning.
func (p *scanner) fresh(thinking bool) {
	p.settle()
	p.thinking, p.space, p.begun, p.last, p.lineHead = thinking, p.space[:0], false, 0, true
}

// found emits calls, and begins a new text behind them.
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
