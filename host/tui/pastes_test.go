package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
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

func TestAPasteLargerThanTheWindowNeedsASecondEnter(t *testing.T) {
	session := &scripted{ledger: host.WindowUse{Window: 8_000}}
	large := strings.Repeat("123456789 12345\n", 1_000) // 4,000 tokens
	play(t, session, 100, 24, func(st *stage) {
		st.keys("short<enter>")
		st.wait(time.Second)
		st.send(tea.PasteMsg{Content: large})
		st.keys("<enter>")
		st.holds("❯ [paste 1: 1.0k lines]\n")
		st.holds("Press Enter again to send it: about 4.0k tokens; the model sees 8.0k at a time")
		if len(session.calls) != 1 {
			t.Fatalf("asked %d questions", len(session.calls))
		}
		st.keys(" what?<enter>") // another question
		if len(session.calls) != 1 {
			t.Fatalf("asked %d questions", len(session.calls))
		}
		st.keys("<enter>")
		st.wait(time.Second)
	})
	if len(session.calls) != 2 || session.calls[1] != "ask "+large+" what?" {
		t.Errorf("asked %.100q", session.calls)
	}
}

func TestALargeLineIsSentByEnterAlone(t *testing.T) {
	large := strings.Repeat("word ", 400)
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"Enter sends it", []string{large, "", "next"}, []string{"ask " + strings.TrimSpace(large), "ask next"}},
		{"anything else takes its place", []string{large, "next", ""}, []string{"ask next"}},
		{"a command does, too", []string{large, "/context", "", "next"}, []string{"ask next"}},
	} {
		session := &scripted{ledger: host.WindowUse{Window: 1_000}}
		out := lineByLine(t, session, nil, test.lines...)
		if !strings.Contains(out, "> Press Enter again to send it: about 500 tokens; the model sees 1.0k at a time\n> ") || !slices.Equal(session.calls, test.want) {
			t.Errorf("%s: asked %.60q\n%s", test.name, session.calls, out)
		}
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
