package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// leaveTime is the time in which a second Ctrl+C quits, or a second Ctrl+D if something would be
// lost.
const leaveTime = 2 * time.Second

// A keypress is a key: its name, and the text that it types, if any.
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
	twice := s.forCard != "" && s.now().Sub(s.pressed) < quietTime // the last key closed a card, and this one may be its repetition
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
	case k.name == "alt+esc": // two Esc in one sequence
		s.escape()
		fallthrough
	case k.name == "esc" && !twice:
		s.escape()
		return
	}
	s.edit(k)
	s.menu.update(s)
}

// interrupt cancels the run, or quits. It quits at once if a run is already being cancelled, and
// otherwise after a second press.
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

// shortcut handles keys that open a panel or run a command.
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
		// Ctrl+D also deletes characters. One press too many must not end an answer or lose the
		// queue.
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

// edit handles a key that changes or sends the input.
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

// editKey applies an editing key to a buffer, and reports whether it was one.
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

// paste handles pasted text, including line breaks.
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

// submit sends the input.
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

// send asks the model the typed question. The error is the reason why it cannot.
func (s *screen) send(text string) error {
	q, err := s.toSend(text)
	if err != nil {
		return err
	}
	if !s.byLine { // in line mode it is on the screen already
		s.typed(s.folded(text))
	}
	var names []string
	for _, a := range q.Attach {
		if name := plaintext.Line(a.URI, 200); a.Server != "" {
			continue
		} else if p, err := picture.Read(a.Picture); err == nil {
			names = append(names, fmt.Sprintf("picture %s (%s)", name, p))
		} else {
			names = append(names, name+" ("+bytes(len(a.Text))+")")
		}
	}
	s.attachedLine(names)
	for _, name := range s.absent {
		s.say(ink.Warn, "there is no file "+plaintext.Line(name, 200)+" here, so nothing is attached for @"+plaintext.Line(name, 200))
	}
	s.history.add(text)
	if s.ui.options.Remember != nil {
		s.ui.options.Remember(text)
	}
	s.taskRuns = 0
	s.ask(q)
	return nil
}

const (
	maxHistory     = 1_000    // number of lines
	maxHistoryLine = 16 << 10 // bytes of a line; a longer one is available only until the next
)

// history holds the lines that the user typed. draft keeps the current input while the user looks
// at earlier lines.
type history struct {
	lines []string
	at    int // index of the shown line; len(lines) means the current input
	draft string
}

func newHistory(lines []string) history {
	lines = slices.Clone(lines[max(0, len(lines)-maxHistory):])
	return history{lines: lines, at: len(lines)}
}

// add adds a line. If the user is looking at earlier lines, the shown line stays, because a queued
// line can be added at any time.
func (h *history) add(line string) {
	looking := h.at < len(h.lines)
	if n := len(h.lines); n > 0 && (len(h.lines[n-1]) > maxHistoryLine || h.lines[n-1] == line) {
		h.lines = h.lines[:n-1]
	}
	h.lines = append(h.lines, line)
	extra := max(0, len(h.lines)-maxHistory)
	h.lines = h.lines[extra:]
	if h.at = max(0, h.at-extra); !looking {
		h.at = len(h.lines)
	}
}

// leave returns to the current input, which is empty.
func (h *history) leave() { h.at, h.draft = len(h.lines), "" }

func (h *history) older(b *editor.Buffer) {
	if h.at == 0 {
		return
	}
	if h.at == len(h.lines) {
		h.draft = b.Text()
	}
	h.at--
	b.Set(h.lines[h.at])
}

func (h *history) newer(b *editor.Buffer) {
	switch {
	case h.at >= len(h.lines):
		return
	case h.at == len(h.lines)-1:
		h.at++
		b.Set(h.draft)
	default:
		h.at++
		b.Set(h.lines[h.at])
	}
}

const (
	maxWaiting   = 50 // queued questions
	waitingShown = 3  // queued questions shown on the screen
)

// waiting holds the questions that the user typed while an answer was coming. They are sent in
// order, unless the user or an error stopped the run before.
type waiting struct {
	texts []string
	held  bool // they wait until the user sends the next one
	first bool // the first question could not be sent and is back in the input
}

// enqueue adds a question to the queue.
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
		s.hint = fmt.Sprintf("it waits behind held questions; Enter sends the first of %d", len(w.texts))
	}
	s.input.Set("")
	s.menu.update(s)
}

// takeBack moves the last queued question into the empty input, and reports whether there was one.
func (s *screen) takeBack() bool {
	n := len(s.waiting.texts)
	if n == 0 || !s.input.Empty() {
		return false
	}
	s.input.Set(s.folded(s.waiting.texts[n-1]))
	s.waiting.texts = s.waiting.texts[:n-1]
	return true
}

