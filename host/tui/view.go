package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// roomy is the height from which on there is an empty line above the frame.
const roomy = 16

// narrow is the width below which words are saved.
const narrow = 60

// View is the frame.
func (s *screen) View() tea.View { return s.view }

// draw lays out the frame: what is moving, the input or a card in its place, and
// the status line. It is lower than the screen, so that printing above it works.
// A panel takes the whole screen.
func (s *screen) draw() {
	s.paper.held, s.full = s.paper.held || s.full, false
	if s.width == 0 || s.quitting {
		s.show(nil, nil)
		return
	}
	if s.panel != nil && len(s.cards) == 0 {
		s.full = true
		s.show(append(s.panel.lines(s, s.width, s.height-1), s.status()), nil)
		return
	}
	room := s.height - 2 // for the status line, and one that stays free
	var bottom []ink.Line
	var cursor *tea.Cursor
	live := s.live()
	switch {
	case len(s.cards) > 0 && s.cards[0].state().locked:
		var below []ink.Line
		below, cursor = s.asleep(max(1, room/3))
		bottom = s.cardLines(min(room-len(below), s.cardHeight()))
		cursor.Y += len(bottom)
		bottom = append(bottom[:len(bottom):len(bottom)], below...)
	case len(s.cards) > 0:
		bottom = s.cardLines(min(room, s.cardHeight()))
	default:
		bottom, cursor = s.inputLines(room)
	}
	if s.height >= roomy && s.paper.begun {
		live = append([]ink.Line{nil}, live...)
	}
	live = live[max(0, len(live)-max(0, room-len(bottom))):]
	if cursor != nil {
		cursor.Y += len(live)
	}
	s.show(append(append(live[:len(live):len(live)], bottom...), s.status()), cursor)
}

// cardHeight is how many lines a card may have. A list of servers and a call may have them
// all, so that they fit.
func (s *screen) cardHeight() int {
	switch c := s.cards[0].(type) {
	case *reviewCard:
		if !c.open {
			return s.height
		}
	case *consentCard:
		return s.height
	}
	return max(8, s.height*2/3)
}

// show makes lines the frame.
func (s *screen) show(lines []ink.Line, cursor *tea.Cursor) {
	for i := range lines {
		lines[i] = lines[i].Cut(s.width)
	}
	s.view = tea.NewView(s.theme.PaintAll(lines))
	s.view.Cursor, s.view.AltScreen, s.view.WindowTitle = cursor, s.full, s.title()
	if !s.full {
		s.frame = len(lines)
		s.paper.drawn, s.paper.peak = max(s.paper.drawn, s.frame), max(s.paper.peak, s.frame)
	}
}

func (s *screen) inputWidth() int { return s.width - 2 }

// inputLines are the menu and the input, with the cursor in them.
func (s *screen) inputLines(room int) ([]ink.Line, *tea.Cursor) {
	rows, x, y := s.input.Layout(s.inputWidth())
	most := max(1, room/3)
	from := max(0, min(y-most+1, len(rows)-most))
	lines := s.waitingLines(s.width, room-min(len(rows), most)-1)
	if s.editsPlan() && room > min(len(rows), most)+len(lines) {
		lines = append(lines, append(ink.Line{ink.T(ink.Warn, "plan", ink.Bold), ink.T(ink.Muted, " · ")}, keyLine("Enter carries out these steps", "Esc leaves")...))
	}
	lines = append(lines, s.menu.lines(s.width, room-min(len(rows), most)-len(lines))...)
	cursor := tea.NewCursor(x+2, len(lines)+y-from)
	cursor.Shape, cursor.Blink = tea.CursorBar, false
	for i, r := range rows[from:min(len(rows), from+most)] {
		mark := ink.T(ink.Plain, "  ")
		if from+i == 0 {
			mark = ink.T(ink.Accent, "❯ ", ink.Bold)
		}
		lines = append(lines, append(ink.Line{mark}, s.inked(r.Text)...))
	}
	if s.input.Empty() {
		lines[len(lines)-1] = ink.Line{ink.T(ink.Accent, "❯ ", ink.Bold), ink.T(ink.Muted, s.invitation())}
	}
	return lines, cursor
}

// invitation stands where nothing was typed.
func (s *screen) invitation() string {
	if s.ui.options.Files != nil {
		return "ask something, / for commands, @ for files and resources"
	}
	return "ask something, / for commands, @ for resources"
}

// status is the last line: the model, the servers, the context, what it cost.
// What does not fit is left out, the least important first.
func (s *screen) status() ink.Line {
	if s.hint != "" {
		return ink.Line{ink.T(ink.Warn, oneLine(s.hint, s.width))}
	}
	m := s.session.Model()
	parts := []ink.Span{ink.T(ink.Plain, oneLine(orElse(m.Name, m.Provider), 30))}
	if !m.Language {
		parts[0] = ink.T(ink.Warn, "offline: not a language model")
		if s.width < narrow {
			parts[0].Text = "offline"
		}
	}
	parts = append(parts, s.serverStatus())
	if n := s.warnings(); n > 0 {
		parts = append(parts, ink.T(ink.Warn, plural(n, "warning", "warnings")+" in /log"))
	}
	parts = append(parts, s.contextStatus())
	t := s.session.Talk().Totals()
	if n := t.Usage.Input + t.Usage.Output; n > 0 {
		parts = append(parts, ink.T(ink.Muted, count(n)+" tokens"))
	}
	if t.Cost > 0 {
		parts = append(parts, ink.T(ink.Muted, money(t.Cost, t.CostUnknown)))
	}
	parts = append(parts, ink.T(ink.Muted, "F1 help"))
	line := ink.Line{parts[0]}
	for _, p := range parts[1:] {
		if p.Text == "" || line.Width()+3+ink.Width(p.Text) > s.width {
			continue
		}
		line = append(line, ink.T(ink.Muted, " · "), p)
	}
	return line
}

func (s *screen) contextStatus() ink.Span {
	l := s.used
	if l.Window == 0 {
		return ink.Span{}
	}
	role, share := ink.Muted, 100*l.Used/l.Window
	if share >= 80 {
		role = ink.Warn
	}
	return ink.T(role, fmt.Sprintf("context %s/%s %d%%", count(l.Used), count(l.Window), share))
}

// warnings are those that were not looked at.
func (s *screen) warnings() int {
	n := 0
	for i := range s.log {
		if s.log[i].at.After(s.readLog) && s.log[i].Level.Severity() >= 4 {
			n++
		}
	}
	return n
}

// typedLines is text that is being typed on a card.
func typedLines(b *editor.Buffer, width int) []ink.Line {
	text := withCursor(b, 0)
	if strings.Contains(b.Text(), "\n") || text.Width() > width {
		return ink.Wrap(text, width)
	}
	return []ink.Line{text}
}
