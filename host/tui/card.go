package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// quietTime is how long no key may be pressed before a card takes one: who types is
// not reading, and must not consent by a letter that was meant for the input.
const quietTime = 700 * time.Millisecond

// A card is an overlay that waits for the person's decision.
type card interface {
	overlay
	state() *pending
	takesText() bool                  // letters are text now
	keys() [][2]string                // what keys do, but for those that scroll
	esc() string                      // what Esc does now
	line(s *screen, text string) bool // takes a line that was typed, and reports whether the card is done
}

// pending is what every card has.
type pending struct {
	ask    *ask
	since  time.Time // when it came up
	awake  bool      // it takes keys
	locked bool      // it came up while something was being typed: Tab or Enter comes first
	typed  string    // what it took since the last pause: the beginning of a word, if one is typed
	help   *pager    // what its keys do, in its place
	scroll scroll
	laid   body
}

func (p *pending) state() *pending { return p }
func (p *pending) takesText() bool { return false }

// escMeans says what Esc does now.
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

// cardLines are the first card, or what its keys do.
func (s *screen) cardLines(height int) []ink.Line {
	if help := s.cards[0].state().help; help != nil {
		return help.lines(s, s.width, height)
	}
	return s.cards[0].lines(s, s.width, height)
}

// cardInSight notes since when the first card is shown.
func (s *screen) cardInSight() {
	if len(s.cards) == 0 {
		return
	}
	if p := s.cards[0].state(); p.since.IsZero() {
		p.since, p.locked = s.now(), !s.input.Empty() || s.panel != nil
	}
}

// body is what a card shows, laid out once for each width: it can be long.
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

// newCard is the card for what is asked. What cannot be shown is answered with nothing,
// which means no.
func newCard(s *screen, a *ask) card {
	switch what := a.what.(type) {
	case wanted:
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

// decide hands a key to the first card, once the person could read it.
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
	case p.help == nil && strays(c, k):
		s.stray(c, k.text)
		return
	}
	s.forCard, p.typed = k.name, p.typed+k.text // whoever reads the help is not typing either
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

// stray takes what is no answer into the input, with what was typed right before it, and has the card wait.
func (s *screen) stray(c card, text string) {
	p := c.state()
	switch c := c.(type) { // a next step that a letter of the word took
	case *consentCard:
		c.choosing = false
	case *reviewCard:
		c.trusting, c.reading = false, false
	}
	s.input.Insert(p.typed + text)
	p.awake, p.locked, p.typed, s.forCard = false, true, "", ""
}

// strays reports whether a character means nothing to a card: whoever presses it is typing
// something else, and the next letter would be an answer.
func strays(c card, k keypress) bool {
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

// numberOf is the number from 1 to most that a text is.
func numberOf(text string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= most
}

// wakes reports whether a card takes a key, and all that follow. While the person is
// typing, what they type goes where it was meant to go.
func (s *screen) wakes(p *pending, k keypress) bool {
	now := s.now()
	quiet := now.Sub(p.since) >= quietTime && now.Sub(s.pressed) >= quietTime
	switch {
	case quiet && !p.locked:
		p.awake = true
	case quiet && (k.name == "tab" || k.name == "enter"):
		p.locked = false
	case s.forCard == k.name: // the card before, perhaps twice
	case editKey(&s.input, k):
		p.locked = !s.input.Empty() // whoever deleted it all is not typing
	}
	s.forCard = ""
	return p.awake
}

// asleep are the input, below a card that takes no keys yet, and how to wake it.
func (s *screen) asleep(room int) ([]ink.Line, *tea.Cursor) {
	lines, cursor := s.inputLines(room)
	hint := ink.Line{ink.T(ink.Warn, "You were typing. "), ink.T(ink.Accent, "Tab", ink.Bold), ink.T(ink.Warn, " or "), ink.T(ink.Accent, "Enter", ink.Bold), ink.T(ink.Warn, ", then wait a moment and answer.")}
	cursor.Y++
	return append([]ink.Line{hint.Cut(s.width)}, lines...), cursor
}

// about is a line of a card: what it is about, in the person's words and the server's.
func about(name string, role ink.Role, text string, width int) []ink.Line {
	if text == "" {
		return nil
	}
	first := ink.Line{ink.T(ink.Muted, name+": ")}
	return ink.Barred(append(first, ink.T(role, text)), width)
}

// warnings are lines that a person should not overlook.
func warnings(texts []string, width int) []ink.Line {
	var lines []ink.Line
	for _, text := range texts {
		lines = append(lines, ink.Indent(ink.Lines(ink.Warn, text, width-2), ink.Line{ink.T(ink.Warn, "! ", ink.Bold)}, ink.Of("  "))...)
	}
	return lines
}

// scrollKeys are the keys that scroll a card.
const scrollKeys = "↑↓ PgUp PgDn Home End scroll"

// foot says what all keys of a card do. Where there are only lines, it is byLine, or the letters
// among the keys.
func (s *screen) foot(width int, byLine string, keys ...string) []ink.Line {
	switch {
	case !s.byLine:
		return wrapKeys(width, append(keys, "F1 keys", "Ctrl+C cancel")...)
	case byLine != "":
		return ink.Lines(ink.Muted, byLine, width)
	}
	return wrapKeys(width, slices.DeleteFunc(keys, func(k string) bool { return k[1] != ' ' })...)
}

// wrapKeys puts keys on as many lines as they need.
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
