package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
)

// quietTime is the pause without keys before a card accepts one. A user who is typing does not
// read, and a letter meant for the input must not become a consent.
const quietTime = 700 * time.Millisecond

// A card is an overlay that waits for the user's decision.
type card interface {
	overlay
	state() *pending
	takesText() bool                  // reports whether letters are text now
	keys() [][2]string                // descriptions of its keys, except those that scroll
	esc() string                      // effect of Esc now
	line(s *screen, text string) bool // handles a typed line, and reports whether the card is done
}

// pending is the state that all cards share.
type pending struct {
	ask    *ask
	since  time.Time // time when the card appeared
	awake  bool      // the card accepts keys
	locked bool      // the card appeared while the user was typing, and needs Tab or Enter first
	typed  string    // keys since the last pause: perhaps the beginning of a word
	help   *pager    // help about the keys, shown in place of the card
	scroll scroll
	laid   body
}

func (p *pending) state() *pending { return p }
func (p *pending) takesText() bool { return false }

// escMeans describes the effect of Esc now.
func (s *screen) escMeans() string {
	if len(s.cards) == 0 {
		return "Esc interrupts"
	}
	switch p := s.cards[0].state(); {
	case p.help != nil:
		return "Esc goes back"
	case p.locked:
		return "Ctrl+C cancels"
	}
	return s.cards[0].esc()
}

// cardLines returns the lines of the first card, or of its help.
func (s *screen) cardLines(height int) []ink.Line {
	if help := s.cards[0].state().help; help != nil {
		return help.lines(s, s.width, height)
	}
	return s.cards[0].lines(s, s.width, height)
}

// cardInSight records the time at which the first card appeared.
func (s *screen) cardInSight() {
	if len(s.cards) == 0 {
		return
	}
	if p := s.cards[0].state(); p.since.IsZero() {
		p.since, p.locked = s.now(), !s.input.Empty() || s.panel != nil
	}
}

// body is the content of a card, laid out once for each width because it can be long.
type body struct {
	width int
	lines []ink.Line
}

func (b *body) of(width int, layout func(width int) []ink.Line) []ink.Line {
	if b.lines == nil || b.width != width {
		b.width, b.lines = width, ink.Exact(layout(width), width)
	}
	return b.lines
}

// newCard returns the card for a question. A question of unknown type gets an empty card, which
// cannot be approved.
func newCard(s *screen, a *ask) card {
	switch what := a.what.(type) {
	case callQuestion:
		return &consentCard{pending: pending{ask: a}, card: what.card, change: what.change}
	case []host.Review:
		return newReviewCard(a, what)
	case host.Form:
		return newFormCard(a, what)
	case host.Sampling:
		return &sampleCard{pending: pending{ask: a}, sampling: what}
	}
	return &sampleCard{pending: pending{ask: a}}
}

// decide passes a key to the first card, once the user had time to read it.
func (s *screen) decide(k keypress) {
	s.cardInSight()
	c := s.cards[0]
	p := c.state()
	if k.text == "" || s.now().Sub(s.pressed) >= quietTime {
		p.typed = ""
	}
	switch {
	case p.help == nil && k.name != "f1" && !p.awake && !s.wakes(p, k):
		return
	case p.help == nil && isStrayKey(c, k):
		s.stray(c, k.text)
		return
	}
	s.forCard, p.typed = k.name, p.typed+k.text // a user who reads the help is not typing
	switch {
	case p.help != nil:
		if p.help.press(s, k) {
			p.help = nil
		}
		return
	case k.name == "f1", k.text == "?" && !c.takesText():
		p.help = &pager{title: "keys of this card", build: func(_ *screen, width int) []ink.Line {
			return pairs(append(c.keys(), [2]string{"↑ ↓ PgUp PgDn Home End", "scroll"}, [2]string{"Ctrl+C", "cancel the run"}), width)
		}}
		return
	}
	if c.press(s, k) {
		s.cards = s.cards[1:]
		s.menu.update(s)
	}
	s.cardInSight()
}

// stray moves a key that is not an answer into the input, with the keys right before it. The card
// then waits for Tab or Enter.
func (s *screen) stray(c card, text string) {
	p := c.state()
	switch c := c.(type) { // close a submenu that a letter of the word opened
	case *consentCard:
		c.choosing = false
	case *reviewCard:
		c.trusting, c.reading = false, false
	}
	s.input.Insert(p.typed + text)
	p.awake, p.locked, p.typed, s.forCard = false, true, "", ""
}

