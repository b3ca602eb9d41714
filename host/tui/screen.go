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

// screen is the state of what is shown. It is used by one goroutine, that of the program.
type screen struct {
	ctx     context.Context
	ui      *UI
	session Session
	theme   ink.Theme
	now     func() time.Time

	width, height int
	reported      struct{ width, height int } // by the terminal
	view          tea.View                    // what is drawn
	frame         int                         // its lines
	full          bool                        // it takes the whole screen, which comes back afterwards

	paper     paper   // what goes to the scrollback
	run       *run    // the question that is being answered; nil: none
	past      []*call // calls that returned, and thoughts, the last one last
	log       []logged
	readLog   time.Time // when the log was looked at
	trace     bool
	byLine    bool // the terminal can only print lines
	servers   []host.ServerTools
	permitted []Permission // as they were listed last
	unwatch   func()       // ends the wait for tasks of the conversation that is shown
	came      int          // the task of which something came that the model was not asked about; 0: none
	byItself  int          // times that the model went on with what came of tasks since the user asked something
	polling   bool
	troubled  []string    // servers of which it was said that they failed
	refused   []string    // servers of which the user refused what was to be reviewed
	announced []string    // servers of which it was said that they wait to be reviewed
	suggested bool        // a question was looked for that can be suggested
	used      host.Ledger // as it was after the last step

	input   editor.Buffer
	history history
	menu    menu
	waiting waiting
	pastes  struct {
		all   []pasted
		count int
	}
	large  string          // a question that was kept back for its size; empty: none
	cmds   []tea.Cmd       // what the program is to do next
	steps  []host.PlanStep // as they were put into the input
	absent []string        // what was typed behind an @ and is no file
	hint   string          // shown in place of the status line until the next key

	cards   []card                      // what waits for the user, the first one shown
	panel   panel                       // what the user opened; nil: nothing
	pressed time.Time                   // when the last key was
	forCard string                      // what it was, if it was for a card
	noted   struct{ call, text string } // what the user said to a call that they refused

	listening bool // somebody waits for what comes next
	quitting  bool
	escaped   time.Time // when Esc was pressed with nothing to close
	leaving   time.Time // when Ctrl+C was pressed with nothing to cancel, or Ctrl+D with something to lose
}

// An overlay takes the place of the input: a panel or a card.
type overlay interface {
	// press handles a key and reports whether the overlay is done.
	press(s *screen, k keypress) (done bool)
	// lines are what is shown, at most height of them.
	lines(s *screen, width, height int) []ink.Line
}

// A panel is an overlay that the user opened. A key that it does not take closes it, and is for the input.
type panel interface {
	overlay
	takes(k keypress) bool
}

// typing is an overlay that takes text.
type typing interface{ write(s *screen, text string) }

// The messages of the screen to itself.
type (
	tickMsg    struct{}
	pollMsg    struct{}
	printedMsg struct{}
	settledMsg struct{}
)

// tickTime is how often running times are drawn again, pollTime how often the
// state of servers is looked at while some are connecting.
const (
	tickTime = 200 * time.Millisecond
	pollTime = 500 * time.Millisecond
)

func newScreen(ctx context.Context, u *UI, session Session) *screen {
	s := &screen{ctx: ctx, ui: u, session: session, theme: u.theme, now: u.now, trace: u.options.Trace}
	s.history = newHistory(u.options.History)
	s.servers, s.used = session.Talk().Servers(), session.Talk().Ledger()
	return s
}

// Init begins to listen.
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
		s.polling, s.used = false, s.session.Talk().Ledger()
		s.look(s.session.Talk().Servers())
	case tickMsg:
		if s.run != nil {
			s.run.ticking = false
		}
	}
	s.draw()
	cmds, s.cmds = append(cmds, s.cmds...), nil
	cmds = append(cmds, s.listen(), s.flush())
	if s.run != nil && !s.run.ticking { // running times move
		s.run.ticking = true
		cmds = append(cmds, tea.Tick(tickTime, func(time.Time) tea.Msg { return tickMsg{} }))
	}
	if !s.polling && slices.ContainsFunc(s.servers, isConnecting) { // no event tells that a server is connected
		s.polling = true
		cmds = append(cmds, tea.Tick(pollTime, func(time.Time) tea.Msg { return pollMsg{} }))
	}
	if s.quitting && !s.paper.printing && len(s.paper.queue) == 0 {
		cmds = append(cmds, tea.Quit)
	}
	return s, tea.Batch(cmds...)
}

// drawTime is how long the first frame may take until it is on the terminal.
const drawTime = 60 * time.Millisecond

// resize lays everything out for another size. With the first one, printing can begin, but not before the program knows
// where the frame is: it would print over what stood on the terminal before.
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

// greet prints what stands at the beginning: a greeting, and what was said before.
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

// receive handles what came from elsewhere.
func (s *screen) receive(v any) {
	switch v := v.(type) {
	case host.Event:
		s.happened(&v)
	case *ask:
		if s.run != nil {
			s.endText() // the model has said what it says before the call
		}
		s.cards = append(s.cards, newCard(s, v))
		s.alert("waits for you")
	case withdrawn:
		s.cards = slices.DeleteFunc(s.cards, func(c card) bool { return c.state().ask == v.ask })
	case func(*screen):
		v(s)
	}
}

// later runs f in the background, and what it returns on the screen.
func (s *screen) later(f func(context.Context) func(*screen)) {
	s.ui.background(func() any { return f(s.ctx) })
}

