package tui

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// maxURL is the maximum length in bytes of a page's address.
const maxURL = 2_000

// fieldHelp describes the input for a field in line mode.
const fieldHelp = "Type a text, or the number or name of a choice. Type - for none, or only Enter to keep the value. :decline and :cancel end the form."

// formCard asks the user to fill in a form, or to visit a page.
type formCard struct {
	pending
	form   host.Form
	fields []*entry
	at     int // index of the focused field; after the last field come the buttons send and decline
	fault  string
	page   *url.URL // page to visit, if this is not a form

	touched  bool            // the user typed or chose something
	leaving  bool            // Esc was pressed, and another Esc discards the input
	begun    bool            // in line mode, the server's message was printed
	checking bool            // the content is shown for confirmation
	content  json.RawMessage // content to send
	shown    json.RawMessage // content with secrets hidden
	seen     int             // number of its lines that have been visible
}

func newFormCard(a *ask, f host.Form) card {
	c := &formCard{pending: pending{ask: a}, form: f}
	if f.Request.Mode == mcp.ElicitURL {
		page, err := url.Parse(f.Request.URL)
		if err != nil || page.Host == "" || page.Scheme != "https" && page.Scheme != "http" || len(f.Request.URL) > maxURL {
			c.fault = fmt.Sprintf("the address is not shown, because it is not an http or https address of at most %d bytes", maxURL)
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
	if c.at < len(c.fields) {
		e := c.fields[c.at]
		before := e.text.Text()
		if len(e.Choices) > 0 && e.pick(k) || len(e.Choices) == 0 && editKey(&e.text, k) && e.text.Text() != before {
			c.touched, e.fault = true, ""
		}
	}
	return false
}

// pressPage handles keys while a page to visit is shown.
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

// enter moves to the next field, or presses the focused button.
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
		foot = ink.Lines(ink.Warn, "Esc again discards your input; any other key continues.", width)
	}
	body, from, to := c.body(width)
	rows := max(1, height-1-len(foot))
	if to-from > rows { // show the end of the field, where the user types
		from = to - rows
	}
	if from < c.scroll.at || to > c.scroll.at+rows {
		c.scroll.at = max(0, from-rows/2, to-rows)
	}
	return framed(c.form.Server+" asks you", body, &c.scroll, foot, width, height)
}

// pageLines returns the lines for a page to visit.
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

// message returns the server's message behind a bar. Lines without a bar come from the card.
func (c *formCard) message(width int) []ink.Line {
	bar := ink.Line{ink.T(ink.Muted, "│ ")}
	return ink.Indent(ink.Lines(ink.Plain, c.form.Request.Message, width-2), bar, bar)
}

// lineByLine returns the current field, and the server's message before the first one.
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

// body returns the lines of the form. The lines from from up to to are the focused field or button.
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

// check shows the content for confirmation if every field is valid.
func (c *formCard) check() {
	fields, values := make([]*form.Field, len(c.fields)), make([]json.RawMessage, len(c.fields))
	wrong := -1
	for i, e := range c.fields {
		value, fits := e.checked()
		if !fits && wrong < 0 {
			wrong = i
		}
		fields[i], values[i] = e.Field, value
	}
	if wrong >= 0 {
		c.at = wrong
		return
	}
	c.content = form.Encode(fields, values)
	for i, e := range c.fields {
		if values[i] != nil && e.hidden() {
			values[i], _ = json.Marshal(plural(utf8.RuneCountInString(e.text.Text()), "character", "characters") + ", not shown")
		}
	}
	c.shown = form.Encode(fields, values)
	c.checking, c.seen, c.laid, c.scroll = true, 0, body{}, scroll{}
}

