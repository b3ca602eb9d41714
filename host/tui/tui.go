package tui

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"golang.org/x/term"
)

// Options are optional; the zero value of each field means its default.
type Options struct {
	// In and Out are the terminal; default standard input and output.
	In  io.Reader
	Out io.Writer
	// Env are the environment's variables that say what the terminal can do; default the process's own.
	Env []string
	// Theme is "auto" (the default: by the terminal's background), "dark", "light" or "mono".
	Theme string
	// NoColor shows no colours, whatever the theme; so does the variable NO_COLOR.
	NoColor bool
	// Greeting is shown first, as Markdown.
	Greeting string
	// Example returns a question that these tools answer, to be suggested once servers are connected; empty for
	// none. Nil: none is suggested.
	Example func(tools []host.ToolInfo) string
	// History are lines that were typed earlier, the oldest first; Remember is called with each new one.
	History  []string
	Remember func(line string)
	// SaveMedia keeps an image, a sound or a file of a result and returns its path; nil: they are announced only.
	SaveMedia func(server, tool string, m model.Media) (path string, err error)
	// Files are the local files that can be attached; nil: none.
	Files Files
	// OnDisk reads a file below a folder that the user gave to the chat: an approval card
	// shows what a call that writes all of it would change. It is not ok where the file is none
	// of those, or not to be shown; nil: none is. It is called from several goroutines.
	OnDisk func(path string) (text string, ok bool)
	// Clipboard returns the picture that is in the clipboard, for Ctrl+V; nil: it cannot be read.
	Clipboard func(ctx context.Context) ([]byte, error)
	// Notes are what the model remembered; nil: nothing is.
	Notes Notes
	// Permissions lists what may be done in a session; nil: nobody knows.
	Permissions func(ctx context.Context, s Session) ([]Permission, error)
	// Models are the models that can answer; nil: there is one.
	Models Models
	// Console serves a page that shows what servers and the chat say, opens it in a browser where it can, and returns a
	// link to it; nil: there is none.
	Console func(ctx context.Context) (link string, err error)
	// NoAlerts neither rings the bell nor notifies when the user is waited for, and
	// leaves the title of the window alone.
	NoAlerts bool
	// Plain reads line by line and writes plain text, as is done on a terminal that cannot move its cursor.
	Plain bool
	// Trace shows the steps of each run from the beginning.
	Trace bool
}

// maxInbox is how many events can wait for the screen; who brings more waits.
const maxInbox = 1_024

// A UI is a user at a terminal. It is the [host.Person] of the host whose events it gets. What it is asked before Run
// waits for it; after Run, all of it is an error, which a host takes for a no. It is safe for concurrent use.
type UI struct {
	byCard
	options Options
	theme   ink.Theme
	auto    bool // the theme follows the terminal's background

	inbox   chan any // events, questions to the user, results of what runs in the background
	running atomic.Bool
	stop    atomic.Pointer[context.CancelCauseFunc] // of what happens line by line; nil: nothing

	prompting atomic.Pointer[terminal.Screen] // where the next question is waited for, line by line; nil: it is not
	closed    chan struct{}                   // when the screen is gone
	once      sync.Once
	work      sync.WaitGroup // what runs in the background
	jobs      atomic.Int64   // how many that are

	now  func() time.Time
	size func() (width, height int, known bool)           // of the terminal
	raw  func(text string) tea.Cmd                        // sends the terminal something that is not drawn; nil: it takes nothing
	exec func(c *exec.Cmd, done tea.ExecCallback) tea.Cmd // runs a program in place of the screen
}

// New returns a UI. The error says that there is no such theme.
func New(o Options) (*UI, error) {
	u := &UI{options: o, inbox: make(chan any, maxInbox), closed: make(chan struct{}), now: time.Now, size: unknownSize, raw: func(text string) tea.Cmd { return tea.Raw(text) }, exec: tea.ExecProcess}
	u.byCard = byCard{u.onScreen, o.OnDisk}
	name := o.Theme
	if name == "" || name == "auto" {
		name, u.auto = "dark", true
	}
	if !slices.Contains(ink.Themes(), name) {
		return nil, fmt.Errorf("theme %q: expected auto, %s", o.Theme, strings.Join(ink.Themes(), ", "))
	}
	if o.NoColor || u.getenv("NO_COLOR") != "" {
		name, u.auto = "mono", false
	}
	u.theme, _ = ink.Named(name)
	return u, nil
}