// listen waits for what comes next, unless there is much to be printed first: who brings more has to wait.
func (s *screen) listen() tea.Cmd {
	if s.listening || len(s.paper.queue) > maxQueue {
		return nil
	}
	s.listening = true
	return s.ui.next
}

// leave ends the program. Whoever waits for an answer gets none. Tasks go on, unless nobody would know of them.
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

// overlay returns what has the keys in place of the input, or nil.
func (s *screen) overlay() overlay {
	if len(s.cards) > 0 {
		return s.cards[0]
	}
	return s.panel
}

// roomy is the height from which on there is an empty line above the frame.
const roomy = 16

// narrow is the width below which words are saved.
const narrow = 60

// View returns the frame.
func (s *screen) View() tea.View { return s.view }

// draw lays out the frame: what is moving, the input or a card in its place, and the status line. It is lower than the
// screen, so that printing above it works. A panel takes the whole screen.
func (s *screen) draw() {
	s.paper.held, s.full = s.paper.held || s.full, false
	if s.width == 0 || s.quitting {
		s.show(nil, nil)
		return
	}
	if s.panel != nil && len(s.cards) == 0 {
		s.full = true
		s.show(append(s.panel.lines(s, s.width, s.height-1), s.status()), nil)
		return
	}
	room := s.height - 2 // for the status line, and one that stays free
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
	s.show(append(append(live[:len(live):len(live)], bottom...), s.status()), cursor)
}

// cardHeight returns how many lines a card may have. A list of servers and a call may have them all, so that they fit.
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

// show makes lines the frame.
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

// inputLines returns the menu and the input, with the cursor in them.
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

// status returns the last line: the model, the servers, the context, what it cost.
// What does not fit is left out, the least important first.
func (s *screen) status() ink.Line {
	if s.hint != "" {
		return ink.Line{ink.T(ink.Warn, plaintext.Line(s.hint, s.width))}
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
	warnings := 0 // that were not looked at
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
		parts = append(parts, ink.T(ink.Muted, money(t.Cost, t.CostUnknown)))
	}
	parts = append(parts, ink.T(ink.Muted, "F1 help"))
	line := ink.Line{parts[0]}
	for _, p := range parts[1:] {
		if p.Text == "" || line.Width()+3+ink.Width(p.Text) > s.width {
			continue
		}
		line = append(line, ink.T(ink.Muted, " · "), p)
	}
	return line
}

// typedLines returns text that is being typed on a card.
func typedLines(b *editor.Buffer, width int) []ink.Line {
	text := withCursor(b, 0)
	if strings.Contains(b.Text(), "\n") || text.Width() > width {
		return ink.Wrap(text, width)
	}
	return []ink.Line{text}
}

const (
	maxTranscript = 20_000 // printed lines that are remembered for the search
	maxQueue      = 5_000  // lines that wait to be printed before no more is heard
)

// paper is what was printed above the frame, or waits for it. Printing is asked of the program one piece after the
// other: two pieces at the same time could come out in any order.
type paper struct {
	queue      []ink.Line
	printing   bool
	begun      bool // something was printed
	transcript []ink.Line

	drawn    int       // the height of the highest frame that may be on the terminal
	peak     int       // of the frames since settling began
	held     bool      // nothing may be printed before that
	settling bool      // it is being waited until a lower frame is drawn
	resized  time.Time // when the terminal last had another size
	width    int       // that the lines of the queue fit in
	waited   int       // how often the program did not know the terminal's size yet
}

// maxWaited is how often printing waits for the program to hear of another size.
const maxWaited = 20

// print prints lines, with an empty line before them.
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

// add prints lines right below the last one.
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

// say prints a remark of the program itself.
func (s *screen) say(role ink.Role, text string) {
	s.print(ink.Lines(role, text, s.width)...)
}

// flush prints what waits. No more goes out at once than fits above the frame: the terminal scrolls by so much, and
// would take the frame along. What counts is the highest frame that may still be on the terminal.
func (s *screen) flush() tea.Cmd {
	p := &s.paper
	if p.printing || len(p.queue) == 0 || s.width == 0 || s.full {
		return nil
	}
	if p.held = p.held || s.isOutgrown(); p.held {
		return s.settle()
	}
	p.fit(s.width)
	room := max(1, s.height-p.drawn-1)
	if room < len(p.queue) && s.frame < p.drawn {
		return s.settle()
	}
	n := min(len(p.queue), room)
	text := s.theme.PaintAll(p.queue[:n])
	if text == "" {
		text = " " // nothing at all would print no line
	}
	p.queue = slices.Delete(p.queue, 0, n)
	p.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

// isOutgrown reports whether the terminal has another size than the program knows of. What
// is printed then lands on other lines, and the next frame erases it.
func (s *screen) isOutgrown() bool {
	width, height, known := s.ui.size()
	if !known || width == s.reported.width && height == s.reported.height || s.paper.waited >= maxWaited {
		s.paper.waited = 0
		return false
	}
	s.paper.waited++
	return true
}

// fit breaks the lines that wait for the width that the terminal has now: the terminal
// would break them where nobody counts it.
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

// settle waits until a lower frame is on the terminal.
func (s *screen) settle() tea.Cmd {
	if s.paper.settling {
		return nil
	}
	s.paper.settling, s.paper.peak = true, s.frame
	return tea.Tick(drawTime, func(time.Time) tea.Msg { return settledMsg{} })
}

// settled notes that frames of some time ago are on the terminal; unless it has had another
// size since, which a frame has to be drawn for.
func (p *paper) settled(now time.Time) {
	p.settling = false
	if now.Sub(p.resized) >= drawTime {
		p.held, p.drawn = false, p.peak
	}
}