// goOn sends the next queued question. If that is not possible, the question returns to the input
// line, or stays in the queue if the input line is not empty.
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

// escape interrupts the answer. The partial answer stays, and the next question continues from it.
// Two presses without input offer earlier questions.
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

// waitingLines returns the queued questions, with the keys for them.
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
		line := ink.Line{ink.T(ink.Muted, "↳ "), ink.T(ink.Plain, plaintext.Line(strings.TrimSpace(s.folded(text)), width))}
		if more := len(w.texts) - shown; i == shown-1 && more > 0 {
			line = append(line.Cut(width-12), ink.T(ink.Muted, fmt.Sprintf(" +%d more", more)))
		}
		lines = append(lines, line.Cut(width))
	}
	return lines
}

const (
	menuRows = 6   // entries shown at once
	maxMenu  = 500 // entries in all
)

// An item is an entry that the user can choose.
type item struct {
	insert string // text that replaces the word at the cursor
	label  string
	detail string
}

// menu offers completions of the word at the cursor.
type menu struct {
	prompts   []host.PromptRef
	resources []resource

	items    []item
	selected int
	word     string // word to complete
	closed   string // the word for which the user closed the menu
	asked    int    // number of the last question to a server; older answers are ignored
}

// A resource is a server's resource, or a template for resources.
type resource struct {
	server, uri, title string
	template           bool
}

// load reads the servers' prompts, resources and templates.
func (m *menu) load(s *screen) {
	m.prompts, m.resources = s.session.Prompts(), nil
	for _, r := range s.session.Resources() {
		m.resources = append(m.resources, resource{server: r.Server, uri: r.Resource.URI, title: orElse(r.Resource.Title, r.Resource.Name)})
	}
	for _, t := range s.session.Templates() {
		m.resources = append(m.resources, resource{t.Server, t.Template.URITemplate, orElse(t.Template.Title, t.Template.Name), true})
	}
}

// update finds the completions of the input.
func (m *menu) update(s *screen) {
	before := s.input.Before()
	word := before[strings.LastIndexAny(before, " \n\t")+1:]
	m.asked++
	m.items, m.selected, m.word = nil, 0, word
	if word != "" && word == m.closed {
		return
	}
	m.closed = ""
	if word == "/" || word == "@" {
		m.load(s) // the servers may have changed
	}
	switch {
	case strings.HasPrefix(before, "/") && word == before:
		m.items = m.commands(word)
	case strings.HasPrefix(before, "/"):
		m.arguments(s, before, word)
	case strings.HasPrefix(word, "@"):
		m.attachments(s, word)
	}
	m.items = m.items[:min(len(m.items), maxMenu)]
	if len(m.items) == 1 && m.items[0].insert == word {
		m.items = nil
	}
}

// commands returns the commands and prompts that complete a word.
func (m *menu) commands(word string) []item {
	var begin, within []item
	add := func(name, detail string) {
		switch it := (item{insert: name, label: name, detail: detail}); {
		case strings.HasPrefix(name, word):
			begin = append(begin, it)
		case strings.Contains(strings.ToLower(name), strings.ToLower(word[1:])):
			within = append(within, it)
		}
	}
	for _, c := range commands() {
		add("/"+c.name, c.help)
	}
	for _, p := range m.prompts {
		add("/"+p.Server+":"+p.Prompt.Name, orElse(p.Prompt.Title, p.Prompt.Description))
	}
	return append(begin, within...)
}

// arguments adds the possible arguments of a command or a prompt.
func (m *menu) arguments(s *screen, before, word string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(before, "/"), " ")
	if c := commandNamed(name); c != nil {
		for _, value := range c.offered(s, len(strings.Fields(strings.TrimSuffix(before, word)))-1) {
			if word != "" && strings.HasPrefix(value, word) { // an empty word gets no menu, so that Enter sends the command
				m.items = append(m.items, item{insert: value, label: value})
			}
		}
		return
	}
	p := m.prompt(name)
	if p == nil {
		return
	}
	given := map[string]string{}
	if words, err := splitWords(strings.TrimSuffix(before, word)); err == nil {
		for _, w := range words[1:] {
			if name, value, ok := strings.Cut(w, "="); ok {
				given[name] = value
			}
		}
	}
	if name, value, named := strings.Cut(word, "="); named {
		ref := mcp.CompletionReference{Type: mcp.RefPrompt, Name: p.Prompt.Name}
		m.complete(s, p.Server, ref, name, value, given, name+"=")
		return
	}
	for _, a := range p.Prompt.Arguments {
		if _, ok := given[a.Name]; ok || !strings.HasPrefix(a.Name, word) {
			continue
		}
		detail := orElse(a.Description, a.Title)
		if a.Required {
			detail = strings.TrimSpace("(required) " + detail)
		}
		m.items = append(m.items, item{insert: a.Name + "=", label: a.Name + "=", detail: detail})
	}
}