// isStrayKey reports whether a character means nothing to a card. The user is then typing a text,
// whose next letter could be an answer.
func isStrayKey(c card, k keypress) bool {
	if k.text == "" || k.name == "space" || k.text == "?" || c.takesText() {
		return false
	}
	switch c := c.(type) {
	case *formCard:
		if c.page == nil && c.fault == "" && !c.checking { // its choices and buttons take other keys
			return false
		}
	case *consentCard:
		if c.choosing {
			_, isChoice := numberOf(k.text, len(c.choices))
			return !isChoice
		}
	case *reviewCard:
		if _, isServer := numberOf(k.text, len(c.servers)); isServer {
			return false
		}
	}
	return !slices.ContainsFunc(c.keys(), func(row [2]string) bool { return slices.Contains(strings.Fields(row[0]), k.text) })
}

// numberOf returns the number in text if it is from 1 to most.
func numberOf(text string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= most
}

// wakes reports whether a card accepts a key and all that follow. Keys of a user who is still
// typing go to the input.
func (s *screen) wakes(p *pending, k keypress) bool {
	now := s.now()
	quiet := now.Sub(p.since) >= quietTime && now.Sub(s.pressed) >= quietTime
	switch {
	case quiet && !p.locked:
		p.awake = true
	case quiet && (k.name == "tab" || k.name == "enter"):
		p.locked = false
	case s.forCard == k.name: // the key that answered the card before, perhaps pressed twice
	case editKey(&s.input, k):
		p.locked = !s.input.Empty() // a user who deleted all text has stopped typing
	}
	s.forCard = ""
	return p.awake
}

// asleep returns the input below a card that accepts no keys yet, with a line about the key that
// wakes it.
func (s *screen) asleep(room int) ([]ink.Line, *tea.Cursor) {
	lines, cursor := s.inputLines(room)
	hint := ink.Line{ink.T(ink.Warn, "You were typing, so this question waits: press "), ink.T(ink.Accent, "Tab", ink.Bold), ink.T(ink.Warn, " or "), ink.T(ink.Accent, "Enter", ink.Bold), ink.T(ink.Warn, ", pause, then answer.")}
	hints := ink.Wrap(hint, s.width)
	cursor.Y += len(hints)
	return append(hints, lines...), cursor
}

// about returns a labelled line of a card, with text from the user or the server.
func about(name string, role ink.Role, text string, width int) []ink.Line {
	if text == "" {
		return nil
	}
	first := ink.Line{ink.T(ink.Muted, name+": ")}
	return ink.Barred(append(first, ink.T(role, text)), width)
}

// warnings returns highlighted lines.
func warnings(texts []string, width int) []ink.Line {
	var lines []ink.Line
	for _, text := range texts {
		lines = append(lines, ink.Indent(ink.Lines(ink.Warn, text, width-2), ink.Line{ink.T(ink.Warn, "! ", ink.Bold)}, ink.Of("  "))...)
	}
	return lines
}

// scrollKeys describes the keys that scroll a card.
const scrollKeys = "↑↓ PgUp PgDn Home End scroll"

// foot returns the descriptions of all keys of a card. In line mode it returns byLine, or the
// letters among the keys.
func (s *screen) foot(width int, byLine string, keys ...string) []ink.Line {
	switch {
	case !s.byLine:
		return wrapKeys(width, append(keys, "F1 keys", "Ctrl+C cancel")...)
	case byLine != "":
		return ink.Lines(ink.Muted, byLine, width)
	}
	return wrapKeys(width, slices.DeleteFunc(keys, func(k string) bool { return k[1] != ' ' })...)
}

// wrapKeys returns descriptions of keys on as many lines as they need.
func wrapKeys(width int, keys ...string) []ink.Line {
	var lines []ink.Line
	var row []string
	for _, k := range keys {
		if len(row) > 0 && keyLine(append(row, k)...).Width() > width {
			lines, row = append(lines, keyLine(row...)), nil
		}
		row = append(row, k)
	}
	return append(lines, keyLine(row...))
}

// A choice is an answer that applies to more than one call.
type choice struct {
	label   string
	detail  func(width int) []ink.Line
	verdict host.Verdict
	said    string // line about the new rule or trust
}

// offers returns the descriptions of the card's keys: at first only the common ones, and all of
// them after m was pressed. All useful keys work in both cases.
func (c *consentCard) offers(byLine bool) []string {
	keys, no := []string{"y yes, once"}, "n Esc no"
	if byLine {
		no = "n no"
	}
	if c.hides() {
		if len(c.card.Always) > 0 {
			keys = append(keys, "f yes to all of "+plaintext.Line(orElse(c.card.Server, "junction itself"), 30)+", for this question")
		}
		return append(keys, no, "m more…", scrollKeys)
	}
	if len(c.card.Always) > 0 {
		keys = append(keys, "f all of this server, for this question", "s this session…", "a always…")
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

// hides reports whether the card has more answers than it shows.
func (c *consentCard) hides() bool { return !c.more && len(c.card.Always)+len(c.card.Never) > 0 }

// widest returns the rule for "yes for this question", or nil. It allows all calls of the server,
// because a task seldom needs only one call, and ends with the task.
func widest(card *host.ApprovalCard) *host.AlwaysRule {
	if len(card.Always) == 0 {
		return nil
	}
	return &card.Always[len(card.Always)-1]
}

// choose opens the choices for a key, if it has any.
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
		c.title, c.choices = "trust "+plaintext.Line(c.card.Server, 60)+": until when?", c.trusts()
	}
	c.choosing, c.selected, c.scroll.at = len(c.choices) > 0, 0, 0
}

