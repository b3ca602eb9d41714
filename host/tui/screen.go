package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// screen is the state of what is shown. It is used by one goroutine, that of the
// program.
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
	byItself  int          // times that the model went on with what came of tasks since the person asked something
	polling   bool
	troubled  []string    // servers of which it was said that they failed
	refused   []string    // servers of which the person refused what was to be reviewed
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

	cards   []card                      // what waits for the person, the first one shown
	panel   panel                       // what the person opened; nil: nothing
	pressed time.Time                   // when the last key was
	forCard string                      // what it was, if it was for a card
	noted   struct{ call, text string } // what the person said to a call that they refused

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
	return s, tea.Batch(append(cmds, s.listen(), s.flush(), s.tick(), s.poll(), s.quit())...)
}

// drawTime is how long the first frame may take until it is on the terminal.
const drawTime = 60 * time.Millisecond

// resize lays everything out for another size. With the first one, printing can
// begin, but not before the program knows where the frame is: it would print over
// what stood on the terminal before.
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

// listen waits for what comes next, unless there is much to be printed first: who
// brings more has to wait.
func (s *screen) listen() tea.Cmd {
	if s.listening || len(s.paper.queue) > maxQueue {
		return nil
	}
	s.listening = true
	return s.ui.next
}

// tick keeps running times moving.
func (s *screen) tick() tea.Cmd {
	if s.run == nil || s.run.ticking {
		return nil
	}
	s.run.ticking = true
	return tea.Tick(tickTime, func(time.Time) tea.Msg { return tickMsg{} })
}

// poll looks after servers that are connecting: that they are there is no event.
func (s *screen) poll() tea.Cmd {
	if s.polling || !slices.ContainsFunc(s.servers, isConnecting) {
		return nil
	}
	s.polling = true
	return tea.Tick(pollTime, func(time.Time) tea.Msg { return pollMsg{} })
}

// quit leaves once everything is printed.
func (s *screen) quit() tea.Cmd {
	if !s.quitting || s.paper.printing || len(s.paper.queue) > 0 {
		return nil
	}
	return tea.Quit
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

// overlay is what has the keys in place of the input, or nil.
func (s *screen) overlay() overlay {
	if len(s.cards) > 0 {
		return s.cards[0]
	}
	return s.panel
}
