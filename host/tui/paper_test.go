package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// paragraphs puts lines of 90 columns on the paper.
func (st *stage) paragraphs() {
	for range 3 {
		st.screen.print(ink.Of(strings.TrimSpace(strings.Repeat("paragraph ", 9))))
	}
}

// waiting is the text that was not printed yet.
func (st *stage) waiting() string {
	var rows []string
	for _, l := range st.screen.paper.queue {
		if l.Width() > st.screen.width {
			st.t.Errorf("%q is wider than the screen of %d columns", l, st.screen.width)
		}
		rows = append(rows, l.String())
	}
	return strings.Join(rows, "")
}

func TestPendingLinesFitTheResizedScreen(t *testing.T) {
	play(t, &scripted{}, 100, 24, func(st *stage) {
		st.paragraphs()
		st.screen.Update(tea.WindowSizeMsg{Width: 60, Height: 24})
		st.screen.paper.fit(60)
		if got := strings.Count(st.waiting(), "paragraph"); got != 27 {
			t.Errorf("%d words of 27 are left", got)
		}
	})
}

// Between two sizes the program does not know where the frame is: what it prints lands
// on lines that are erased.
func TestNothingIsPrintedBetweenTwoSizes(t *testing.T) {
	play(t, &scripted{}, 100, 24, func(st *stage) {
		st.paragraphs()
		st.screen.Update(tea.WindowSizeMsg{Width: 100, Height: 14})
		st.screen.Update(tickMsg{})
		st.screen.Update(settledMsg{}) // of a frame before
		if got := strings.Count(st.waiting(), "paragraph"); got != 27 {
			t.Errorf("%d words of 27 wait for the frame", got)
		}
		time.Sleep(drawTime)
		st.screen.Update(settledMsg{})
		if st.waiting() != "" {
			t.Error("they still wait")
		}
	})
}

func TestNothingIsPrintedOnATerminalOfAnotherSize(t *testing.T) {
	play(t, &scripted{}, 100, 24, func(st *stage) {
		width := 60
		st.ui.size = func() (int, int, bool) { return width, 24, true }
		st.paragraphs()
		st.screen.Update(tickMsg{})
		if st.waiting() == "" {
			t.Fatal("it was printed")
		}
		width = 100
		time.Sleep(drawTime)
		st.screen.Update(settledMsg{})
		if st.waiting() != "" {
			t.Error("it is never printed")
		}
		width = 60 // and the program never hears of it
		st.paragraphs()
		for range maxWaited + 1 {
			st.screen.paper.printing = false
			st.screen.Update(settledMsg{})
		}
		if st.waiting() != "" {
			t.Error("a terminal that lies stops everything")
		}
	})
}
