package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

const (
	maxWaiting   = 50 // questions that wait for the answer before
	waitingShown = 3  // of them on the screen
)

// waiting are questions that were typed while an answer came. They are sent one after
// the other, unless the person or an error stopped the run before. None overtakes another.
type waiting struct {
	texts []string
	held  bool // they wait until the person sends the next one
	first bool // what was the first of them could not be sent, and stands in the input
}

// enqueue has what was typed wait for its turn.
func (s *screen) enqueue(text string) {
	w := &s.waiting
	if len(w.texts) >= maxWaiting {
		s.hint = fmt.Sprintf("%d questions wait already; Esc interrupts the answer", maxWaiting)
		return
	}
	if w.texts = append(w.texts, text); len(w.texts) == 1 {
		w.held = false
	}
	w.first = false
	if s.run == nil {
		s.hint = fmt.Sprintf("it waits behind what was held; Enter sends the first of %d", len(w.texts))
	}
	s.input.Set("")
	s.menu.update(s)
}

// takeBack puts the last question that waits into the empty input, and reports whether
// there was one.
func (s *screen) takeBack() bool {
	n := len(s.waiting.texts)
	if n == 0 || !s.input.Empty() {
		return false
	}
	s.input.Set(s.folded(s.waiting.texts[n-1]))
	s.waiting.texts = s.waiting.texts[:n-1]
	return true
}

// goOn sends the next question that waits. One that cannot be sent comes back to the
// input, if that is free, or stays where it is.
func (s *screen) goOn() {
	w := &s.waiting
	if len(w.texts) == 0 || s.run != nil || s.quitting {
		return
	}
	text := w.texts[0]
	w.first = false
	if err := s.send(text); err != nil {
		s.hint, w.held = err.Error(), true
		if s.input.Empty() {
			w.texts, w.first = slices.Delete(w.texts, 0, 1), true
			s.input.Set(s.folded(text))
		}
		return
	}
	w.texts, w.held = slices.Delete(w.texts, 0, 1), false
}

// escape interrupts the answer; what came of it stays, and the next question goes on from
// there. Twice, where nothing was typed, it offers earlier questions.
func (s *screen) escape() {
	now := s.now()
	switch {
	case s.run != nil && !s.run.cancelled:
		s.run.cancelled, s.run.interrupted = true, true
		s.run.cancel()
	case s.editsPlan():
		s.input.Set("")
		s.menu.update(s)
		s.hint = "nothing was carried out; /plan edit edits the steps again"
		return
	case s.run != nil || !s.input.Empty():
	case now.Sub(s.escaped) < leaveTime:
		s.escaped = time.Time{}
		s.rewind("")
		return
	}
	s.escaped = now
}

// waitingLines are the questions that wait, and what can be done with them.
func (s *screen) waitingLines(width, height int) []ink.Line {
	w := &s.waiting
	if len(w.texts) == 0 || height < 1 {
		return nil
	}
	title := plural(len(w.texts), "question", "questions") + " queued"
	keys := []string{"↑ edit", "Ctrl+X remove"}
	if w.held {
		title = plural(len(w.texts), "question", "questions") + " held"
		keys = append([]string{"Enter send"}, keys...)
	}
	lines := []ink.Line{append(ink.Line{ink.T(ink.Muted, title+" · ")}, keyLine(keys...)...).Cut(width)}
	shown := min(len(w.texts), waitingShown, height-1)
	for i, text := range w.texts[:shown] {
		line := ink.Line{ink.T(ink.Muted, "↳ "), ink.T(ink.Plain, oneLine(strings.TrimSpace(s.folded(text)), width))}
		if more := len(w.texts) - shown; i == shown-1 && more > 0 {
			line = append(line.Cut(width-12), ink.T(ink.Muted, fmt.Sprintf(" +%d more", more)))
		}
		lines = append(lines, line.Cut(width))
	}
	return lines
}
