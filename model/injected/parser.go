package injected

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/model"
)

const (
	// maxCalls is how many calls one answer may have; what follows is cut off.
	maxCalls = 128
	// maxSpace is how many bytes of white space are held back before they are text.
	maxSpace = 4 << 10
)

// parser finds the calls in what a model writes, while it writes. It gets
// the text in pieces, by write, and passes what it finds to the functions; how
// the text was cut into pieces makes no difference. It must be closed.
type parser struct {
	source
	tools *toolbox
	// text and reasoning get pieces of it, call a whole call.
	text, reasoning func(string)
	call            func(*model.Call)

	resume func() (struct{}, bool)
	stop   func()

	space    []byte // white space that is text only if more text follows
	begun    bool   // the text that comes now has had something else than space
	lineHead bool   // nothing but space stands before here on its line
	calls    int
	known    bool // only tools that exist can be called here
	complete bool // the model stopped because it was done
	over     bool // what comes now is cut off
}

// start begins to parse. The parser runs as a coroutine that waits for text, so
// that it can be written as if it had all of it.
func (p *parser) start() {
	p.lineHead = true
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.wait = func() bool { return yield(struct{}{}) }
		p.run()
	})
	p.resume()
}

// write parses the next piece of the text.
func (p *parser) write(text string) {
	if !p.over && text != "" {
		p.feed(text)
		p.resume()
	}
}

// close parses what was held back. Complete says whether the model stopped
// because it was done; a call that breaks off otherwise is dropped.
func (p *parser) close(complete bool) {
	p.complete, p.ended = complete, true
	p.resume()
	p.stop()
}

func (p *parser) run() {
	for !p.over {
		p.mark = p.pos
		c := p.at(0)
		if c == none {
			break
		}
		if !p.markup(c) {
			p.plain()
		}
	}
	p.over = true
}

// markup reads what is more than text, if there is any. It reports false, and
// reads nothing, if there is none.
func (p *parser) markup(c int) bool {
	switch {
	case p.calls > 0 && p.pretendsResult():
		p.over = true
		return true
	case c == '<':
		return p.thought() || p.harmony() || p.control() || p.region()
	case c == '[':
		return p.region() || p.lineHead && p.untagged()
	case c == '{':
		return p.lineHead && p.untagged()
	case c == '`':
		return p.ticks()
	}
	return false
}

// plain passes on text up to where something else could begin.
func (p *parser) plain() {
	end := p.pos + 1
	for end < len(p.buf) && p.buf[end-1] != '\n' && strings.IndexByte("<[{`", p.buf[end]) < 0 && end-p.pos < maxHeld {
		end++
	}
	if tail := partialRune(p.buf[p.pos:end]); tail > 0 && end == len(p.buf) {
		if p.at(end-p.pos) != none {
			return // there is more to look at
		}
	}
	p.pos = end
	p.pass()
}

// partialRune is how many bytes at the end of b are the beginning of a character.
func partialRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// pass emits what is held back, as text. White space at both ends of a text is
// dropped, so it waits for more.
func (p *parser) pass() {
	text := p.held()
	p.mark, p.long = p.pos, false
	if text == "" {
		return
	}
	line := text[strings.LastIndexByte(text, '\n')+1:]
	p.lineHead = (p.lineHead || len(line) < len(text)) && strings.Trim(line, " \t") == ""
	solid := strings.TrimRight(text, " \t\r\n")
	if !p.begun {
		solid = strings.TrimLeft(solid, " \t\r\n")
	}
	if solid != "" {
		p.text(valid(string(p.space) + solid))
		p.space, p.begun = p.space[:0], true
	}
	if p.begun {
		p.space = append(p.space, text[len(strings.TrimRight(text, " \t\r\n")):]...)
	}
	if len(p.space) > maxSpace {
		p.text(string(p.space))
		p.space = p.space[:0]
	}
}

// valid returns text with U+FFFD for every byte that is no valid UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// drop forgets what is held back, and begins a new text behind it.
func (p *parser) drop() {
	p.mark, p.long = p.pos, false
	p.space, p.begun, p.lineHead = p.space[:0], false, true
}

// split forgets what is held back, and begins a new paragraph behind it.
func (p *parser) split() {
	p.mark, p.long = p.pos, false
	if p.begun {
		p.space = append(p.space[:0], "\n\n"...)
	}
	p.begun, p.lineHead = false, true
}

// cutOff reports whether what was read would go on if the text had not been cut.
func (p *parser) cutOff() bool { return p.missed && !p.complete }

// found emits a call, unless it was cut off.
func (p *parser) found(c *model.Call) {
	if p.cutOff() {
		p.drop()
		p.over = true
		return
	}
	if p.calls++; p.calls > maxCalls {
		p.over = true
		return
	}
	p.drop()
	p.call(c)
}

// thought reads reasoning between tags, at the beginning of a line.
func (p *parser) thought() bool {
	for _, name := range []string{"think", "thinking", "thought", "reasoning"} {
		if p.skip("</" + name + ">") {
			p.split() // its beginning was in the prompt
			return true
		}
		if p.lineHead && p.skip("<"+name+">") {
			p.mark = p.pos
			p.think("</" + name + ">")
			return true
		}
	}
	return false
}

// think passes on reasoning until one of the ends, and goes behind it if it is a tag.
func (p *parser) think(ends ...string) {
	first := true
	for p.at(0) != none {
		for _, end := range ends {
			if p.has(0, end) {
				if end[1] == '/' {
					p.pos += len(end)
				}
				p.drop()
				return
			}
		}
		n := p.pos + 1
		for n < len(p.buf) && p.buf[n] != '<' {
			n++
		}
		if partialRune(p.buf[p.pos:n]) > 0 && n == len(p.buf) && p.at(n-p.pos) != none {
			continue
		}
		p.pos = n
		text := valid(p.held())
		if p.mark = p.pos; first {
			text = strings.TrimLeft(text, "\r\n")
		}
		if text != "" {
			first = false
			p.reasoning(text)
		}
	}
	p.drop()
}
