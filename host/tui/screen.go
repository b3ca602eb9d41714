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
	"github.com/junction-mcp/junction/host/tui/internal/markdown"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// screen is the state of the terminal interface. Only the goroutine of the program uses it.
type screen struct {
	ctx     context.Context
	ui      *UI
	session Session
	theme   ink.Theme
	now     func() time.Time

	width, height int
	reported      struct{ width, height int } // size that the terminal reported
	view          tea.View                    // frame to draw
	frame         int                         // number of its lines
	full          bool                        // the frame fills the screen until it is closed

	paper     paper   // text for the scrollback
	run       *run    // question that the model is answering; nil: none
	past      []*call // ended calls and reasoning texts, in order
	log       []logged
	readLog   time.Time // time of the last look at the log
	trace     bool
	byLine    bool // line mode
	servers   []host.ServerTools
	permitted []Permission // as last listed
	unwatch   func()       // ends the wait for tasks of the current conversation
	came      int          // number of the task with a result that the model has not seen; 0: none
	taskRuns  int          // number of runs for results of tasks since the user's last question
	polling   bool
	troubled  []string       // servers whose failure was printed
	refused   []string       // servers whose definitions the user refused
	announced []string       // servers whose review was announced
	suggested bool           // the example question was printed, or there is none
	used      host.WindowUse // use of the window after the last step

	input   editor.Buffer
	history history
	menu    menu
	waiting waiting
	pastes  struct {
		all   []pasted
		count int
	}
	large  string          // question held back for its size; empty: none
	cmds   []tea.Cmd       // commands for the program
	steps  []host.PlanStep // plan as it was put into the input
	absent []string        // words after an @ that do not name a file
	hint   string          // shown in place of the status line until the next key

	cards       []card                      // questions to the user; the first one is shown
	panel       panel                       // open panel; nil: none
	pressed     time.Time                   // time of the last key
	forCard     string                      // last key, if a card handled it
	refusalNote struct{ call, text string } // the user's note about a refused call

	listening bool // a listen command is pending
	quitting  bool
	escaped   time.Time // time of an Esc that closed nothing
	leaving   time.Time // time of a Ctrl+C that cancelled nothing, or a Ctrl+D that would lose something
}

// An overlay is shown in place of the input: a panel or a card.
type overlay interface {
	// press handles a key and reports whether the overlay is done.
	press(s *screen, k keypress) (done bool)
	// lines returns at most height lines.
	lines(s *screen, width, height int) []ink.Line
}

// A panel is an overlay that the user opened. A key that it does not take closes it and goes to the
// input.
type panel interface {
	overlay
	takes(k keypress) bool
}

// typing is an overlay that accepts text.
type typing interface{ write(s *screen, text string) }

// Messages that the screen sends to itself.
type (
	tickMsg    struct{}
	pollMsg    struct{}
	printedMsg struct{}
	settledMsg struct{}
)

// tickTime is the interval at which running times are redrawn. pollTime is the interval at which
// the servers' states are read while some are connecting.
const (
	tickTime = 200 * time.Millisecond
	pollTime = 500 * time.Millisecond
)

func newScreen(ctx context.Context, u *UI, session Session) *screen {
	s := &screen{ctx: ctx, ui: u, session: session, theme: u.theme, now: u.now, trace: u.options.Trace}
	s.history = newHistory(u.options.History)
	s.servers, s.used = session.Talk().Servers(), session.Talk().WindowUse()
	return s
}

// Init returns the first commands.
func (s *screen) Init() tea.Cmd {
	cmds := []tea.Cmd{s.listen()}
	if s.ui.auto {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	s.menu.load(s)
	s.draw()
	return tea.Batch(cmds...)
}

// Update handles one message.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		cmds = append(cmds, s.resize(msg.Width, msg.Height))
	case tea.BackgroundColorMsg:
		dark := msg.IsDark()
		if s.ui.auto && !dark {
			s.theme, _ = ink.Named("light")
		}
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+z" {
			return s, tea.Suspend
		}
		s.press(msg)
	case tea.PasteMsg:
		s.paste(msg.Content)
	case inboxMsg:
		for _, v := range msg {
			s.receive(v)
		}
		s.cardInSight()
		s.listening = false
	case printedMsg:
		s.paper.printing = false
	case edited:
		s.editorClosed(msg)
	case settledMsg:
		s.paper.settled(s.now())
	case pollMsg:
		s.polling, s.used = false, s.session.Talk().WindowUse()
		s.look(s.session.Talk().Servers())
	case tickMsg:
		if s.run != nil {
			s.run.ticking = false
		}
	}
	s.draw()
	cmds, s.cmds = append(cmds, s.cmds...), nil
	cmds = append(cmds, s.listen(), s.flush())
	if s.run != nil && !s.run.ticking { // running times change
		s.run.ticking = true
		cmds = append(cmds, tea.Tick(tickTime, func(time.Time) tea.Msg { return tickMsg{} }))
	}
	if !s.polling && slices.ContainsFunc(s.servers, isConnecting) { // no event reports that a server connected
		s.polling = true
		cmds = append(cmds, tea.Tick(pollTime, func(time.Time) tea.Msg { return pollMsg{} }))
	}
	if s.quitting && !s.paper.printing && len(s.paper.queue) == 0 {
		cmds = append(cmds, tea.Quit)
	}
	return s, tea.Batch(cmds...)
}

