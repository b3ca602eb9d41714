package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/host/tui/internal/markdown"
)

// maxTranscript is how many printed lines are remembered for the search.
const maxTranscript = 20_000

// paper is what was printed above the frame, or waits for it. Printing is asked
// of the program one piece after the other: two pieces at the same time could
// come out in any order.
type paper struct {
	queue      []ink.Line
	printing   bool
	begun      bool // something was printed
	transcript []ink.Line
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
// the terminal scrolls by so much, and would take the frame along.
func (s *screen) flush() tea.Cmd {
	if s.paper.printing || len(s.paper.queue) == 0 || s.width == 0 {
		return nil
	}
	n := min(len(s.paper.queue), max(1, s.height-s.frame-1))
	text := s.theme.PaintAll(s.paper.queue[:n])
	if text == "" {
		text = " " // nothing at all would print no line
	}
	s.paper.queue = slices.Delete(s.paper.queue, 0, n)
	s.paper.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}
