package tui

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// consentCard asks whether a call may run.
type consentCard struct {
	pending
	card host.Card

	choosing bool // which calls the rule is about
	allow    bool // what the rule says
	forever  bool
	selected int

	noting bool // what to do instead is being typed
	note   editor.Buffer
}

func (c *consentCard) press(s *screen, k keypress) bool {
	switch {
	case c.noting:
		return c.pressNote(k)
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
	case "s", "a", "d":
		if len(c.card.Always) > 0 {
			c.choosing, c.allow, c.forever, c.selected = true, k.text != "d", k.text != "s", 0
			c.scroll.at = 0
		}
	}
	if k.name == "esc" {
		c.ask.answer(host.Verdict{})
		return true
	}
	return false
}

// pressNote handles the keys while the note is typed.
func (c *consentCard) pressNote(k keypress) bool {
	switch k.name {
	case "esc":
		c.noting = false
	case "enter":
		c.ask.answer(host.Verdict{Note: strings.TrimSpace(c.note.Text())})
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

// pressScope handles the keys while the rule is chosen.
func (c *consentCard) pressScope(s *screen, k keypress) bool {
	switch k.name {
	case "esc":
		c.choosing = false
	case "enter":
		rule := c.rule(c.selected)
		c.ask.answer(host.Verdict{Allow: c.allow, Rule: &rule, Forever: c.forever})
		s.print(c.chosen(s.width)...)
		return true
	case "up":
		c.selected = max(0, c.selected-1)
	case "down", "tab":
		c.selected = min(len(c.card.Always)-1, c.selected+1)
	}
	if n := int(first(k.text)) - '1'; n >= 0 && n < len(c.card.Always) {
		c.selected = n
	}
	return false
}

// chosen says what holds from now on.
func (c *consentCard) chosen(width int) []ink.Line {
	what, until := "allowed", "for this session"
	if !c.allow {
		what = "denied"
	}
	if c.forever {
		until = "for good (junction policy list shows all rules)"
	}
	text := fmt.Sprintf("%s: %s is %s %s", toolName(orElse(c.card.Server, "junction itself"), c.card.Tool), c.card.Always[c.selected].Label, what, until)
	return ink.Indent(ink.Lines(ink.Muted, text, width-2), ink.Line{ink.T(ink.Accent, "§ ")}, ink.Of("  "))
}

// first is the first byte of a text, or 0.
func first(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

// rule is one of the rules that can be written, as it would be written.
func (c *consentCard) rule(i int) policy.Rule {
	rule := c.card.Always[i].Rule
	if !c.allow {
		rule.Effect = policy.Deny
	}
	return rule
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
	case len(c.card.Always) > 0:
		foot = s.foot(width, "", "y once", "s this session…", "a always…", "n no", "N no, with a note", "d never…", "↑↓ scroll")
	default:
		foot = s.foot(width, "", "y once", "n no", "N no, with a note", "↑↓ scroll")
	}
	return framed(title, c.laid.of(width, c.body), &c.scroll, foot, width, height)
}

// body is everything there is to know about the call.
func (c *consentCard) body(width int) []ink.Line {
	call := &c.card
	head := ink.Line{ink.T(ink.Plain, toolName(orElse(call.Server, "junction itself"), call.Tool), ink.Bold)}
	if call.Title != "" {
		head = append(head, ink.T(ink.Plain, " “"+oneLine(call.Title, 120)+"”"))
	}
	lines := ink.Wrap(head, width)
	lines = append(lines, warnings(call.Reasons, width)...)
	lines = append(lines, about("resource", ink.Link, call.Resource, width)...)
	if call.Resource == "" || len(call.Arguments) > 0 {
		lines = append(lines, ink.Line{ink.T(ink.Muted, "arguments:")})
		lines = append(lines, ink.Indent(jsonLines(call.Arguments, width-2), ink.Of("  "), ink.Of("  "))...)
	}
	lines = append(lines, about("the server says", ink.Plain, claims(&call.Annotations, call.Trusted), width)...)
	return append(lines, about("description", ink.Muted, oneLine(call.Description, 2_000), width)...)
}

// claims are what a server says about its tool.
func claims(a *mcp.ToolAnnotations, trusted bool) string {
	var words []string
	say := func(hint *bool, yes, no string) {
		if hint != nil && *hint {
			words = append(words, yes)
		}
		if hint != nil && !*hint {
			words = append(words, no)
		}
	}
	say(a.ReadOnlyHint, "only reads", "changes things")
	if a.ReadOnlyHint == nil || !*a.ReadOnlyHint {
		say(a.DestructiveHint, "may destroy", "only adds")
		say(a.IdempotentHint, "twice is the same as once", "twice is not the same as once")
	}
	say(a.OpenWorldHint, "deals with the outside world", "stays inside")
	switch {
	case len(words) == 0:
		return "nothing about what it does"
	case trusted:
		return strings.Join(words, ", ")
	}
	return strings.Join(words, ", ") + " (its claim; you do not trust it)"
}

// scopeLines show the rules to choose from, and the selected one as it would be
// written.
func (c *consentCard) scopeLines(s *screen, width, height int) []ink.Line {
	what, until := "allow", "for this session"
	if !c.allow {
		what = "deny"
	}
	if c.forever {
		until = "always"
	}
	var body []ink.Line
	for i, always := range c.card.Always {
		mark, attr := "  ", ink.Attr(0)
		if i == c.selected {
			mark, attr = "▸ ", ink.Bold
		}
		label := ink.Line{ink.T(ink.Accent, fmt.Sprintf("%s%d ", mark, i+1)), ink.T(ink.Plain, oneLine(always.Label, 200), attr)}
		body = append(body, ink.Wrap(label, width)...)
		if i == c.selected {
			rule := c.rule(i)
			text, err := schema.Encode(nil, rule)
			if err != nil {
				text = []byte(rule.String())
			}
			body = append(body, ink.Indent(jsonLines(text, width-4), ink.Of("    "), ink.Of("    "))...)
		}
	}
	c.scroll.at = min(c.scroll.at, c.selected)
	foot := s.foot(width, "its number; anything else goes back", "Enter "+what, "↑↓ choose", "Esc back")
	return framed(what+" "+until+": which calls?", body, &c.scroll, foot, width, height)
}