// drawTime is the time after which a frame is certainly on the terminal.
const drawTime = 60 * time.Millisecond

// resize lays out the screen for another size. Printing starts after the first size, but only when
// the program knows the position of the frame. Otherwise it would overwrite earlier text on the
// terminal.
func (s *screen) resize(width, height int) tea.Cmd {
	first := s.width == 0
	s.reported.width, s.reported.height = width, height
	s.width, s.height = max(width, 10), max(height, 4)
	if !first {
		s.paper.held, s.paper.resized = true, s.now()
		return nil
	}
	s.greet()
	s.paper.printing = true
	return tea.Tick(drawTime, func(time.Time) tea.Msg { return printedMsg{} })
}

// greet prints the greeting, and the earlier text of a resumed conversation.
func (s *screen) greet() {
	if text := s.ui.options.Greeting; text != "" {
		s.printMarkdown(text)
	}
	if entries := s.session.Talk().Entries(); len(entries) > 0 {
		s.changed()
	} else {
		s.watchTasks()
	}
	s.look(s.servers)
}

// receive handles a value from the inbox.
func (s *screen) receive(v any) {
	switch v := v.(type) {
	case host.Event:
		s.happened(&v)
	case *ask:
		if s.run != nil {
			s.endText() // the text before a call is complete
		}
		s.cards = append(s.cards, newCard(s, v))
		s.alert("waits for you")
	case withdrawnQuestion:
		s.cards = slices.DeleteFunc(s.cards, func(c card) bool { return c.state().ask == v.ask })
	case func(*screen):
		v(s)
	}
}

// later runs f in the background, and the result of f on the screen.
func (s *screen) later(f func(context.Context) func(*screen)) {
	s.ui.background(func() any { return f(s.ctx) })
}

// listen waits for the next values of the inbox. It does not if many lines wait to be printed, so
// that senders have to wait.
func (s *screen) listen() tea.Cmd {
	if s.listening || len(s.paper.queue) > maxQueue {
		return nil
	}
	s.listening = true
	return s.ui.next
}

// leave ends the program. Open questions get no answer. Tasks continue if the conversation is
// stored.
func (s *screen) leave() {
	s.quitting = true
	switch {
	case s.run == nil:
	case s.run.leave != nil && s.session.Saved().ID != "":
		s.run.leave()
	default:
		s.run.cancel()
	}
}

// overlay returns the overlay that gets the keys, or nil.
func (s *screen) overlay() overlay {
	if len(s.cards) > 0 {
		return s.cards[0]
	}
	return s.panel
}

// roomy is the height from which an empty line separates the frame.
const roomy = 16

// narrow is the width below which texts are abbreviated.
const narrow = 60

// View returns the frame.
func (s *screen) View() tea.View { return s.view }

// draw lays out the frame: unfinished lines, the input or a card, and the status line. The frame is
// lower than the screen, because printing above it needs a free line. A panel fills the screen.
func (s *screen) draw() {
	s.paper.held, s.full = s.paper.held || s.full, false
	if s.width == 0 || s.quitting {
		s.show(nil, nil)
		return
	}
	if s.panel != nil && len(s.cards) == 0 {
		s.full = true
		lines := s.panel.lines(s, s.width, s.height-len(s.status())) // the log counts as read now
		s.show(append(lines, s.status()...), nil)
		return
	}
	status := s.status()
	room := s.height - 1 - len(status) // one is free
	var bottom []ink.Line
	var cursor *tea.Cursor
	live := s.live()
	switch {
	case len(s.cards) > 0 && s.cards[0].state().locked:
		var below []ink.Line
		below, cursor = s.asleep(max(1, room/3))
		bottom = s.cardLines(min(room-len(below), s.cardHeight()))
		cursor.Y += len(bottom)
		bottom = append(bottom[:len(bottom):len(bottom)], below...)
	case len(s.cards) > 0:
		bottom = s.cardLines(min(room, s.cardHeight()))
	default:
		bottom, cursor = s.inputLines(room)
	}
	if s.height >= roomy && s.paper.begun {
		live = append([]ink.Line{nil}, live...)
	}
	live = live[max(0, len(live)-max(0, room-len(bottom))):]
	if cursor != nil {
		cursor.Y += len(live)
	}
	s.show(slices.Concat(live, bottom, status), cursor)
}

