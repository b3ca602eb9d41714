package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/schema"
)

// A choice is what the person can say for more than one call.
type choice struct {
	label   string
	detail  func(width int) []ink.Line
	verdict host.Verdict
	said    string // what holds from now on
}

// offers are the keys of the card: only those that can help.
func (c *consentCard) offers(byLine bool) []string {
	keys, no := []string{"y once"}, "n Esc no"
	if byLine {
		no = "n no"
	}
	if len(c.card.Always) > 0 {
		keys = append(keys, "f this server, for this question", "s this session…", "a always…")
	}
	keys = append(keys, no, "N no, with a note")
	if len(c.card.Never) > 0 {
		keys = append(keys, "d never…")
	}
	if c.card.CanTrust {
		keys = append(keys, "t trust this server…")
	}
	return append(keys, scrollKeys)
}

// widest is the rule that a yes for the question makes: of all that the server does, as a task
// is seldom done with one call, and over once it is done. Nil where there is none.
func widest(card *host.Card) *host.AlwaysRule {
	if len(card.Always) == 0 {
		return nil
	}
	return &card.Always[len(card.Always)-1]
}

// choose lets the person choose what holds from now on, where the key offers that.
func (c *consentCard) choose(key string) {
	allow, always := "allow", "Rule saved (junction policy list shows all rules)"
	switch key {
	case "s":
		c.title, c.choices = "allow for this session: which calls?", c.rules(c.card.Always, host.Verdict{Allow: true}, "For this session: "+allow)
	case "a":
		c.title, c.choices = "allow always: which calls?", c.rules(c.card.Always, host.Verdict{Allow: true, Forever: true}, always+": "+allow)
	case "d":
		c.title, c.choices = "deny always: which calls?", c.rules(c.card.Never, host.Verdict{Forever: true}, always+": never "+allow)
	case "t":
		c.title, c.choices = "trust "+oneLine(c.card.Server, 60)+": until when?", c.trusts()
	}
	c.choosing, c.selected, c.scroll.at = len(c.choices) > 0, 0, 0
}

// rules are choices among rules, each shown as it would be written. The first is of this tool with any
// arguments, since the same arguments seldom come again; the others follow, the narrowest first.
func (c *consentCard) rules(rules []host.AlwaysRule, verdict host.Verdict, said string) []choice {
	var choices []choice
	if i := slices.IndexFunc(rules, anyArguments); i > 0 {
		rules = slices.Concat(rules[i:i+1], rules[:i], rules[i+1:])
	}
	for i := range rules {
		verdict.Rule = &rules[i].Rule
		choices = append(choices, choice{label: rules[i].Label, verdict: verdict,
			said: fmt.Sprintf("%s %s: %s", said, toolName(orElse(c.card.Server, "junction itself"), c.card.Tool), rules[i].Label),
			detail: func(width int) []ink.Line {
				text, err := schema.Encode(nil, rules[i].Rule)
				if err != nil {
					text = []byte(rules[i].Rule.String())
				}
				return jsonLines(text, width)
			}})
	}
	return choices
}

// anyArguments reports whether a rule is for one tool, whatever its arguments are.
func anyArguments(rule host.AlwaysRule) bool {
	return rule.Rule.Tool != "" && rule.Rule.Tool != "*" && !strings.Contains(rule.Rule.When, "args")
}

// trusts are choices of how long the server is trusted. Each allows the call, too.
func (c *consentCard) trusts() []choice {
	if !c.card.CanTrust {
		return nil
	}
	means := func(width int) []ink.Line {
		return ink.Lines(ink.Muted, "This call runs. What the server claims about its tools is believed, and what it defines or changes is not reviewed. What comes from outside of it stays untrusted.", width)
	}
	var choices []choice
	for _, forever := range []bool{false, true} {
		label, said := "for this session", "For this session: trust "
		if forever {
			label, said = "for good, as it is started now", "Saved in your policy: trust "
		}
		choices = append(choices, choice{label: label, detail: means, said: said + c.card.Server, verdict: host.Verdict{Allow: true, Trust: true, Forever: forever}})
	}
	return choices
}

// scopeLines show the choices, and what the selected one means.
func (c *consentCard) scopeLines(s *screen, width, height int) []ink.Line {
	var body []ink.Line
	for i, choice := range c.choices {
		mark, attr := "  ", ink.Attr(0)
		if i == c.selected {
			mark, attr = "▸ ", ink.Bold
		}
		number := ink.Line{ink.T(ink.Accent, fmt.Sprintf("%s%d ", mark, i+1))}
		label := ink.Wrap(ink.Line{ink.T(ink.Plain, oneLine(choice.label, 200), attr)}, width-4)
		body = append(body, ink.Indent(label, number, ink.Of("    "))...)
		if i == c.selected || s.byLine {
			body = append(body, ink.Indent(choice.detail(width-4), ink.Of("    "), ink.Of("    "))...)
		}
	}
	c.scroll.at = min(c.scroll.at, c.selected)
	what := "Enter allow"
	switch {
	case !c.choices[0].verdict.Allow:
		what = "Enter deny"
	case c.choices[0].verdict.Trust:
		what = "Enter trust"
	}
	foot := s.foot(width, "Type a number, or Enter to go back", what, "↑↓ 1 2 3 … choose", "Esc back")
	return framed(c.title, body, &c.scroll, foot, width, height)
}
