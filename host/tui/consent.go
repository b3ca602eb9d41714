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

	whole    bool   // all of the arguments was in sight
	short    body   // what is shown where all of it does not fit
	ends     [2]int // the lines behind the arguments, in both
	choosing bool   // what holds from now on
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
	if strings.Contains("yfsat", k.text) && k.text != "" && !c.whole { // a key that allows first shows all of the arguments
		c.scroll.move("pgdown")
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
	case "f":
		if rule := widest(&c.card); rule != nil {
			c.ask.answer(host.Verdict{Allow: true, Rule: &rule.Rule, Question: true})
			c.tell(s, "Until this question is answered: allow "+orElse(c.card.Server, "junction itself")+": "+rule.Label)
			return true
		}
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
		c.tell(s, chosen.said)
		return true
	case "up":
		c.selected = max(0, c.selected-1)
	case "down", "tab":
		c.selected = min(len(c.choices)-1, c.selected+1)
	}
	if n, ok := numberOf(k.text, len(c.choices)); ok {
		c.selected = n - 1
	}
	return false
}

// tell says what holds from now on.
func (c *consentCard) tell(s *screen, text string) {
	s.print(ink.Indent(ink.Lines(ink.Muted, text, s.width-2), ink.Line{ink.T(ink.Accent, "§ ")}, ink.Of("  "))...)
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
		foot = s.foot(width, "", c.offers(s.byLine)...)
	}
	body, end := c.fitting(width, height-1-len(foot))
	if room := height - 1 - len(foot); !c.whole && end > room {
		more := ink.Line{ink.T(ink.Warn, "What would be sent goes on below: see its end before you allow it.")}
		foot = append([]ink.Line{more.Cut(width)}, foot...)
	}
	lines := framed(title, body, &c.scroll, foot, width, height)
	c.whole = c.whole || c.scroll.at+c.scroll.rows >= end
	return lines
}

// fitting is what is shown in so many rows, and where the arguments end in it. Where all of it
// does not fit, what is said about the call takes a line each before the arguments, and
// stands in full behind them.
func (c *consentCard) fitting(width, rows int) (lines []ink.Line, end int) {
	lay := func(fold bool, end *int) func(int) []ink.Line {
		return func(width int) []ink.Line {
			call, more := c.body(width, fold)
			*end = len(ink.Exact(call, width))
			return append(call, more...)
		}
	}
	if lines = c.laid.of(width, lay(false, &c.ends[0])); len(lines) <= rows {
		return lines, c.ends[0]
	}
	return c.short.of(width, lay(true, &c.ends[1])), c.ends[1]
}

// body is everything there is to know about the call, up to its arguments and behind them. What
// is short comes first, so that nothing is hidden by what is long.
func (c *consentCard) body(width int, fold bool) (lines, later []ink.Line) {
	call := &c.card
	say := func(all []ink.Line) {
		if lines = append(lines, all[:min(len(all), 1)]...); !fold {
			lines = append(lines, all[min(len(all), 1):]...)
		} else if len(all) > 1 {
			lines[len(lines)-1] = append(all[0][:len(all[0]):len(all[0])], ink.T(ink.Muted, " … (below)")).Cut(width)
			later = append(later, all...)
		}
	}
	head := ink.Line{ink.T(ink.Plain, unbroken(toolName(orElse(call.Server, "junction itself"), call.Tool)), ink.Bold)}
	if call.Title != "" {
		head = append(head, ink.T(ink.Plain, " “"+oneLine(call.Title, 120)+"”"))
	}
	lines = append(ink.Barred(head, width), about("sub-agent", ink.Plain, oneLine(call.Agent, 120), width)...)
	lines = append(lines, about("resource", ink.Link, unbroken(call.Resource), width)...)
	reasons := call.Reasons
	if call.NoRule != "" && call.Resource == "" { // what the call does is said below, once
		reasons = append([]string{call.NoRule}, reasons[1:]...)
	}
	for _, reason := range reasons {
		say(warnings([]string{reason}, width))
	}
	if len(call.Always) == 0 && call.Once != "" {
		say(ink.Lines(ink.Muted, "Only once: "+call.Once+".", width))
	}
	if call.Resource == "" {
		say(ink.Lines(ink.Plain, approval.Does(call), width))
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
	if many := len(arguments)+len(change) > fewArguments; many {
		say(description)
		description = nil
	}
	return slices.Concat(lines, change, arguments), append(later, description...)
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