// cardHeight returns the maximum number of lines of a card. A list of servers and a call may fill
// the screen.
func (s *screen) cardHeight() int {
	switch c := s.cards[0].(type) {
	case *reviewCard:
		if !c.open {
			return s.height
		}
	case *consentCard:
		return s.height
	}
	return max(8, s.height*2/3)
}

// show sets the frame.
func (s *screen) show(lines []ink.Line, cursor *tea.Cursor) {
	for i := range lines {
		lines[i] = lines[i].Cut(s.width)
	}
	s.view = tea.NewView(s.theme.PaintAll(lines))
	s.view.Cursor, s.view.AltScreen, s.view.WindowTitle = cursor, s.full, s.title()
	if !s.full {
		s.frame = len(lines)
		s.paper.drawn, s.paper.peak = max(s.paper.drawn, s.frame), max(s.paper.peak, s.frame)
	}
}

func (s *screen) inputWidth() int { return s.width - 2 }

// inputLines returns the menu and the input, with the cursor.
func (s *screen) inputLines(room int) ([]ink.Line, *tea.Cursor) {
	rows, x, y := s.input.Layout(s.inputWidth())
	most := max(1, room/3)
	from := max(0, min(y-most+1, len(rows)-most))
	lines := s.waitingLines(s.width, room-min(len(rows), most)-1)
	if s.editsPlan() && room > min(len(rows), most)+len(lines) {
		lines = append(lines, append(ink.Line{ink.T(ink.Warn, "plan", ink.Bold), ink.T(ink.Muted, " · ")}, keyLine("Enter carries out these steps", "Esc leaves")...))
	}
	lines = append(lines, s.menu.lines(s.width, room-min(len(rows), most)-len(lines))...)
	cursor := tea.NewCursor(x+2, len(lines)+y-from)
	cursor.Shape, cursor.Blink = tea.CursorBar, false
	for i, r := range rows[from:min(len(rows), from+most)] {
		mark := ink.T(ink.Plain, "  ")
		if from+i == 0 {
			mark = ink.T(ink.Accent, "❯ ", ink.Bold)
		}
		lines = append(lines, append(ink.Line{mark}, s.inked(r.Text)...))
	}
	if s.input.Empty() {
		invitation := "ask something, / for commands, @ for resources"
		if s.ui.options.Files != nil {
			invitation = "ask something, / for commands, @ for files and resources"
		}
		lines[len(lines)-1] = ink.Line{ink.T(ink.Accent, "❯ ", ink.Bold), ink.T(ink.Muted, invitation)}
	}
	return lines, cursor
}

// maxHintLines is the largest number of lines of a hint.
const maxHintLines = 3

// status returns the status line: the model, the servers, the use of the window, the cost. The
// least important parts are left out if there is no space. A hint in its place has as many lines as
// it needs.
func (s *screen) status() []ink.Line {
	if s.hint != "" {
		lines := ink.Lines(ink.Warn, plaintext.Line(s.hint, maxHintLines*s.width), s.width)
		return lines[:min(len(lines), maxHintLines, max(1, s.height-2))]
	}
	m := s.session.Model()
	parts := []ink.Span{ink.T(ink.Plain, plaintext.Line(orElse(m.Name, m.Provider), 30))}
	if !m.Language {
		parts[0] = ink.T(ink.Warn, "offline: not a language model")
		if s.width < narrow {
			parts[0].Text = "offline"
		}
	}
	parts = append(parts, s.serverStatus())
	warnings := 0 // warnings since the last look at the log
	for i := range s.log {
		if s.log[i].at.After(s.readLog) && s.log[i].Level.Severity() >= 4 {
			warnings++
		}
	}
	if warnings > 0 {
		parts = append(parts, ink.T(ink.Warn, plural(warnings, "warning", "warnings")+" in /log"))
	}
	if l := s.used; l.Window > 0 {
		role, share := ink.Muted, 100*l.Used/l.Window
		if share >= 80 {
			role = ink.Warn
		}
		parts = append(parts, ink.T(role, fmt.Sprintf("context %s/%s %d%%", count(l.Used), count(l.Window), share)))
	}
	t := s.session.Talk().Totals()
	if n := t.Usage.Input + t.Usage.Output; n > 0 {
		parts = append(parts, ink.T(ink.Muted, count(n)+" tokens"))
	}
	if t.Cost > 0 {
		parts = append(parts, ink.T(ink.Muted, formatDollars(t.Cost, t.CostUnknown)))
	}
	parts = append(parts, ink.T(ink.Muted, "F1 help"))
	line := ink.Line{parts[0]}
	for _, p := range parts[1:] {
		if p.Text == "" || line.Width()+3+ink.Width(p.Text) > s.width {
			continue
		}
		line = append(line, ink.T(ink.Muted, " · "), p)
	}
	return []ink.Line{line}
}

