package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// scripted is a session whose answers are written by the test.
type scripted struct {
	compact func(context.Context) error // nil: done at once
	info    model.Info
	ask     func(ctx context.Context, q host.Question) error
	servers []host.ServerTools
	stderr  map[string][]string
	tools   []host.ToolInfo
	prompts []host.PromptRef
	found   []host.ResourceRef
	some    []host.TemplateRef
	offers  map[string][]string // by argument
	ledger  host.WindowUse
	totals  host.Totals
	entries []host.Entry
	saved   Saved
	list    []Saved
	fail    error
	plan    host.Plan
	propose func(ctx context.Context, goal string) (host.Plan, error)
	execute func(ctx context.Context, changed func(host.Plan)) error

	mu       sync.Mutex
	calls    []string
	running  []host.Task
	watching atomic.Int32
}

func (s *scripted) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *scripted) did(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.calls, what)
}

func (s *scripted) Model() model.Info { return s.info }
func (s *scripted) Talk() Talk        { return s }
func (s *scripted) Ask(ctx context.Context, q host.Question) (host.Answer, error) {
	s.note("ask " + q.Text)
	if s.ask == nil {
		return host.Answer{}, nil
	}
	return host.Answer{}, s.ask(ctx, q)
}
func (s *scripted) Servers() []host.ServerTools {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers
}
func (s *scripted) Tools() []host.ToolInfo                { return s.tools }
func (s *scripted) Prompts() []host.PromptRef             { return s.prompts }
func (s *scripted) Resources() []host.ResourceRef         { return s.found }
func (s *scripted) Templates() []host.TemplateRef         { return s.some }
func (s *scripted) WindowUse() host.WindowUse             { return s.ledger }
func (s *scripted) Totals() host.Totals                   { return s.totals }
func (s *scripted) Entries() []host.Entry                 { return s.entries }
func (s *scripted) Saved() Saved                          { return s.saved }
func (s *scripted) List(context.Context) ([]Saved, error) { return s.list, s.fail }
func (s *scripted) ReviewAgain(server string) error       { s.note("review " + server); return s.fail }
func (s *scripted) Restart(server string) error           { s.note("restart " + server); return s.fail }
func (s *scripted) Distrust(server string) error          { s.note("distrust " + server); return s.fail }
func (s *scripted) Stderr(server string) []string         { return s.stderr[server] }
func (s *scripted) Approvals() []guard.Approval           { return nil }
func (s *scripted) Withdraw(guard.Approval) error         { return s.fail }
func (s *scripted) Tasks() []host.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.running)
}
func (s *scripted) CancelTask(_ context.Context, number int) error {
	s.note(fmt.Sprint("cancel task ", number))
	return s.fail
}
func (s *scripted) LeaveTask(number int) error {
	s.note(fmt.Sprint("leave task ", number))
	return s.fail
}
func (s *scripted) WatchTasks(ctx context.Context) {
	s.watching.Add(1)
	<-ctx.Done()
	s.watching.Add(-1)
}
func (s *scripted) Trust(server string, forever bool) error {
	s.note(fmt.Sprintf("trust %s %v", server, forever))
	return s.change(server, func(t *host.ServerTools) { t.Trusted = true })
}
func (s *scripted) SetOff(server string, off bool) error {
	return s.change(server, func(t *host.ServerTools) { t.Off = off })
}

// change changes what is known of a server.
func (s *scripted) change(server string, change func(*host.ServerTools)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = slices.Clone(s.servers)
	for i := range s.servers {
		if s.servers[i].Server == server {
			change(&s.servers[i])
		}
	}
	return s.fail
}
func (s *scripted) Plan() host.Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plan
	p.Steps = slices.Clone(p.Steps)
	return p
}
func (s *scripted) ChangePlan(change func(host.Plan) (host.Plan, error)) (host.Plan, error) {
	p, err := change(s.Plan())
	if err != nil {
		return p, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = p
	return p, s.fail
}
func (s *scripted) Propose(ctx context.Context, goal string) (host.Plan, error) {
	return s.propose(ctx, goal)
}
func (s *scripted) Execute(ctx context.Context, changed func(host.Plan)) error {
	return s.execute(ctx, changed)
}
func (s *scripted) Keep(note string) error { s.note("keep " + note); return s.fail }
func (s *scripted) Compact(ctx context.Context) error {
	s.note("compact")
	if s.compact != nil {
		return s.compact(ctx)
	}
	return s.fail
}
func (s *scripted) New(context.Context) error  { s.note("new"); s.entries = nil; return s.fail }
func (s *scripted) Fork(context.Context) error { s.note("fork"); return s.fail }
func (s *scripted) Rewind(_ context.Context, entries int) error {
	s.note("rewind " + strconv.Itoa(entries))
	if s.fail == nil {
		s.entries = s.entries[:entries]
	}
	return s.fail
}
func (s *scripted) Resume(_ context.Context, id string) error { s.note("resume " + id); return s.fail }
func (s *scripted) Name(_ context.Context, title string) error {
	s.note("name " + title)
	return s.fail
}
func (s *scripted) Export(_ context.Context, path string) (string, error) { return path, s.fail }
func (s *scripted) Complete(_ context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error) {
	var fitting []string
	for _, v := range s.offers[server+" "+req.Argument.Name] {
		if strings.HasPrefix(v, req.Argument.Value) {
			fitting = append(fitting, v)
		}
	}
	return &mcp.Completion{Values: fitting}, nil
}

// stage is a screen without a program: the test is the loop of events.
type stage struct {
	t       *testing.T
	ui      *UI
	screen  *screen
	session *scripted
	left    bool
}

// play runs a test on a screen of the given size, on a fake clock.
func play(t *testing.T, session *scripted, width, height int, f func(st *stage), with ...func(*Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Theme: "mono"}
		for _, w := range with {
			w(&o)
		}
		ui, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ui.running.Store(true)
		if session.info.Name == "" {
			session.info = model.Info{Name: "test-model", Provider: "test", Language: true}
		}
		st := &stage{t: t, ui: ui, screen: newScreen(ctx, ui, session), session: session}
		st.screen.menu.load(st.screen)
		st.send(tea.WindowSizeMsg{Width: width, Height: height})
		f(st)
		cancel()
		close(ui.closed)
		ui.work.Wait()
	})
}

