package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
)

// leaveTime is how soon Ctrl+C must be pressed again to leave.
const leaveTime = 2 * time.Second

// A keypress is a key: its name, and what it types, if anything.
type keypress struct{ name, text string }

// press handles a key.
func (s *screen) press(msg tea.KeyPressMsg) {
	k := keypress{name: msg.String(), text: msg.Text}
	s.hint = ""
	if k.name == "ctrl+c" {
		s.interrupt()
		return
	}
	s.leaving = time.Time{}
	if len(s.cards) > 0 {
		s.decide(k)
		return
	}
	if s.panel != nil {
		if panel := s.panel; panel.press(s, k) && s.panel == panel {
			s.panel = nil
		}
		return
	}
	if s.shortcut(k) || s.menu.press(s, k) {
		return
	}
	s.edit(k)
	s.menu.update(s)
}

// interrupt cancels the run, or else leaves: at once where a run is being
// cancelled already, else when it is pressed twice.
func (s *screen) interrupt() {
	now := s.now()
	switch {
	case s.run != nil && !s.run.cancelled:
		s.run.cancelled = true
		s.run.cancel()
		s.leaving = now
	case s.run != nil || now.Sub(s.leaving) < leaveTime:
		s.leave()
	case s.panel != nil:
		s.panel = nil
	case !s.input.Empty():
		s.input.Set("")
		s.menu.update(s)
	default:
		s.leaving = now
		s.hint = "Ctrl+C again leaves"
	}
}

// shortcut handles keys that open something.
func (s *screen) shortcut(k keypress) bool {
	switch k.name {
	case "f1":
		s.panel = helpPanel()
	case "f2":
		s.panel = serversPanel()
	case "f3":
		s.panel = contextPanel()
	case "f4":
		s.panel = logPanel()
	case "ctrl+o":
		s.panel = callsPanel(s)
	case "ctrl+r":
		s.panel = historyPanel(s)
	case "ctrl+f":
		s.panel = newSearch()
	case "ctrl+t":
		s.toggleTrace()
	case "ctrl+d":
		if !s.input.Empty() {
			return false
		}
		s.leave()
	default:
		return false
	}
	return true
}

func (s *screen) toggleTrace() {
	s.trace = !s.trace
	s.hint = "the steps of a run are hidden"
	if s.trace {
		s.hint = "the steps of a run are shown"
	}
}

// edit changes the input, or sends it.
func (s *screen) edit(k keypress) {
	width := s.inputWidth()
	switch k.name {
	case "enter":
		if strings.HasSuffix(s.input.Before(), `\`) {
			s.input.Replace(1, "\n")
			return
		}
		s.submit()
	case "alt+enter", "shift+enter", "ctrl+j":
		s.input.Insert("\n")
	case "up":
		if !s.input.Up(width) {
			s.history.older(&s.input)
		}
	case "down":
		if !s.input.Down(width) {
			s.history.newer(&s.input)
		}
	case "ctrl+p":
		s.history.older(&s.input)
	case "ctrl+n":
		s.history.newer(&s.input)
	default:
		editKey(&s.input, k)
	}
}

// editKey changes text as a key says, and reports whether it did.
func editKey(b *editor.Buffer, k keypress) bool {
	switch k.name {
	case "left", "ctrl+b":
		b.Left()
	case "right":
		b.Right()
	case "ctrl+left", "alt+left", "alt+b":
		b.WordLeft()
	case "ctrl+right", "alt+right", "alt+f":
		b.WordRight()
	case "home", "ctrl+a":
		b.Home()
	case "end", "ctrl+e":
		b.End()
	case "backspace", "ctrl+h":
		b.Backspace()
	case "delete", "ctrl+d":
		b.Delete()
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		b.KillWord()
	case "ctrl+u":
		b.KillLeft()
	case "ctrl+k":
		b.KillRight()
	case "ctrl+y":
		b.Yank()
	default:
		if k.text == "" {
			return false
		}
		b.Insert(k.text)
	}
	return true
}

// paste takes pasted text, line breaks and all.
func (s *screen) paste(text string) {
	if o := s.overlay(); o != nil {
		if t, ok := o.(typing); ok {
			t.write(s, text)
		}
		return
	}
	s.input.Insert(text)
	s.menu.update(s)
}

// submit sends what was typed.
func (s *screen) submit() {
	text := strings.TrimSpace(s.input.Text())
	switch {
	case text == "":
		return
	case strings.HasPrefix(text, "/"):
		s.slash(text)
		return
	case s.run != nil:
		s.hint = "the answer is still coming; Ctrl+C cancels it"
		return
	}
	q, err := s.question(text)
	if err != nil {
		s.hint = err.Error()
		return
	}
	s.sent(text)
	s.ask(q)
}

// sent moves the input to the scrollback and the history.
func (s *screen) sent(text string) {
	s.typed(text)
	s.history.add(text)
	if s.ui.options.Remember != nil {
		s.ui.options.Remember(text)
	}
	s.input.Set("")
	s.menu.update(s)
}
