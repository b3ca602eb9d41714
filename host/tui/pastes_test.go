package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestALongPasteIsOneLabelAndSentWhole(t *testing.T) {
	session := &scripted{}
	var long strings.Builder
	for i := range 34 {
		fmt.Fprintf(&long, "line %d @ev:demo://text\r\n", i)
	}
	whole := strings.ReplaceAll(long.String(), "\r\n", "\n")
	play(t, session, 80, 24, func(st *stage) {
		st.keys("what is this? ")
		st.send(tea.PasteMsg{Content: long.String()})
		st.holds("❯ what is this? [paste 1: 34 lines]\n")
		st.keys(" and ")
		st.send(tea.PasteMsg{Content: "/" + strings.Repeat("x", 2_000)})
		st.holds("[paste 1: 34 lines] and [paste 2: 2.0 KiB]")
		st.keys("<left>")
		st.keys("<backspace>, <right>?<left><backspace>")
		st.holds("[paste 1: 34 lines] and, ?")
		st.keys("<enter>")
		st.printedText("❯ what is this? [paste 1: 34 lines] and, ?")
	})
	if len(session.calls) != 1 || session.calls[0] != "ask what is this? "+whole+" and, ?" {
		t.Errorf("asked %q", session.calls)
	}
}

func TestPastesAreMovedOverAndComeBack(t *testing.T) {
	session := &scripted{}
	paste := "/first\n" + strings.Repeat("more\n", 9) + "last"
	play(t, session, 80, 24, func(st *stage) {
		st.send(tea.PasteMsg{Content: paste})
		st.keys("x<left><left>a<alt+f>b<alt+b><alt+b>c<enter>")
		if want := "ask ca" + paste + "bx"; len(session.calls) != 1 || session.calls[0] != want {
			t.Fatalf("asked %q, want %q", session.calls, want)
		}
		st.keys("<up>")
		st.holds("❯ ca[paste 1: 11 lines]bx")
		st.keys("<ctrl+u><ctrl+k>")
		st.send(tea.PasteMsg{Content: paste})
		st.holds("❯ [paste 2: 11 lines]")
		st.keys("<enter>") // it begins with a slash, and is no command
		if want := "ask " + paste; len(session.calls) != 2 || session.calls[1] != want {
			t.Errorf("asked %q", session.calls)
		}
		for range maxPastes + 2 {
			st.send(tea.PasteMsg{Content: paste})
		}
		if n := len(st.screen.pastes.all); n > maxPastes+3 {
			t.Errorf("%d pastes are remembered", n)
		}
		st.keys("<enter>")
		if last := session.calls[len(session.calls)-1]; strings.Contains(last, "[paste") {
			t.Errorf("a label is sent: %.200q", last)
		}
	})
}
