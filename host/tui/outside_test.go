package tui

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/process/processtest"
	"github.com/junction-mcp/junction/model"
)

// sentRaw records what the terminal is sent next to what is drawn.
func (st *stage) sentRaw() *[]string {
	var all []string
	st.ui.raw = func(text string) tea.Cmd { all = append(all, text); return nil }
	return &all
}

func TestTheLastAnswerIsCopied(t *testing.T) {
	answer := "Do this:\n\n```sh\nls\n```\n\nor\n\n~~~~go\nx := `~~~`\n~~~\n~~~~\nBye."
	session := &scripted{entries: []host.Entry{{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: answer}}}}}}
	play(t, session, 80, 24, func(st *stage) {
		sent := st.sentRaw()
		st.keys("/copy<enter>/copy code<enter>/copy all<enter>")
		st.holds("expected /copy, or /copy code")
		want := []string{answer, "x := `~~~`\n~~~\n"}
		for i, w := range want {
			if i >= len(*sent) || (*sent)[i] != "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(w))+"\a" {
				t.Errorf("sent %q", *sent)
			}
		}
		session.entries = nil
		st.keys("<ctrl+c>/copy<enter>")
		st.holds("there is no answer yet")
	})
}

func TestAlertsWhileTheTerminalIsUnfocused(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		session := &scripted{}
		play(t, session, 80, 24, func(st *stage) {
			sent := st.sentRaw()
			session.ask = func(ctx context.Context, _ host.Question) error {
				time.Sleep(20 * time.Second)
				_, err := st.ui.Consent(ctx, writeCard())
				time.Sleep(20 * time.Second)
				return err
			}
			st.keys("x<enter>")
			title := st.screen.View().WindowTitle
			st.wait(21 * time.Second)
			waiting := st.screen.View().WindowTitle
			st.wait(time.Second) // to read it
			st.keys("y")
			st.wait(21 * time.Second)
			want := fmt.Sprintf("%q, %q, %q", "… Junction", "● Junction waits for you", []string{"\a\x1b]9;Junction waits for you\x1b\\", "\a\x1b]9;Junction has an answer\x1b\\"})
			if quiet {
				want = fmt.Sprintf("%q, %q, %q", "", "", []string(nil))
			}
			if got := fmt.Sprintf("%q, %q, %q", title, waiting, *sent); got != want {
				t.Errorf("quiet %v: %s\nwant %s", quiet, got, want)
			}
			session.ask = func(context.Context, host.Question) error { return nil }
			st.keys("y<enter>")
			if len(*sent) > 2 {
				t.Errorf("a short answer is announced: %q", *sent)
			}
		}, func(o *Options) { o.NoAlerts = quiet })
	}
}

func TestTheInputIsEditedInAnEditorOfTheirOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the editor is a script")
	}
	editor := filepath.Join(t.TempDir(), "my editor")
	processtest.WriteProgram(t, editor, []byte("#!/bin/sh\n[ \"$1\" = --wait ] || exit 3\necho ' & $(more)' >> \"$2\"\n"), 0o700)
	session := &scripted{}
	paste := strings.Repeat("more\n", 9) + "last"
	play(t, session, 80, 24, func(st *stage) {
		var left tea.Msg
		st.ui.exec = func(c *exec.Cmd, done tea.ExecCallback) tea.Cmd { left = done(c.Run()); return nil }
		st.send(tea.PasteMsg{Content: paste + "\n"})
		st.keys(" hello<ctrl+g>")
		st.send(left)
		st.holds("❯ [paste 1: 10 lines] hello")
		st.holds("   & $(more)")
		if _, err := os.Stat(left.(edited).folder); err == nil {
			t.Error("the draft is still there")
		}
		st.keys("<enter>")
	}, func(o *Options) { o.Env = []string{"VISUAL='" + editor + "' --wait", "EDITOR=none"} })
	if !session.did("ask " + paste + "\n hello\n & $(more)") {
		t.Errorf("asked %q", session.calls)
	}
}

func TestAnEditorThatFailsLeavesTheInput(t *testing.T) {
	play(t, &scripted{}, 80, 24, func(st *stage) {
		st.keys("hello<ctrl+g>")
		st.holds("no editor is set: set VISUAL or EDITOR")
		folder := t.TempDir()
		st.send(edited{folder: folder, err: errScripted})
		st.holds("the input is unchanged: the editor: the provider is on holiday")
		st.keys("!")
		st.holds("❯ hello!")
		if _, err := os.Stat(folder); err == nil {
			t.Error("the draft is still there")
		}
		folder = t.TempDir()
		if err := os.WriteFile(draft(folder), []byte(strings.Repeat("x", maxDraft+1)), 0o600); err != nil {
			t.Fatal(err)
		}
		st.send(edited{folder: folder})
		st.holds("more than 1.0 MiB")
	}, func(o *Options) { o.Env = []string{"TERM=xterm"} })
}
