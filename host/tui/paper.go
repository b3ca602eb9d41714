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

	drawn    int       // the height of the highest frame that may be on the terminal
	peak     int       // of the frames since settling began
	held     bool      // nothing may be printed before that
	settling bool      // it is being waited until a lower frame is drawn
	resized  time.Time // when the terminal last had another size
	width    int       // that the lines of the queue fit in
	waited   int       // how often the program did not know the terminal's size yet
}

// maxWaited is how often printing waits for the program to hear of another size.
const maxWaited = 20

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
	s.paper.width = max(s.paper.width, s.width)
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
	if p.held = p.held || s.isOutgrown(); p.held {
		return s.settle()
	}
	p.fit(s.width)
	room := max(1, s.height-p.drawn-1)
	if room < len(p.queue) && s.frame < p.drawn {
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

// isOutgrown reports whether the terminal has another size than the program knows of. What
// is printed then lands on other lines, and the next frame erases it.
func (s *screen) isOutgrown() bool {
	width, height, known := s.ui.size()
	if !known || width == s.reported.width && height == s.reported.height || s.paper.waited >= maxWaited {
		s.paper.waited = 0
		return false
	}
	s.paper.waited++
	return true
}

// fit breaks the lines that wait for the width that the terminal has now: the terminal
// would break them where nobody counts it.
func (p *paper) fit(width int) {
	if p.width <= width {
		p.width = width
		return
	}
	p.width = width
	var rows []ink.Line
	for _, l := range p.queue {
		rows = append(rows, ink.Chop(l, width)...)
	}
	p.queue = rows
}

// settle waits until a lower frame is on the terminal.
func (s *screen) settle() tea.Cmd {
	if s.paper.settling {
		return nil
	}
	s.paper.settling, s.paper.peak = true, s.frame
	return tea.Tick(drawTime, func(time.Time) tea.Msg { return settledMsg{} })
}

// settled notes that frames of some time ago are on the terminal; unless it has had another
// size since, which a frame has to be drawn for.
func (p *paper) settled(now time.Time) {
	p.settling = false
	if now.Sub(p.resized) >= drawTime {
		p.held, p.drawn = false, p.peak
	}
}
