package tui

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/mcp"
)

// maxURL is the longest address that can be consented to, in bytes.
const maxURL = 2_000

// fieldHelp says what may be typed for a field, where there are only lines.
const fieldHelp = "Type a text, the number or name of a choice, - for none, or nothing to leave it as it is; :decline, :cancel."

// formCard asks the person to fill in a form, or to visit a page.
type formCard struct {
	pending
	form   host.Form
	fields []*entry
	at     int // the field that has the keys; behind them: send, decline
	fault  string
	page   *url.URL // in place of a form

	touched  bool            // something was typed or chosen
	leaving  bool            // Esc was pressed, which discards that when pressed again
	begun    bool            // line by line: what the server says was printed
	checking bool            // what would be sent is shown
	content  json.RawMessage // what would be sent
	shown    json.RawMessage // the same, without secrets
	seen     int             // lines of it that were in sight
}

func newFormCard(a *ask, f host.Form) card {
	c := &formCard{pending: pending{ask: a}, form: f}
	if f.Request.Mode == mcp.ElicitURL {
		page, err := url.Parse(f.Request.URL)
		if err != nil || page.Host == "" || page.Scheme != "https" && page.Scheme != "http" || len(f.Request.URL) > maxURL {
			c.fault = fmt.Sprintf("the address is no http or https address of at most %d bytes, so it is not shown", maxURL)
			return c
		}
		c.page = page
		return c
	}
	fields, err := form.Read(f.Request.RequestedSchema)
	if err != nil {
		c.fault = err.Error()
		return c
	}
	for _, field := range fields {
		c.fields = append(c.fields, newEntry(field))
	}
	return c
}

func (c *formCard) write(_ *screen, text string) {
	if !c.checking && c.at < len(c.fields) && len(c.fields[c.at].Choices) == 0 {
		c.fields[c.at].text.Insert(strings.ReplaceAll(text, "\n", " "))
		c.touched, c.leaving = true, false
	}
}

func (c *formCard) press(s *screen, k keypress) bool {
	if c.checking {
		return c.pressCheck(s, k)
	}
	if k.name == "esc" && (c.leaving || !c.touched) {
		return c.answer(mcp.ElicitCancel, nil)
	}
	if c.leaving = k.name == "esc"; c.leaving {
		return false
	}
	switch k.name {
	case "pgup", "pgdown":
		c.scroll.move(k.name)
		return false
	}
	if c.page != nil || c.fault != "" && c.fields == nil {
		return c.pressPage(k)
	}
	switch k.name {
	case "tab", "down":
		c.at = min(c.at+1, len(c.fields)+1)
		return false
	case "shift+tab", "up":
		c.at = max(c.at-1, 0)
		return false
	case "enter":
		return c.enter()
	}
	if c.at < len(c.fields) && c.fields[c.at].press(k) {
		c.touched = true
	}
	return false
}

// pressPage handles the keys of a page to visit.
func (c *formCard) pressPage(k keypress) bool {
	switch {
	case c.scroll.move(k.name):
	case k.text == "y" && c.page != nil:
		return c.answer(mcp.ElicitAccept, nil)
	case k.text == "n":
		return c.answer(mcp.ElicitDecline, nil)
	}
	return false
}

// enter goes on to the next field, or does what the button says.
func (c *formCard) enter() bool {
	switch {
	case c.at < len(c.fields):
		if _, fits := c.fields[c.at].checked(); fits {
			c.at++
		}
		return false
	case c.at == len(c.fields):
		c.check()
		return false
	}
	return c.answer(mcp.ElicitDecline, nil)
}

func (c *formCard) answer(action string, content json.RawMessage) bool {
	c.ask.answer(&mcp.ElicitResult{Action: action, Content: content})
	return true
}

