package tui

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/mcp"
)

// check shows what would be sent, if every field fits.
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

// pressCheck handles the keys while what would be sent is shown. Enter sends it as y does, but only after a pause: the form
// is not sent by an Enter that was meant for its fields.
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

// sent is what would be sent, and what would not.
func (c *formCard) sent(width int) []ink.Line {
	lines := append(jsonLines(c.shown, width), warnings(c.form.Warnings, width)...)
	var left []string
	for _, e := range c.fields {
		if value, err := e.value(); err == nil && value == nil {
			left = append(left, oneLine(e.Name, 100))
		}
	}
	return append(lines, about("left out", ink.Muted, strings.Join(left, ", "), width)...)
}