// pressCheck handles keys while the content is shown. Enter sends it, like y, but only after a
// pause, so that an Enter meant for a field does not send the form.
func (c *formCard) pressCheck(s *screen, k keypress) bool {
	yes := k.text == "y" || k.name == "enter"
	switch {
	case c.scroll.move(k.name):
	case k.name == "enter" && s.now().Sub(s.pressed) < quietTime:
		s.hint = "Enter again, after a pause, sends this"
	case yes && c.seen < c.scroll.all:
		c.scroll.move("pgdown")
	case yes:
		return c.answer(mcp.ElicitAccept, c.content)
	case k.text == "n":
		return c.answer(mcp.ElicitDecline, nil)
	case k.text == "e", k.name == "esc":
		c.checking, c.at, c.scroll = false, 0, scroll{}
	}
	return false
}

// sent returns the lines of the content, and the names of the fields left out.
func (c *formCard) sent(width int) []ink.Line {
	lines := append(jsonLines(c.shown, width), warnings(c.form.Warnings, width)...)
	var left []string
	for _, e := range c.fields {
		if value, err := e.value(); err == nil && value == nil {
			left = append(left, plaintext.Line(e.Name, 100))
		}
	}
	return append(lines, about("left out", ink.Muted, strings.Join(left, ", "), width)...)
}

// entry is a field with the user's input.
type entry struct {
	*form.Field
	text   editor.Buffer // typed text, for a field without choices
	chosen map[int]bool  // indexes of chosen choices; a boolean has the choices yes and no
	cursor int           // index of the focused choice

	numbered bool // the user types numbers of choices
	fault    string
}

// newEntry returns an entry with the field's default.
func newEntry(f *form.Field) *entry {
	e := &entry{Field: f, chosen: map[int]bool{}}
	if f.Type == "boolean" && len(f.Choices) == 0 {
		f.Choices = []form.Choice{{Value: json.RawMessage("true"), Title: "yes"}, {Value: json.RawMessage("false"), Title: "no"}}
	}
	switch {
	case f.Default == nil:
	case len(f.Choices) == 0:
		e.text.Set(form.PlainValue(f.Default))
	default:
		for i, c := range f.Choices {
			isDefault := string(c.Value) == string(f.Default) || f.Several && strings.Contains(string(f.Default), string(c.Value))
			if isDefault {
				e.chosen[i], e.cursor = true, i
			}
		}
	}
	return e
}

// value returns the field's value as JSON, or nil if the field is left out.
func (e *entry) value() (json.RawMessage, error) {
	if len(e.Choices) == 0 {
		switch text := e.text.Text(); {
		case strings.TrimSpace(text) != "":
			return e.Parse(text)
		case !e.Required:
			return nil, nil
		case e.Type == "string":
			return nil, fmt.Errorf(`this is required ("" is an empty text)`)
		}
		return nil, fmt.Errorf("this is required")
	}
	var values []string
	for i, c := range e.Choices {
		if e.chosen[i] {
			values = append(values, string(c.Value))
		}
	}
	switch {
	case len(values) == 0 && e.Required && !e.Several:
		return nil, fmt.Errorf("this is required")
	case len(values) == 0 && !e.Required:
		return nil, nil
	case !e.Several:
		return json.RawMessage(values[0]), e.Check(json.RawMessage(values[0]))
	}
	list := json.RawMessage("[" + strings.Join(values, ",") + "]")
	return list, e.Check(list)
}

// checked returns the field's value and reports whether it is valid. The error is shown at the
// field.
func (e *entry) checked() (json.RawMessage, bool) {
	value, err := e.value()
	switch {
	case err == nil:
		e.fault = ""
	case e.hidden():
		e.fault = "expected " + e.Describe() // the error could contain the secret
	default:
		e.fault = err.Error()
	}
	return value, err == nil
}