// typedLines returns the lines of text typed on a card.
func typedLines(b *editor.Buffer, width int) []ink.Line {
	text := withCursor(b, 0)
	if strings.Contains(b.Text(), "\n") || text.Width() > width {
		return ink.Wrap(text, width)
	}
	return []ink.Line{text}
}

const (
	maxTranscript = 20_000 // printed lines stored for the search
	maxQueue      = 5_000  // queued lines from which listen pauses
)

// paper holds the lines that were printed above the frame, or wait to be. They are printed one
// piece at a time, because the order of two concurrent pieces is undefined.
type paper struct {
	queue      []ink.Line
	printing   bool
	begun      bool // something was printed
	transcript []ink.Line

	drawn     int       // height of the tallest frame that may still be on the terminal
	peak      int       // the same, for frames since settling began
	held      bool      // printing waits for settled
	settling  bool      // a settledMsg is pending
	resized   time.Time // time of the last change of size
	width     int       // width that the queued lines fit
	sizeWaits int       // number of times that printing waited for a new size
}

// maxWaited limits how often printing waits for a report of a new size.
const maxWaited = 20

// print queues lines after an empty line.
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

// add queues lines right after the last one.
func (s *screen) add(lines ...ink.Line) {
	s.paper.width = max(s.paper.width, s.width)
	for _, l := range lines {
		s.paper.queue = append(s.paper.queue, l.Cut(s.width))
	}
	s.paper.transcript = append(s.paper.transcript, lines...)
	if extra := len(s.paper.transcript) - maxTranscript; extra > 0 {
		s.paper.transcript = slices.Delete(s.paper.transcript, 0, extra)
	}
}

func (s *screen) printMarkdown(text string) { s.print(markdown.Render(text, s.width)...) }

// say prints a text of the program.
func (s *screen) say(role ink.Role, text string) {
	s.print(ink.Lines(role, text, s.width)...)
}

// flush prints queued lines, but no more than fit above the frame, because the terminal would
// scroll the frame away. The height that counts is that of the tallest frame that may still be on
// the terminal.
func (s *screen) flush() tea.Cmd {
	p := &s.paper
	if p.printing || len(p.queue) == 0 || s.width == 0 || s.full {
		return nil
	}
	if p.held = p.held || s.isOutgrown(); p.held {
		return s.waitForFrame()
	}
	p.fit(s.width)
	room := max(1, s.height-p.drawn-1)
	if room < len(p.queue) && s.frame < p.drawn {
		return s.waitForFrame()
	}
	n := min(len(p.queue), room)
	text := s.theme.PaintAll(p.queue[:n])
	if text == "" {
		text = " " // Println ignores an empty text
	}
	p.queue = slices.Delete(p.queue, 0, n)
	p.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

// isOutgrown reports whether the terminal's size differs from the last reported one. Lines printed
// now would be misplaced and erased by the next frame.
func (s *screen) isOutgrown() bool {
	width, height, known := s.ui.size()
	if !known || width == s.reported.width && height == s.reported.height || s.paper.sizeWaits >= maxWaited {
		s.paper.sizeWaits = 0
		return false
	}
	s.paper.sizeWaits++
	return true
}

// fit breaks queued lines for the current width. The terminal would otherwise break them, and the
// number of rows would be wrong.
func (p *paper) fit(width int) {
	if p.width <= width {
		p.width = width
		return
	}
	p.width = width
	var rows []ink.Line
	for _, l := range p.queue {
		rows = append(rows, ink.Chop(l, width)...)
	}
	p.queue = rows
}

// waitForFrame waits until a lower frame is on the terminal.
func (s *screen) waitForFrame() tea.Cmd {
	if s.paper.settling {
		return nil
	}
	s.paper.settling, s.paper.peak = true, s.frame
	return tea.Tick(drawTime, func(time.Time) tea.Msg { return settledMsg{} })
}

// settled records that the frames since waitForFrame are on the terminal, unless the size changed
// meanwhile.
func (p *paper) settled(now time.Time) {
	p.settling = false
	if now.Sub(p.resized) >= drawTime {
		p.held, p.drawn = false, p.peak
	}
}