// getenv returns a variable of the environment.
func (u *UI) getenv(name string) string {
	if u.options.Env == nil {
		return os.Getenv(name)
	}
	for _, v := range slices.Backward(u.options.Env) {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// Event shows what happens; it is meant as [host.Options.OnEvent]. It waits
// while the screen is busy. Before Run, what does not fit is dropped.
func (u *UI) Event(e host.Event) {
	if e.Returned != nil && e.Returned.Task > 0 {
		u.hint(fmt.Sprintf("task %d is over; Enter shows what came of it", e.Returned.Task))
	}
	if u.running.Load() {
		u.post(e)
		return
	}
	select {
	case u.inbox <- e:
	default: // the screen asks for the state of servers itself when it begins
	}
}

// hint says, while the next question is waited for line by line, that there is something: a read from a terminal cannot
// be interrupted without losing what was typed.
func (u *UI) hint(text string) {
	if out := u.prompting.Load(); out != nil {
		out.Printf("\n(%s)\n> ", text)
	}
}

// post hands something to the screen, unless that is gone.
func (u *UI) post(v any) {
	select {
	case u.inbox <- v:
	case <-u.closed:
	}
}

// Run shows the screen until the user leaves or ctx is done, which cancels
// whatever is running. It can be called once.
func (u *UI) Run(ctx context.Context, session Session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		u.once.Do(func() { close(u.closed) })
		u.work.Wait()
	}()
	u.running.Store(true)
	u.size = sizeOf(u.options.Out)
	if u.options.Plain || u.isDumb() {
		return u.lineByLine(ctx, session)
	}
	options := []tea.ProgramOption{tea.WithContext(ctx)}
	if u.options.In != nil {
		options = append(options, tea.WithInput(u.options.In))
	}
	if u.options.Out != nil {
		options = append(options, tea.WithOutput(u.options.Out))
	}
	if u.options.Env != nil {
		options = append(options, tea.WithEnvironment(u.options.Env))
	}
	_, err := tea.NewProgram(newScreen(ctx, u, session), options...).Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrInterrupted):
		return nil
	}
	return err
}

func unknownSize() (width, height int, known bool) { return 0, 0, false }

// sizeOf asks a terminal for its size; nil is standard output.
func sizeOf(out io.Writer) func() (width, height int, known bool) {
	if out == nil {
		out = os.Stdout
	}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return unknownSize
	}
	return func() (width, height int, known bool) {
		width, height, err := term.GetSize(int(f.Fd()))
		return width, height, err == nil
	}
}

// background runs f, and hands what it returns to the screen.
func (u *UI) background(f func() any) {
	u.jobs.Add(1)
	u.work.Go(func() {
		u.post(f())
		u.jobs.Add(-1)
	})
}

// maxBatch is how many things of the inbox are handled before the screen is drawn again.
const maxBatch = 256

// next waits for things in the inbox.
func (u *UI) next() tea.Msg {
	var batch inboxMsg
	select {
	case v := <-u.inbox:
		batch = append(batch, v)
	case <-u.closed:
		return nil
	}
	for len(batch) < maxBatch {
		select {
		case v := <-u.inbox:
			batch = append(batch, v)
		default:
			return batch
		}
	}
	return batch
}

// inboxMsg are things of the inbox, in their order.
type inboxMsg []any

// ErrNotKept says that there is no place where conversations are kept.
var ErrNotKept = errors.New("conversations are not kept: there is no archive")

// A Session is what the screen needs of a host and its conversations. Methods are
// called from several goroutines. Those that take a context may take their time.
type Session interface {
	// Talk is the conversation that goes on now.
	Talk() Talk
	// Model describes the model that answers.
	Model() model.Info

	// What servers offer, as [host.Host] has it.
	Prompts() []host.PromptRef
	Resources() []host.ResourceRef
	Templates() []host.TemplateRef
	Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error)
	Restart(server string) error
	Stderr(server string) []string

	// Propose has the model propose a plan, and Execute carries it out, as in package plan.
	Propose(ctx context.Context, goal string) (host.Plan, error)
	Execute(ctx context.Context, changed func(host.Plan)) error

	// Saved describes the conversation as it is kept; zero if it is not.
	Saved() Saved
	// New begins another conversation, Resume goes on with a kept one, Fork with a copy of this one, Rewind with a copy
	// of its first entries and of what the user took back since. Name gives this one a title. Export writes it to a
	// file and returns the file's path; an empty path leaves the choice to the session.
	New(ctx context.Context) error
	Resume(ctx context.Context, id string) error
	Fork(ctx context.Context) error
	Rewind(ctx context.Context, entries int) error
	Name(ctx context.Context, title string) error
	Export(ctx context.Context, path string) (string, error)
	// List returns kept conversations, the last one first.
	List(ctx context.Context) ([]Saved, error)
}