// pick handles a key of a field with choices, and reports whether the key has a meaning there.
func (e *entry) pick(k keypress) bool {
	switch k.name {
	case "left", "right":
		switch {
		case !e.Several && len(e.chosen) == 0: // nothing is chosen yet: choose the focused one
		case k.name == "left":
			e.cursor = max(0, e.cursor-1)
		default:
			e.cursor = min(len(e.Choices)-1, e.cursor+1)
		}
		if !e.Several {
			e.chosen = map[int]bool{e.cursor: true}
		}
	case "space":
		chosen := e.chosen[e.cursor]
		if !e.Several {
			e.chosen = map[int]bool{}
		}
		e.chosen[e.cursor] = !chosen
	case "backspace", "delete":
		e.chosen = map[int]bool{}
	default:
		return false
	}
	return true
}

// lines returns the lines of a field.
func (e *entry) lines(selected bool, width int) []ink.Line {
	mark := "  "
	if selected {
		mark = "▸ "
	}
	head := ink.Line{ink.T(ink.Accent, mark), ink.T(ink.Plain, plaintext.Line(orElse(e.Title, e.Name), 200), ink.Bold), ink.T(ink.Muted, " ("+e.Describe()+")")}
	lines := ink.Barred(head, width)
	margin := ink.Of("  ")
	if e.Description != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Muted, plaintext.Line(e.Description, 500), width-2), margin, margin)...)
	}
	switch {
	case len(e.Choices) > 0:
		lines = append(lines, ink.Indent(e.choiceLines(selected, width-2), margin, margin)...)
	case selected && e.hidden():
		lines = append(lines, ink.Line{ink.T(ink.Accent, "  > "), ink.T(ink.Plain, masked(&e.text)), ink.T(ink.Plain, " ", ink.Reverse)}.Cut(width))
	case e.hidden():
		lines = append(lines, ink.Line{ink.T(ink.Muted, "  > "), ink.T(ink.Plain, masked(&e.text))}.Cut(width))
	case selected:
		lines = append(lines, ink.Indent(typedLines(&e.text, width-4), ink.Line{ink.T(ink.Accent, "  > ")}, ink.Of("    "))...)
	default:
		lines = append(lines, ink.Line{ink.T(ink.Muted, "  > "), ink.T(ink.Plain, plaintext.Line(e.text.Text(), width))}.Cut(width))
	}
	if e.fault != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Bad, e.fault, width-4), ink.Line{ink.T(ink.Bad, "  ✗ ")}, ink.Of("    "))...)
	}
	return lines
}

// hidden reports whether the typed text is a secret and not shown. A default from the server is
// shown.
func (e *entry) hidden() bool { return e.Secret() && e.text.Text() != form.PlainValue(e.Default) }

// masked returns a dot for each character of a secret.
func masked(b *editor.Buffer) string { return strings.Repeat("•", utf8.RuneCountInString(b.Text())) }

// choiceLines returns the choices of a field in a row.
func (e *entry) choiceLines(selected bool, width int) []ink.Line {
	var all ink.Line
	for i, choice := range e.Choices {
		mark := "( ) "
		switch {
		case e.Several && e.chosen[i]:
			mark = "[x] "
		case e.Several:
			mark = "[ ] "
		case e.chosen[i]:
			mark = "(•) "
		}
		if e.numbered {
			mark = fmt.Sprint(i+1, " ", mark)
		}
		var attr ink.Attr
		if selected && i == e.cursor {
			attr = ink.Underline
		}
		label := orElse(choice.Title, form.PlainValue(choice.Value))
		all = append(all, ink.T(ink.Accent, strings.ReplaceAll(mark, " ", "\u00a0")), ink.T(ink.Plain, plaintext.Line(label, 100), attr), ink.Of("   ")[0])
	}
	return ink.Wrap(all, width)
}

// sampleCard asks whether a server may use the model.
type sampleCard struct {
	pending
	sampling host.Sampling
}

func (c *sampleCard) press(_ *screen, k keypress) bool {
	switch {
	case c.scroll.move(k.name):
		return false
	case k.text == "y":
		c.ask.answer(true)
		return true
	case k.text == "n", k.name == "esc":
		c.ask.answer(false)
		return true
	}
	return false
}

