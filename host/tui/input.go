package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// leaveTime is how soon Ctrl+C, or Ctrl+D where something would be lost, must be pressed again to leave.
const leaveTime = 2 * time.Second

// A keypress is a key: its name, and what it types, if anything.
type keypress struct{ name, text string }

// press handles a key.
func (s *screen) press(msg tea.KeyPressMsg) {
	k := keypress{name: msg.String(), text: msg.Text}
	s.hint = ""
	defer func() { s.pressed = s.now() }()
	if k.name == "ctrl+c" {
		s.interrupt()
		return
	}
	if k.name != "ctrl+d" {
		s.leaving = time.Time{}
	}
	twice := s.forCard != "" && s.now().Sub(s.pressed) < quietTime // the key was for a card that is gone
	if len(s.cards) > 0 {
		s.decide(k)
		return
	}
	s.forCard = ""
	if panel := s.panel; panel != nil && panel.takes(k) {
		if panel.press(s, k) && s.panel == panel {
			s.panel = nil
		}
		return
	}
	s.panel = nil
	if s.shortcut(k) || s.menu.press(s, k) {
		return
	}
	switch {
	case k.name == "alt+esc": // twice, in one piece
		s.escape()
		fallthrough
	case k.name == "esc" && !twice:
		s.escape()
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
		s.hint = "Press Ctrl+C again to quit"
	}
}

// shortcut handles keys that open something.
func (s *screen) shortcut(k keypress) bool {
	switch k.name {
	case "f1":
		s.showHelp("")
	case "f2":
		s.panel = mcpPanel()
	case "f3":
		s.panel = contextPanel()
	case "f4":
		s.panel = logPanel()
	case "ctrl+o":
		s.panel = callsPanel(s)
	case "ctrl+r":
		s.panel = historyPanel(s)
	case "ctrl+f":
		s.panel = searchPanel(s)
	case "ctrl+t":
		s.toggleTrace()
	case "ctrl+x":
		if n := len(s.waiting.texts); n > 0 {
			s.waiting.texts = s.waiting.texts[:n-1]
		}
	case "ctrl+g":
		s.openEditor()
	case "ctrl+v":
		s.fromClipboard()
	case "ctrl+d":
		if !s.input.Empty() {
			return false
		}
		// It deletes, too: one press too many must not end an answer, nor what is queued.
		now, busy := s.now(), s.run != nil || len(s.waiting.texts) > 0
		if busy && now.Sub(s.leaving) >= leaveTime {
			s.leaving, s.hint = now, "Press Ctrl+D again to quit"
			return true
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
		if !s.takeBack() && !s.input.Up(width) {
			s.history.older(&s.input)
			s.refold()
		}
	case "down":
		if !s.input.Down(width) {
			s.history.newer(&s.input)
			s.refold()
		}
	case "ctrl+p":
		s.history.older(&s.input)
		s.refold()
	case "ctrl+n":
		s.history.newer(&s.input)
		s.refold()
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
	defer func() { s.pressed = s.now() }()
	if len(s.cards) > 0 && !s.cards[0].state().awake {
		s.cards[0].state().locked = true
	} else if len(s.cards) > 0 && !s.cards[0].takesText() {
		s.stray(s.cards[0], "")
	} else if o := s.overlay(); o != nil {
		if t, ok := o.(typing); ok {
			t.write(s, text)
			return
		}
		if len(s.cards) > 0 {
			return
		}
		s.panel = nil
	}
	if !s.dropped(text) {
		s.input.Insert(s.fold(text))
	}
	s.menu.update(s)
}

// submit sends what was typed.
func (s *screen) submit() {
	text := s.unfolded(strings.TrimSpace(s.input.Text()))
	switch {
	case text == "":
		s.goOn()
		return
	case s.command(text), s.holdsLarge(text):
		return
	case s.run != nil, len(s.waiting.texts) > 0 && !s.waiting.first:
		if _, err := s.toSend(text); err != nil {
			s.hint = err.Error()
			return
		}
		s.enqueue(text)
		return
	}
	if err := s.send(text); err != nil {
		s.hint = err.Error()
		return
	}
	if s.waiting.first { // the others follow it
		s.waiting.first, s.waiting.held = false, false
	}
	s.input.Set("")
	s.history.leave()
	s.menu.update(s)
}

// send asks what was typed. The error says why that cannot be.
func (s *screen) send(text string) error {
	q, err := s.toSend(text)
	if err != nil {
		return err
	}
	if !s.byLine { // where it stands already
		s.typed(s.folded(text))
	}
	var names []string
	for _, a := range q.Attach {
		if a.Server == "" {
			names = append(names, attachedName(&a))
		}
	}
	s.attachedLine(names)
	for _, name := range s.absent {
		s.say(ink.Warn, "there is no file "+oneLine(name, 200)+" here, so nothing goes along for @"+oneLine(name, 200))
	}
	s.history.add(text)
	if s.ui.options.Remember != nil {
		s.ui.options.Remember(text)
	}
	s.byItself = 0
	s.ask(q)
	return nil
}