func (c *formCard) lines(s *screen, width, height int) []ink.Line {
	if c.page != nil || c.fault != "" && c.fields == nil {
		return c.pageLines(s, width, height)
	}
	if c.checking {
		foot := s.foot(width, "", "y send", "n decline", "e Esc edit", scrollKeys)
		lines := framed("send this to "+c.form.Server+"?", c.laid.of(width, c.sent), &c.scroll, foot, width, height)
		c.seen = max(c.seen, c.scroll.at+c.scroll.rows)
		return lines
	}
	if s.byLine {
		return c.lineByLine(s, width)
	}
	foot := s.foot(width, "", "Tab Shift+Tab field", "Space ← → choose", "Enter next", "Esc cancel")
	if c.leaving {
		foot = ink.Lines(ink.Warn, "Esc once more discards what you typed; any other key goes on.", width)
	}
	body, from, to := c.body(width)
	rows := max(1, height-1-len(foot))
	if to-from > rows { // its end is where it is typed
		from = to - rows
	}
	if from < c.scroll.at || to > c.scroll.at+rows {
		c.scroll.at = max(0, from-rows/2, to-rows)
	}
	return framed(c.form.Server+" asks you", body, &c.scroll, foot, width, height)
}

// pageLines show where the person is asked to go.
func (c *formCard) pageLines(s *screen, width, height int) []ink.Line {
	body := append(c.message(width), warnings(c.form.Warnings, width)...)
	if c.page == nil {
		body = append(body, warnings([]string{c.fault}, width)...)
		return framed(c.form.Server+" asks you", body, &c.scroll, s.foot(width, ":cancel", "n decline", "Esc cancel"), width, height)
	}
	body = append(body, nil)
	body = append(body, ink.Barred(ink.Line{ink.T(ink.Link, c.form.Request.URL)}, width)...)
	body = append(body, nil)
	body = append(body, about("host", ink.Plain, c.page.Hostname(), width)...)
	body = append(body, warnings(form.Doubts(c.page), width)...)
	body = append(body, ink.Lines(ink.Muted, "Junction does not open it; copy the address.", width)...)
	return framed(c.form.Server+" asks you to visit a page; will you?", body, &c.scroll, s.foot(width, "y, n or :cancel", "y yes", "n decline", "Esc cancel"), width, height)
}

// message is what the server says, behind a bar: the lines without one are the card's own.
func (c *formCard) message(width int) []ink.Line {
	bar := ink.Line{ink.T(ink.Muted, "│ ")}
	return ink.Indent(ink.Lines(ink.Plain, c.form.Request.Message, width-2), bar, bar)
}

// lineByLine is the field that is asked for now, the first time behind what the server says.
func (c *formCard) lineByLine(s *screen, width int) []ink.Line {
	lines := []ink.Line{nil}
	if !c.begun {
		c.begun = true
		lines = append(append(c.message(width), warnings(c.form.Warnings, width)...), s.foot(width, fieldHelp)...)
		lines = append(framed(c.form.Server+" asks you", lines, &scroll{}, nil, width, len(lines)+1), nil)
	}
	if c.at < len(c.fields) {
		e := c.fields[c.at]
		e.numbered = true
		lines = append(lines, e.lines(false, width)...)
	}
	return lines
}

// body is the form; its lines from and up to to are what has the keys.
func (c *formCard) body(width int) (lines []ink.Line, from, to int) {
	lines = append(c.message(width), warnings(c.form.Warnings, width)...)
	for i, e := range c.fields {
		field := e.lines(i == c.at, width)
		if lines = append(lines, nil); i == c.at {
			from, to = len(lines), len(lines)+len(field)
		}
		lines = append(lines, field...)
	}
	if lines = append(lines, nil); c.at >= len(c.fields) {
		from, to = len(lines), len(lines)+1
	}
	return append(lines, ink.Line{button("Send", c.at == len(c.fields)), ink.Of("  ")[0], button("Decline", c.at > len(c.fields))}), from, to
}

func button(name string, selected bool) ink.Span {
	if selected {
		return ink.T(ink.Accent, "[ "+name+" ]", ink.Bold, ink.Reverse)
	}
	return ink.T(ink.Plain, "[ "+name+" ]")
}