// send hands the screen a message, and all that follows from it.
func (st *stage) send(msg tea.Msg) {
	st.update(msg)
	st.settle()
}

func (st *stage) update(msg tea.Msg) {
	st.t.Helper()
	_, cmd := st.screen.Update(msg)
	st.do(cmd)
	st.checked()
}

// do does what a program would do with a command.
func (st *stage) do(cmd tea.Cmd) {
	_ = cmd // printing is done by the stage itself, waiting by synctest
	for p := &st.screen.paper; len(p.queue) > 0 && !st.screen.full; {
		p.printing = false
		p.resized = time.Time{}
		p.settled(st.screen.now())
		st.screen.flush()
	}
	st.screen.paper.printing = false
	if st.screen.run != nil {
		st.screen.run.ticking = false
	}
	st.left = st.left || st.screen.quitting
}

// settle waits until nothing moves, and shows what came.
func (st *stage) settle() {
	for {
		synctest.Wait()
		select {
		case v := <-st.ui.inbox:
			st.update(inboxMsg{v})
		default:
			return
		}
	}
}

// wait lets time pass.
func (st *stage) wait(d time.Duration) {
	time.Sleep(d) // of the fake clock
	st.settle()
}

// checked looks at every frame: it fits, and holds no control characters.
func (st *stage) checked() {
	st.t.Helper()
	view := st.screen.View()
	rows := strings.Split(view.Content, "\n")
	if len(rows) > st.screen.height {
		st.t.Fatalf("the frame has %d lines, and the screen %d:\n%s", len(rows), st.screen.height, view.Content)
	}
	for _, r := range strings.ReplaceAll(bare(view.Content), "\n", "") {
		if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) {
			st.t.Fatalf("the frame holds %U:\n%q", r, view.Content)
		}
	}
}

// bare is text without the escape sequences of the theme mono.
func bare(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(after, "m")
	}
}

// frame is what is drawn below the scrollback.
func (st *stage) frame() string {
	var rows []string
	for row := range strings.SplitSeq(bare(st.screen.View().Content), "\n") {
		rows = append(rows, strings.TrimRight(row, " \u00a0"))
	}
	return strings.ReplaceAll(strings.Join(rows, "\n"), "\u00a0", " ")
}

// scrollback is everything that was printed.
func (st *stage) scrollback() string {
	var rows []string
	for _, l := range st.screen.paper.transcript {
		rows = append(rows, strings.TrimRight(l.Cut(st.screen.width).String(), " "))
	}
	return strings.Join(rows, "\n")
}

// keys presses keys: names in angle brackets, text as it is.
func (st *stage) keys(keys string) {
	st.t.Helper()
	for keys != "" {
		name, rest, isName := strings.Cut(keys[1:], ">")
		if keys[0] == '<' && isName {
			st.send(press(name))
			keys = rest
			continue
		}
		r := []rune(keys)[0]
		st.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		keys = keys[len(string(r)):]
	}
}

// typing types as a person does who does not look up.
func (st *stage) typing(text string) {
	st.t.Helper()
	for _, r := range text {
		st.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		st.wait(250 * time.Millisecond)
	}
}

// press is the message of a key with a name such as ctrl+c.
func press(name string) tea.KeyPressMsg {
	named := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace, "f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4,
	}
	var msg tea.KeyPressMsg
	for {
		mod, rest, found := strings.Cut(name, "+")
		if !found {
			break
		}
		msg.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[mod]
		name = rest
	}
	if code, ok := named[name]; ok {
		msg.Code = code
		return msg
	}
	if name == "space" {
		msg.Code, msg.Text = tea.KeySpace, " "
		return msg
	}
	msg.Code = []rune(name)[0]
	return msg
}

// expect compares a screen with what it should be.
func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if want = strings.Trim(want, "\n"); strings.Trim(got, "\n") != want {
		t.Errorf("%s is\n%s\n--- want\n%s", what, got, want)
	}
}

func (st *stage) holds(text string) {
	st.t.Helper()
	if !strings.Contains(st.frame(), text) {
		st.t.Errorf("the frame does not hold %q:\n%s", text, st.frame())
	}
}

func (st *stage) printedText(text string) {
	st.t.Helper()
	if !strings.Contains(st.scrollback(), text) {
		st.t.Errorf("the scrollback does not hold %q:\n%s", text, st.scrollback())
	}
}

// tell tells events as a host would.
func (st *stage) tell(events ...host.Event) {
	for _, e := range events {
		st.ui.Event(e)
	}
}

func text(s string) host.Event        { return host.Event{Delta: &model.Delta{Text: s}} }
func object(s string) json.RawMessage { return json.RawMessage(s) }

var errScripted = errors.New("the provider is on holiday")