func (c *sampleCard) lines(s *screen, width, height int) []ink.Line {
	title := c.sampling.Server + " wants to ask the model; may it?"
	no := "n Esc no"
	if s.byLine {
		no = "n no"
	}
	return framed(title, c.laid.of(width, c.body), &c.scroll, s.foot(width, "", "y yes, once", no, scrollKeys), width, height)
}

// body returns the whole request.
func (c *sampleCard) body(width int) []ink.Line {
	sm := &c.sampling
	cost := fmt.Sprintf("up to %s tokens; %s are left for this server", count(sm.Tokens), count(sm.Budget))
	lines := about("costs", ink.Plain, cost, width)
	if sm.Tool != "" {
		lines = append(lines, about("in the middle of", ink.Plain, toolName(sm.Server, sm.Tool), width)...)
	}
	lines = append(lines, warnings(sm.Warnings, width)...)
	req := sm.Request
	if req == nil {
		return lines
	}
	margin := ink.Of("  ")
	if req.SystemPrompt != "" {
		lines = append(lines, ink.Line{ink.T(ink.Muted, "system prompt:")})
		lines = append(lines, ink.Indent(ink.Lines(ink.Plain, req.SystemPrompt, width-2), margin, margin)...)
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		lines = append(lines, ink.Line{ink.T(ink.Muted, plaintext.Line(string(m.Role), 40)+":")})
		for j := range m.Content {
			lines = append(lines, ink.Indent(contentLines(&m.Content[j], width-2), margin, margin)...)
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		lines = append(lines, about("with the tool", ink.Plain, t.Name+" "+plaintext.Unbroken(orElse(t.Description, t.Title)), width)...)
		if len(t.InputSchema) > 0 { // the model also reads the schemas, including their descriptions
			lines = append(lines, ink.Indent(jsonLines(t.InputSchema, width-2), margin, margin)...)
		}
	}
	for _, stop := range req.StopSequences {
		lines = append(lines, about("stops at", ink.Plain, strconv.Quote(stop), width)...)
	}
	return lines
}

// contentLines returns the lines for one block of content from a server.
func contentLines(c *mcp.Content, width int) []ink.Line {
	switch c.Type {
	case mcp.ContentText:
		return ink.Lines(ink.Plain, c.Text, width)
	case mcp.ContentImage, mcp.ContentAudio:
		return ink.Lines(ink.Muted, fmt.Sprintf("[%s: %s, %s]", c.Type, c.MIMEType, bytes(len(c.Data))), width)
	case mcp.ContentResourceLink:
		if c.Link != nil {
			return ink.Lines(ink.Plain, fmt.Sprintf("[resource %s: %s, %s]", c.Link.URI, c.Link.Name, c.Link.Description), width)
		}
	case mcp.ContentResource:
		if c.Resource != nil && c.Resource.Blob != nil {
			return ink.Lines(ink.Muted, fmt.Sprintf("[resource %s: %s, %s]", c.Resource.URI, c.Resource.MIMEType, bytes(len(c.Resource.Blob))), width)
		}
		if c.Resource != nil {
			return ink.Lines(ink.Plain, fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, c.Resource.Text), width)
		}
	case mcp.ContentToolUse:
		if c.ToolUse != nil {
			return append(ink.Lines(ink.Muted, "[calls "+c.ToolUse.Name+"]", width), jsonLines(c.ToolUse.Input, width)...)
		}
	case mcp.ContentToolResult:
		if c.ToolResult != nil {
			var lines []ink.Line
			for i := range c.ToolResult.Content {
				if b := &c.ToolResult.Content[i]; b.Type != mcp.ContentToolResult {
					lines = append(lines, contentLines(b, width)...)
				}
			}
			return append(ink.Lines(ink.Muted, "[result]", width), lines...)
		}
	}
	lines := ink.Lines(ink.Muted, "["+c.Type+"]", width)
	if c.Raw != nil {
		lines = append(lines, jsonLines(c.Raw, width)...)
	}
	return lines
}
