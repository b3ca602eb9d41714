package tui

import (
	"slices"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// guardTime is how long a card takes no answer after it came up, so that nobody
// consents by a key that was meant for the input.
const guardTime = 400 * time.Millisecond

// A card is an overlay that waits for the person's decision.
type card interface {
	overlay
	asked() *ask
	begin(now time.Time) time.Time
}

// pending is what every card has.
type pending struct {
	ask    *ask
	since  time.Time // when it came up
	scroll scroll
	laid   body
}

func (p *pending) asked() *ask { return p.ask }

// begin notes that the card is in sight and returns since when.
func (p *pending) begin(now time.Time) time.Time {
	if p.since.IsZero() {
		p.since = now
	}
	return p.since
}

// body is what a card shows, laid out once for each width: it can be long.
type body struct {
	width int
	lines []ink.Line
}

func (b *body) of(width int, layout func(width int) []ink.Line) []ink.Line {
	if b.lines == nil || b.width != width {
		b.width, b.lines = width, layout(width)
	}
	return b.lines
}

// newCard is the card for what is asked. What cannot be shown is answered with nothing,
// which means no.
func newCard(s *screen, a *ask) card {
	switch what := a.what.(type) {
	case host.Card:
		return &consentCard{pending: pending{ask: a}, card: what}
	case host.Review:
		return &reviewCard{pending: pending{ask: a}, review: what}
	case host.Form:
		return newFormCard(a, what)
	case host.Sampling:
		return &sampleCard{pending: pending{ask: a}, sampling: what}
	}
	return &sampleCard{pending: pending{ask: a}}
}

// decide hands a key to the first card, once the person could see it.
func (s *screen) decide(k keypress) {
	c := s.cards[0]
	if s.now().Sub(c.begin(s.now())) < guardTime {
		return
	}
	if c.press(s, k) {
		s.cards = s.cards[1:]
	}
	if len(s.cards) > 0 {
		s.cards[0].begin(s.now())
	}
}

// about is a line of a card: what it is about, in the person's words and the server's.
func about(name string, role ink.Role, text string, width int) []ink.Line {
	if text == "" {
		return nil
	}
	first := ink.Line{ink.T(ink.Muted, name+": ")}
	return ink.Wrap(append(first, ink.T(role, text)), width)
}

// warnings are lines that a person should not overlook.
func warnings(texts []string, width int) []ink.Line {
	var lines []ink.Line
	for _, text := range texts {
		lines = append(lines, ink.Indent(ink.Lines(ink.Warn, text, width-2), ink.Line{ink.T(ink.Warn, "! ", ink.Bold)}, ink.Of("  "))...)
	}
	return lines
}

// foot says what keys do. Where there are only lines, it is byLine, or the letters
// among the keys.
func (s *screen) foot(width int, byLine string, keys ...string) []ink.Line {
	switch {
	case !s.byLine:
		return wrapKeys(width, keys...)
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