// rules returns choices among rules, each with its JSON. The rule for this tool with any arguments
// comes first, because the same arguments seldom come again. The others follow, the narrowest
// first.
func (c *consentCard) rules(rules []host.AlwaysRule, verdict host.Verdict, said string) []choice {
	var choices []choice
	anyArguments := func(rule host.AlwaysRule) bool {
		return rule.Rule.Tool != "" && rule.Rule.Tool != "*" && !strings.Contains(rule.Rule.When, "args")
	}
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

// trusts returns the choices for the duration of trust in the server. Each also allows the call.
func (c *consentCard) trusts() []choice {
	if !c.card.CanTrust {
		return nil
	}
	means := func(width int) []ink.Line {
		return ink.Lines(ink.Muted, "This call runs. The server's annotations are taken as true, and its definitions and changes are not reviewed. Text from outside of it stays untrusted.", width)
	}
	var choices []choice
	for _, forever := range []bool{false, true} {
		label, said := "for this session", "For this session: trust "
		if forever {
			label, said = "permanently, with its present command", "Saved in your policy: trust "
		}
		choices = append(choices, choice{label: label, detail: means, said: said + c.card.Server, verdict: host.Verdict{Allow: true, Trust: true, Forever: forever}})
	}
	return choices
}

// scopeLines returns the choices, and the detail of the selected one.
func (c *consentCard) scopeLines(s *screen, width, height int) []ink.Line {
	var body []ink.Line
	for i, choice := range c.choices {
		mark, attr := "  ", ink.Attr(0)
		if i == c.selected {
			mark, attr = "▸ ", ink.Bold
		}
		number := ink.Line{ink.T(ink.Accent, fmt.Sprintf("%s%d ", mark, i+1))}
		label := ink.Wrap(ink.Line{ink.T(ink.Plain, plaintext.Line(choice.label, 200), attr)}, width-4)
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

// Help for the keys of each card, shown by F1.

func (c *consentCard) takesText() bool { return c.noting }

func (c *consentCard) esc() string {
	if c.noting || c.choosing {
		return "Esc goes back"
	}
	return "Esc refuses"
}

func (c *consentCard) keys() [][2]string {
	rows := [][2]string{{"y", "allow this call"}, {"n Esc", "refuse it"}, {"N", "refuse it, and tell the model what to do instead"}}
	if len(c.card.Always) > 0 {
		rows = append(rows, [2]string{"f", "allow " + widest(&c.card).Label + ", until this question is answered"}, [2]string{"s", "allow for this session: you choose which calls"}, [2]string{"a", "always allow: you choose which calls, and see the rule"})
	}
	if len(c.card.Never) > 0 {
		rows = append(rows, [2]string{"d", "never allow: you choose which calls"})
	}
	if c.card.CanTrust {
		rows = append(rows, [2]string{"t", "allow it, and trust the server: for this session or permanently"})
	}
	if c.hides() {
		rows = append(rows, [2]string{"m", "show all answers"})
	}
	return rows
}

func (c *reviewCard) esc() string {
	if c.trusting || c.reading || c.open && len(c.servers) > 1 {
		return "Esc goes back"
	}
	return "Esc refuses"
}

func (c *reviewCard) keys() [][2]string {
	if c.trusting {
		return [][2]string{{"s", "approve and trust the server for this session"}, {"a", "approve and trust it permanently, with its present command"}, {"Esc", "back"}}
	}
	if c.reading {
		return [][2]string{{"y", "approve the server, and treat these tools as read-only"}, {"Esc", "back"}}
	}
	rows := [][2]string{{"y", "let the model use the server"}, {"n", "keep it from the model"}, {"t", "let the model use it, and trust the server"}}
	if len(c.servers) > 0 && len(c.servers[c.selected].overview.Silent) > 0 {
		rows = append(rows, [2]string{"r", "let the model use it, and treat its tools without annotations as read-only"})
	}
	if c.brief {
		return [][2]string{{"y A", "let the model use all of them"}, {"n Esc", "keep all of them from the model"}, {"d Enter", "look at each, and answer one by one"}, {"1 2 3 …", "look at one"}}
	}
	return append(rows, [2]string{"d Enter", "show all that it defines"}, [2]string{"A", "approve all new servers without warnings"},
		[2]string{"1 2 3 …", "choose a server"}, [2]string{"Esc", "refuse all that wait, or back from the details"})
}

func (c *formCard) takesText() bool {
	return !c.checking && c.at < len(c.fields) && len(c.fields[c.at].Choices) == 0
}

func (c *formCard) esc() string {
	switch {
	case c.checking:
		return "Esc edits"
	case c.leaving:
		return "Esc discards your input"
	}
	return "Esc cancels the form"
}

func (c *formCard) keys() [][2]string {
	if c.fault != "" {
		return [][2]string{{"n", "decline"}, {"Esc", "cancel"}}
	}
	if c.page != nil {
		return [][2]string{{"y", "you visit the page"}, {"n", "decline"}, {"Esc", "cancel"}}
	}
	return [][2]string{{"Tab Shift+Tab", "next and previous field"}, {"Space ← →", "choose"}, {"Enter", "next field; at the end: show what would be sent"},
		{"y Enter", "send it, after you have seen all of it"}, {"n", "decline"}, {"e Esc", "edit; before that Esc cancels (press it twice if you typed something)"}}
}

func (c *sampleCard) esc() string { return "Esc refuses" }

func (c *sampleCard) keys() [][2]string {
	return [][2]string{{"y", "let the server ask the model, once"}, {"n Esc", "refuse"}}
}

// consentCard asks whether a call may run.
type consentCard struct {
	pending
	card   host.ApprovalCard
	change *edit // change of a file on this disk; nil if none is known

	more     bool   // all answers are shown
	whole    bool   // all arguments have been visible
	short    body   // layout for when the full one does not fit
	ends     [2]int // number of lines up to the end of the arguments, in both layouts
	choosing bool   // the user chooses a scope
	title    string
	choices  []choice
	selected int

	noting bool // the user types a note for the model
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
	if strings.Contains("yfsat", k.text) && k.text != "" && !c.whole { // a key that allows the call first scrolls through the arguments
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
	case "m":
		c.more = true
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

// pressNote handles keys while the user types the note.
func (c *consentCard) pressNote(s *screen, k keypress) bool {
	switch k.name {
	case "esc":
		c.noting = false
	case "enter":
		note := strings.TrimSpace(c.note.Text())
		s.refusalNote.call, s.refusalNote.text = c.card.CallID, note
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

// pressScope handles keys while the user chooses a scope.
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

// tell prints a line about the new rule or trust.
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
		foot = append(foot, s.foot(width, "one line, or nothing", "Enter say no", "Esc back")...)
	default:
		foot = s.foot(width, "", c.offers(s.byLine)...)
	}
	body, end := c.fitting(width, height-1-len(foot))
	if room := height - 1 - len(foot); !c.whole && end > room {
		more := ink.Line{ink.T(ink.Warn, "There is more text below: see its end before you allow it.")}
		foot = append([]ink.Line{more.Cut(width)}, foot...)
	}
	lines := framed(title, body, &c.scroll, foot, width, height)
	c.whole = c.whole || c.scroll.at+c.scroll.rows >= end
	return lines
}

// fitting returns the layout for so many rows, and the line after the arguments. If the full layout
// does not fit, each text before the arguments is cut to one line, and follows in full after them.
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

// body returns the text about the call up to its arguments, and the text after them. Short texts
// come first, so that long ones do not hide them.
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
	head := ink.Line{ink.T(ink.Plain, plaintext.Unbroken(toolName(orElse(call.Server, "junction itself"), call.Tool)), ink.Bold)}
	if call.Title != "" {
		head = append(head, ink.T(ink.Plain, " “"+plaintext.Line(call.Title, 120)+"”"))
	}
	lines = append(ink.Barred(head, width), about("sub-agent", ink.Plain, plaintext.Line(call.Agent, 120), width)...)
	lines = append(lines, about("resource", ink.Link, plaintext.Unbroken(call.Resource), width)...)
	reasons := call.Reasons
	if call.NoRule != "" && call.Resource == "" { // the effects of the call are described below
		reasons = reasons[1:]
		say(ink.Lines(ink.Plain, "New: "+call.NoRule+".", width))
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
	description := about("description", ink.Muted, plaintext.Line(call.Description, 2_000), width)
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

// fewArguments is the number of lines of arguments up to which the description comes first. The
// decision is about the arguments.
const fewArguments = 12

// shortFirst returns an object with its short members before the long ones, so that for example the
// path of a file is visible before its content.
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
	if len(short) == 0 || len(long) == 0 || len(seen) != len(short)+len(long) { // with duplicate names, the order decides which one counts
		return object
	}
	return json.RawMessage("{" + strings.Join(append(short, long...), ",") + "}")
}