// A Talk is what the screen needs of a [host.Conversation], which is one. What happens in a run comes as
// events; the error of Ask is shown unless an Answered event reported it.
type Talk interface {
	Ask(ctx context.Context, q host.Question) (host.Answer, error)
	Entries() []host.Entry
	Ledger() host.Ledger
	Totals() host.Totals
	Keep(note string) error
	Compact(ctx context.Context) error
	Plan() host.Plan
	ChangePlan(change func(host.Plan) (host.Plan, error)) (host.Plan, error)

	Servers() []host.ServerTools
	Tools() []host.ToolInfo
	ReviewAgain(server string) error
	SetOff(server string, off bool) error
	Trust(server string, forever bool) error
	Distrust(server string) error
	Approvals() []guard.Approval
	Withdraw(a guard.Approval) error

	Tasks() []host.Task
	CancelTask(ctx context.Context, number int) error
	LeaveTask(number int) error
	WatchTasks(ctx context.Context)
}

// Saved describes a kept conversation.
type Saved struct {
	ID, Title string
	Changed   time.Time
	Questions int
	Cost      float64 // US dollars
	Folder    string  // where it was begun, if that is elsewhere
}

// count returns a number as users read it.
func count(n int) string {
	switch {
	case n < 1_000:
		return strconv.Itoa(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1_000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1_000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// bytes returns a size as users read it.
func bytes(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// money returns an amount of US dollars.
func money(dollars float64, unknown bool) string {
	switch {
	case unknown && dollars == 0:
		return "cost unknown"
	case unknown: // of other requests
		return "at least " + money(dollars, false)
	case dollars == 0:
		return "$0"
	case dollars < 0.1:
		return fmt.Sprintf("$%.4f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

// plural returns a number of things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

const (
	awayTime = 5 * time.Second  // without a key, after which the user may be looking elsewhere
	longTime = 10 * time.Second // an answer that took as long is announced
	maxDraft = 1 << 20          // bytes of what the external editor leaves
)

// raw sends the terminal something that is not drawn.
func (s *screen) raw(text string) { s.cmds = append(s.cmds, s.ui.raw(text)) }

// alert rings the bell and has the terminal notify a user who looks elsewhere. The text
// is the program's own: who writes a server's name into a notification writes for it.
func (s *screen) alert(text string) {
	if s.ui.options.NoAlerts || s.byLine || s.quitting || s.now().Sub(s.pressed) < awayTime {
		return
	}
	s.raw("\a\x1b]9;Junction " + text + "\x1b\\")
}

// title returns what the terminal's window is called.
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

// copyAnswer puts the last answer, or the last block of code in it, into the clipboard of the terminal.
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

// lastCode returns the last block of code in Markdown.
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

// openEditor opens what was typed in the user's own editor, without a shell in between.
func (s *screen) openEditor() {
	command := orElse(s.ui.getenv("VISUAL"), s.ui.getenv("EDITOR"))
	words, err := splitWords(command)
	switch {
	case err != nil:
		s.hint = "VISUAL or EDITOR: " + err.Error()
		return
	case len(words) == 0:
		s.hint = "no editor is set: set VISUAL or EDITOR"
		return
	}
	folder, err := os.MkdirTemp("", "junction-") // which nobody else can read
	if err == nil {
		err = os.WriteFile(draft(folder), []byte(s.unfolded(s.input.Text())+"\n"), 0o600) // an editor's file ends its last line
	}
	if err != nil {
		s.hint = "no file could be made for the editor: " + plaintext.Line(err.Error(), 200)
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
		s.hint = "the input is unchanged: the editor: " + plaintext.Line(err.Error(), 200)
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