func (m *menu) prompt(name string) *host.PromptRef {
	i := slices.IndexFunc(m.prompts, func(p host.PromptRef) bool { return p.Server+":"+p.Prompt.Name == name })
	if i < 0 {
		return nil
	}
	return &m.prompts[i]
}

// attachments adds the resources, templates and files that complete a word.
func (m *menu) attachments(s *screen, word string) {
	if s.ui.options.Files != nil {
		m.files(s, word)
	}
	for _, r := range m.resources {
		name := "@" + r.server + ":" + r.uri
		fixed, variable, isOpen := strings.Cut(name, "{")
		switch {
		case r.template && isOpen && len(word) >= len(fixed) && strings.HasPrefix(word, fixed):
			variable, _, _ = strings.Cut(strings.TrimLeft(variable, "+#./;?&"), "}")
			variable, _, _ = strings.Cut(variable, ",")
			ref := mcp.CompletionReference{Type: mcp.RefResource, URI: r.uri}
			m.complete(s, r.server, ref, variable, word[len(fixed):], nil, fixed)
		case r.template && isOpen && strings.Contains(fixed, word[1:]):
			m.items = append(m.items, item{insert: fixed, label: name, detail: r.title})
		case !r.template && strings.Contains(strings.ToLower(name), strings.ToLower(word[1:])):
			m.items = append(m.items, item{insert: name, label: name, detail: r.title})
		}
	}
	m.best()
}

// best sorts the entries that begin with the word before those that contain it.
func (m *menu) best() {
	rank := func(it item) int {
		if strings.HasPrefix(strings.ToLower(it.label), strings.ToLower(m.word)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(m.items, func(a, b item) int { return rank(a) - rank(b) })
}

// complete asks a server for completions of a value.
func (m *menu) complete(s *screen, server string, ref mcp.CompletionReference, name, value string, given map[string]string, prefix string) {
	asked, word := m.asked, m.word
	req := mcp.CompletionRequest{Ref: ref, Argument: mcp.CompletionArgument{Name: name, Value: value}}
	if len(given) > 0 {
		req.Context = &mcp.CompletionContext{Arguments: given}
	}
	s.later(func(ctx context.Context) func(*screen) {
		found, err := s.session.Complete(ctx, server, req)
		return func(s *screen) {
			m := &s.menu
			if err != nil || found == nil || m.asked != asked || m.word != word {
				return
			}
			for _, v := range found.Values[:min(len(found.Values), maxMenu)] {
				if strings.ContainsAny(v, " \t\n") && ref.Type == mcp.RefPrompt {
					m.items = append(m.items, item{insert: prefix + `"` + v + `"`, label: v})
					continue
				}
				m.items = append(m.items, item{insert: prefix + v, label: v})
			}
		}
	})
}

// press handles the keys of the menu while it is open.
func (m *menu) press(s *screen, k keypress) bool {
	if len(m.items) == 0 {
		return false
	}
	switch k.name {
	case "up", "shift+tab":
		m.selected = (m.selected + len(m.items) - 1) % len(m.items)
	case "down":
		m.selected = (m.selected + 1) % len(m.items)
	case "esc":
		m.closed, m.items = m.word, nil
	case "enter":
		if m.items[m.selected].insert == m.word {
			m.items = nil
			return false
		}
		m.accept(s)
	case "tab":
		m.accept(s)
	default:
		return false
	}
	return true
}

// accept puts the selected entry into the input, followed by a space if it is complete.
func (m *menu) accept(s *screen) {
	chosen := m.items[m.selected].insert
	s.input.Replace(len(m.word), chosen)
	if last := chosen[len(chosen)-1]; last != '=' && last != ':' && last != '/' {
		s.input.Insert(" ")
	}
	m.update(s)
}

// lines returns the lines of the menu with the selected entry visible.
func (m *menu) lines(width, height int) []ink.Line {
	rows := min(len(m.items), menuRows, height)
	if rows <= 0 {
		return nil
	}
	from := min(max(0, m.selected-rows+1), len(m.items)-rows)
	longest := 0
	for _, it := range m.items[from : from+rows] {
		longest = max(longest, ink.Width(plaintext.Line(it.label, width)))
	}
	var lines []ink.Line
	for i, it := range m.items[from : from+rows] {
		mark, attr := "  ", ink.Attr(0)
		if from+i == m.selected {
			mark, attr = "▸ ", ink.Bold
		}
		name := ink.Line{ink.T(ink.Accent, mark+plaintext.Line(it.label, width), attr)}.Pad(min(longest, width/2) + 2)
		lines = append(lines, append(name, ink.T(ink.Muted, "  "+plaintext.Line(it.detail, width))).Cut(width))
	}
	return lines
}
