package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/host/tui/internal/markdown"
)

const (
	maxTranscript = 20_000 // printed lines that are remembered for the search
	maxQueue      = 5_000  // lines that wait to be printed before no more is heard
)

// paper is what was printed above the frame, or waits for it. Printing is asked
// of the program one piece after the other: two pieces at the same time could
// come out in any order.
type paper struct {
	queue      []ink.Line
	printing   bool
	begun      bool // something was printed
	transcript []ink.Line

	drawn    int  // the height of the highest frame that may be on the terminal
	peak     int  // of the frames since settling began
	held     bool // nothing may be printed before that
	settling bool // it is being waited until a lower frame is drawn
}

// print prints lines, with an empty line before them.
func (s *screen) print(lines ...ink.Line) {
	if len(lines) == 0 {
		return
	}
	if s.paper.begun {
		s.add(nil)
	}
	s.paper.begun = true
	s.add(lines...)
}

// add prints lines right below the last one.
func (s *screen) add(lines ...ink.Line) {
	for _, l := range lines {
		s.paper.queue = append(s.paper.queue, l.Cut(s.width))
	}
	s.paper.transcript = append(s.paper.transcript, lines...)
	if extra := len(s.paper.transcript) - maxTranscript; extra > 0 {
		s.paper.transcript = slices.Delete(s.paper.transcript, 0, extra)
	}
}

func (s *screen) printMarkdown(text string) { s.print(markdown.Render(text, s.width)...) }

// say prints a remark of the program itself.
func (s *screen) say(role ink.Role, text string) {
	s.print(ink.Lines(role, text, s.width)...)
}

// flush prints what waits. No more goes out at once than fits above the frame:
// the terminal scrolls by so much, and would take the frame along. What counts is
// the highest frame that may still be on the terminal.
func (s *screen) flush() tea.Cmd {
	p := &s.paper
	if p.printing || len(p.queue) == 0 || s.width == 0 || s.full {
		return nil
	}
	room := max(1, s.height-p.drawn-1)
	if p.held || room < len(p.queue) && s.frame < p.drawn {
		return s.settle()
	}
	n := min(len(p.queue), room)
	text := s.theme.PaintAll(p.queue[:n])
	if text == "" {
		text = " " // nothing at all would print no line
	}
	p.queue = slices.Delete(p.queue, 0, n)
	p.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

// settle waits until a lower frame is on the terminal.
func (s *screen) settle() tea.Cmd {
	if s.paper.settling {
		return nil
	}
	s.paper.settling, s.paper.peak = true, s.frame
	return tea.Tick(drawTime, func(time.Time) tea.Msg { return settledMsg{} })
}

// drew notes how high the frame is that goes to the terminal next.
func (p *paper) drew(height int) {
	p.drawn, p.peak = max(p.drawn, height), max(p.peak, height)
}

// settled notes that frames of some time ago are on the terminal.
func (p *paper) settled() { p.settling, p.held, p.drawn = false, false, p.peak }
