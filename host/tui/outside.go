package tui

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/model"
)

const (
	awayTime = 5 * time.Second  // without a key, after which the person may be looking elsewhere
	longTime = 10 * time.Second // an answer that took as long is announced
	maxDraft = 1 << 20          // bytes of what the external editor leaves
)

// raw sends the terminal something that is not drawn.
func (s *screen) raw(text string) { s.cmds = append(s.cmds, s.ui.raw(text)) }

// alert rings the bell and has the terminal notify a person who looks elsewhere. The text
// is the program's own: who writes a server's name into a notification writes for it.
func (s *screen) alert(text string) {
	if s.ui.options.NoAlerts || s.byLine || s.quitting || s.now().Sub(s.pressed) < awayTime {
		return
	}
	s.raw("\a\x1b]9;Junction " + text + "\x1b\\")
}

// title is what the terminal's window is called.
func (s *screen) title() string {
	switch {
	case s.ui.options.NoAlerts || s.quitting:
		return ""
	case len(s.cards) > 0:
		return "● Junction waits for you"
	case s.run != nil:
		return "… Junction"
	}
	return "Junction"
}

// copyAnswer puts the last answer, or the last block of code in it, into the clipboard of
// the terminal.
func (s *screen) copyAnswer(what string) {
	text := ""
	for _, e := range s.session.Talk().Entries() {
		if e.Message != nil && e.Message.Role == model.RoleAssistant && strings.TrimSpace(e.Message.Text()) != "" {
			text = strings.TrimSpace(e.Message.Text())
		}
	}
	missing := "there is no answer yet"
	if what == "code" {
		text, missing = lastCode(text), "there is no block of code in the last answer"
	}
	switch {
	case what != "" && what != "code":
		s.hint = "expected /copy, or /copy code"
	case s.ui.raw == nil:
		s.hint = "there is no clipboard that can be reached here; /export writes a file"
	case text == "":
		s.hint = missing
	default:
		s.raw("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")
		s.hint = "copied, " + bytes(len(text)) + " (if the terminal allows it: OSC 52)"
	}
}

// lastCode is the last block of code in Markdown.
func lastCode(text string) string {
	var code []string
	last, fence := "", ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case fence == "" && (strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~")):
			fence, code = bare[:len(bare)-len(strings.TrimLeft(bare, bare[:1]))], nil
		case fence != "" && strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "":
			last, fence = strings.Join(code, ""), ""
		case fence != "":
			code = append(code, line)
		}
	}
	return last
}

// edited is what the external editor left.
type edited struct {
	folder string
	err    error
}

// openEditor opens what was typed in the person's own editor, without a shell in between.
func (s *screen) openEditor() {
	command := orElse(s.ui.getenv("VISUAL"), s.ui.getenv("EDITOR"))
	words, err := splitWords(command)
	switch {
	case err != nil:
		s.hint = "VISUAL or EDITOR: " + err.Error()
		return
	case len(words) == 0:
		s.hint = "no editor is known: set VISUAL or EDITOR"
		return
	}
	folder, err := os.MkdirTemp("", "junction-") // which nobody else can read
	if err == nil {
		err = os.WriteFile(draft(folder), []byte(s.unfolded(s.input.Text())+"\n"), 0o600) // an editor's file ends its last line
	}
	if err != nil {
		s.hint = "the editor gets no file: " + oneLine(err.Error(), 200)
		return
	}
	editor := exec.Command(words[0], append(words[1:], draft(folder))...)
	s.cmds = append(s.cmds, s.ui.exec(editor, func(err error) tea.Msg { return edited{folder, err} }))
}

func draft(folder string) string { return filepath.Join(folder, "question.md") }

// editorClosed takes what the editor left, unless it failed.
func (s *screen) editorClosed(e edited) {
	defer os.RemoveAll(e.folder)
	s.pressed = s.now()
	text, err := readDraft(e)
	if err != nil {
		s.hint = "the input is as it was: the editor: " + oneLine(err.Error(), 200)
		return
	}
	s.input.Set(s.folded(strings.TrimRight(text, "\r\n")))
	s.menu.update(s)
}

func readDraft(e edited) (string, error) {
	if e.err != nil {
		return "", e.err
	}
	f, err := os.Open(draft(e.folder))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDraft+1))
	if err == nil && len(text) > maxDraft {
		err = fmt.Errorf("more than %s", bytes(maxDraft))
	}
	return string(text), err
}
