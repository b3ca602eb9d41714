package tui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// consentCard asks whether a call may run.
type consentCard struct {
	pending
	card   host.Card
	change *edit // of a file of this disk; nil: none is known

	choosing bool // what holds from now on
	title    string
	choices  []choice
	selected int

	noting bool // what to do instead is being typed
	note   editor.Buffer
}

func (c *consentCard) press(s *screen, k keypress) bool {
	switch {
	case c.noting:
		return c.pressNote(s, k)
	case c.choosing:
		return c.pressScope(s, k)
	case c.scroll.move(k.name):
		return false
	}
	switch k.text {
	case "y":
		c.ask.answer(host.Verdict{Allow: true})
		return true
	case "n":
		c.ask.answer(host.Verdict{})
		return true
	case "N":
		c.noting = true
	case "s", "a", "d", "t":
		c.choose(k.text)
	}
	if k.name == "esc" {
		c.ask.answer(host.Verdict{})
		return true
	}
	return false
}

// pressNote handles the keys while the note is typed.
func (c *consentCard) pressNote(s *screen, k keypress) bool {
	switch k.name {
	case "esc":
		c.noting = false
	case "enter":
		note := strings.TrimSpace(c.note.Text())
		s.noted.call, s.noted.text = c.card.CallID, note
		c.ask.answer(host.Verdict{Note: note})
		return true
	default:
		editKey(&c.note, k)
	}
	return false
}

func (c *consentCard) write(_ *screen, text string) {
	if c.noting {
		c.note.Insert(text)
	}
}

// pressScope handles the keys while it is chosen what holds from now on.
func (c *consentCard) pressScope(s *screen, k keypress) bool {
	switch k.name {
	case "esc":
		c.choosing = false
	case "enter":
		chosen := c.choices[c.selected]
		c.ask.answer(chosen.verdict)
		s.print(ink.Indent(ink.Lines(ink.Muted, chosen.said, s.width-2), ink.Line{ink.T(ink.Accent, "§ ")}, ink.Of("  "))...)
		return true
	case "up":
		c.selected = max(0, c.selected-1)
	case "down", "tab":
		c.selected = min(len(c.choices)-1, c.selected+1)
	}
	if n := int(first(k.text)) - '1'; n >= 0 && n < len(c.choices) {
		c.selected = n
	}
	return false
}

// first is the first byte of a text, or 0.
func first(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

func (c *consentCard) lines(s *screen, width, height int) []ink.Line {
	if c.choosing {
		return c.scopeLines(s, width, height)
	}
	title := "may this call run?"
	if c.card.Resource != "" {
		title = "may this resource be read?"
	}
	var foot []ink.Line
	switch {
	case c.noting:
		foot = append([]ink.Line{{ink.T(ink.Muted, "what should the model do instead?")}}, typedLines(&c.note, width)...)
		foot = append(foot, s.foot(width, "a line, or nothing", "Enter say no", "Esc back")...)
	default:
		foot = s.foot(width, "", c.offers()...)
	}
	return framed(title, c.laid.of(width, c.body), &c.scroll, foot, width, height)
}

// body is everything there is to know about the call. What is short comes first, so that
// nothing is hidden by what is long.
func (c *consentCard) body(width int) []ink.Line {
	call := &c.card
	head := ink.Line{ink.T(ink.Plain, unbroken(toolName(orElse(call.Server, "junction itself"), call.Tool)), ink.Bold)}
	if call.Title != "" {
		head = append(head, ink.T(ink.Plain, " “"+oneLine(call.Title, 120)+"”"))
	}
	lines := ink.Barred(head, width)
	lines = append(lines, about("sub-agent", ink.Plain, oneLine(call.Agent, 120), width)...)
	lines = append(lines, warnings(call.Reasons, width)...)
	lines = append(lines, about("resource", ink.Link, unbroken(call.Resource), width)...)
	if call.Resource == "" {
		lines = append(lines, ink.Lines(ink.Plain, approval.Claims(&call.Annotations, call.Trusted), width)...)
	}
	var change []ink.Line
	if c.change != nil {
		change = c.change.hunks(width)
	}
	description := about("description", ink.Muted, oneLine(call.Description, 2_000), width)
	var arguments []ink.Line
	if call.Resource == "" || len(call.Arguments) > 0 {
		arguments = append(arguments, ink.Line{ink.T(ink.Muted, "arguments:")})
		arguments = append(arguments, ink.Indent(jsonLines(shortFirst(call.Arguments), width-2), ink.Of("  "), ink.Of("  "))...)
	}
	if len(arguments)+len(change) > fewArguments {
		return slices.Concat(lines, description, change, arguments)
	}
	return slices.Concat(lines, change, arguments, description)
}

// fewArguments is how many lines of arguments stand before the description: they are what
// is decided about.
const fewArguments = 12

// shortFirst is an object with its members of one line before those of several, so that
// the path of a file is in sight and not only what is written to it.
func shortFirst(object json.RawMessage) json.RawMessage {
	var short, long []string
	seen := map[string]bool{}
	if jsonrpc.Valid(object, jsonrpc.Limits{}) != nil {
		return object
	}
	jsonrpc.EachMember(object, func(name, value []byte) bool {
		member := string(name) + ":" + string(value)
		plain, _ := jsonrpc.Unquote(name)
		seen[plain] = true
		if len(value) > 200 || strings.Contains(string(value), `\n`) {
			long = append(long, member)
		} else {
			short = append(short, member)
		}
		return true
	})
	if len(short) == 0 || len(long) == 0 || len(seen) != len(short)+len(long) { // of two that have a name, their order says which counts
		return object
	}
	return json.RawMessage("{" + strings.Join(append(short, long...), ",") + "}")
}
