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

// Options configures a UI. The zero value of each field means its default.
type Options struct {
	// In and Out are the terminal; default standard input and output.
	In  io.Reader
	Out io.Writer
	// Env holds the environment variables that describe the terminal; default the process's own.
	Env []string
	// Theme is "auto" (the default, which follows the terminal's background), "dark", "light" or
	// "mono".
	Theme string
	// NoColor disables colours in every theme, as does the variable NO_COLOR.
	NoColor bool
	// Greeting is Markdown that is printed first.
	Greeting string
	// Example returns a question for the given tools, to suggest after servers are connected, or
	// "". If Example is nil, no question is suggested.
	Example func(tools []host.ToolInfo) string
	// History holds lines typed earlier, the oldest first. Remember is called with each new line.
	History  []string
	Remember func(line string)
	// SaveMedia stores an image, a sound or a file of a result, and returns its path. If SaveMedia
	// is nil, only a line about the media is printed.
	SaveMedia func(server, tool string, m model.Media) (path string, err error)
	// Files finds local files to attach; nil: none can be attached.
	Files Files
	// OnDisk reads a file below a folder that the user gave to the chat. With it, an approval card
	// shows the changes that a call would make by overwriting the file. The result ok is false for
	// other files and for those that must not be shown. If OnDisk is nil, no changes are shown.
	// Several goroutines call it.
	OnDisk func(path string) (text string, ok bool)
	// Clipboard returns the picture in the clipboard, for Ctrl+V; nil: the clipboard cannot be
	// read.
	Clipboard func(ctx context.Context) ([]byte, error)
	// Notes holds the notes that the model kept; nil: there are none.
	Notes Notes
	// Permissions lists the permissions of a session; nil: they cannot be listed.
	Permissions func(ctx context.Context, s Session) ([]Permission, error)
	// Models lists the available models; nil: the model cannot be switched.
	Models Models
	// Console serves a page with the messages of the servers and the chat, opens it in a browser if
	// possible, and returns a link to it. If Console is nil, there is no console.
	Console func(ctx context.Context) (link string, err error)
	// NoAlerts disables the bell and notifications when the program waits for the user, and leaves
	// the window's title alone.
	NoAlerts bool
	// Plain selects line mode with plain text, as on a terminal that cannot move its cursor.
	Plain bool
	// Trace shows the steps of each run from the start.
	Trace bool
}

// maxInbox is the number of values that the inbox can hold before senders wait.
const maxInbox = 1_024

// A UI is a terminal interface. It is the [host.Person] of the host whose events it gets. Questions
// before Run wait for it. After Run they all return an error, which a host treats as a no. It is
// safe for concurrent use.
type UI struct {
	byCard
	options Options
	theme   ink.Theme
	auto    bool // the theme follows the terminal's background

	inbox   chan any // events, questions to the user, results of background jobs
	running atomic.Bool
	stop    atomic.Pointer[context.CancelCauseFunc] // stops the current question in line mode; nil: none

	prompting atomic.Pointer[terminal.Screen] // screen of the open prompt in line mode; nil: none
	closed    chan struct{}                   // closed after the screen is gone
	once      sync.Once
	work      sync.WaitGroup // background jobs
	jobs      atomic.Int64   // number of background jobs

	now  func() time.Time
	size func() (width, height int, known bool)           // returns the terminal's size
	raw  func(text string) tea.Cmd                        // sends the terminal text that is not drawn; nil: nothing can be sent
	exec func(c *exec.Cmd, done tea.ExecCallback) tea.Cmd // runs a program in place of the screen
}

// New returns a UI. The error reports an unknown theme.
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

// getenv returns an environment variable.
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

// Event shows an event, and is meant as [host.Options.OnEvent]. It waits while the screen is busy.
// Before Run it drops events that exceed the inbox.
func (u *UI) Event(e host.Event) {
	if e.Returned != nil && e.Returned.Task > 0 {
		u.hint(fmt.Sprintf("task %d is over; Enter shows its outcome", e.Returned.Task))
	}
	if u.running.Load() {
		u.post(e)
		return
	}
	select {
	case u.inbox <- e:
	default: // at its start, the screen reads the servers' states itself
	}
}

// hint prints a text while the prompt of line mode is open. A read from a terminal cannot be
// interrupted without losing typed text.
func (u *UI) hint(text string) {
	if out := u.prompting.Load(); out != nil {
		out.Printf("\n(%s)\n> ", text)
	}
}

// post sends a value to the screen, unless the screen is gone.
func (u *UI) post(v any) {
	select {
	case u.inbox <- v:
	case <-u.closed:
	}
}

// Run shows the screen until the user leaves or ctx is done. It then cancels everything that is
// running. It may be called once.
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

// sizeOf returns a function that returns a terminal's size; a nil out is standard output.
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

// background runs f and posts its result to the screen.
func (u *UI) background(f func() any) {
	u.jobs.Add(1)
	u.work.Go(func() {
		u.post(f())
		u.jobs.Add(-1)
	})
}

// maxBatch is the number of values handled before the screen is redrawn.
const maxBatch = 256

// next waits for values in the inbox.
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

// inboxMsg holds values of the inbox, in order.
type inboxMsg []any

// ErrNotKept reports that there is no store for conversations.
var ErrNotKept = errors.New("conversations are not kept: there is no archive")

// A Session gives the screen access to a host and its conversations. Several goroutines call its
// methods. Methods with a context may take long.
type Session interface {
	// Talk returns the current conversation.
	Talk() Talk
	// Model describes the current model.
	Model() model.Info

	// Features of the servers, as in [host.Host].
	Prompts() []host.PromptRef
	Resources() []host.ResourceRef
	Templates() []host.TemplateRef
	Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error)
	Restart(server string) error
	Stderr(server string) []string

	// Propose asks the model for a plan, and Execute carries it out, as in package plan.
	Propose(ctx context.Context, goal string) (host.Plan, error)
	Execute(ctx context.Context, changed func(host.Plan)) error

	// Saved describes the stored conversation; zero if it is not stored.
	Saved() Saved
	// New starts another conversation, and Resume continues a stored one. Fork continues with a
	// copy of this one, and Rewind with a copy of its first entries and of later withdrawals. Name
	// gives this one a title. Export writes it to a file and returns the file's path; with an empty
	// path the session chooses one.
	New(ctx context.Context) error
	Resume(ctx context.Context, id string) error
	Fork(ctx context.Context) error
	Rewind(ctx context.Context, entries int) error
	Name(ctx context.Context, title string) error
	Export(ctx context.Context, path string) (string, error)
	// List returns the stored conversations, the newest first.
	List(ctx context.Context) ([]Saved, error)
}

// A Talk is the subset of [host.Conversation] that the screen uses. Runs report events. The error
// of Ask is shown unless an Answered event reported it.
type Talk interface {
	Ask(ctx context.Context, q host.Question) (host.Answer, error)
	Entries() []host.Entry
	WindowUse() host.WindowUse
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

// Saved describes a stored conversation.
type Saved struct {
	ID, Title string
	Changed   time.Time
	Questions int
	Cost      float64 // US dollars
	Folder    string  // working directory at its start, if it is not the current one
}

// count formats a number for users.
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

// bytes formats a size for users.
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

// formatDollars formats an amount of US dollars.
func formatDollars(dollars float64, unknown bool) string {
	switch {
	case unknown && dollars == 0:
		return "cost unknown"
	case unknown: // the known cost is that of other requests
		return "at least " + formatDollars(dollars, false)
	case dollars == 0:
		return "$0"
	case dollars < 0.1:
		return fmt.Sprintf("$%.4f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

// plural returns a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

const (
	awayTime = 5 * time.Second  // time without a key after which the user may be looking elsewhere
	longTime = 10 * time.Second // duration from which an answer is announced
	maxDraft = 1 << 20          // maximum size in bytes of the external editor's file
)

// raw sends the terminal text that is not drawn.
func (s *screen) raw(text string) { s.cmds = append(s.cmds, s.ui.raw(text)) }

// alert rings the bell and sends a notification to a user who may be looking elsewhere. The text
// must not contain names of servers, which could imitate the program's own text.
func (s *screen) alert(text string) {
	if s.ui.options.NoAlerts || s.byLine || s.quitting || s.now().Sub(s.pressed) < awayTime {
		return
	}
	s.raw("\a\x1b]9;Junction " + text + "\x1b\\")
}

// title returns the title of the terminal's window.
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

// copyAnswer copies the last answer, or the last block of code in it, to the clipboard of the
// terminal.
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

// edited is the result of the external editor.
type edited struct {
	folder string
	err    error
}

// openEditor opens the input in the user's own editor, without a shell.
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
	folder, err := os.MkdirTemp("", "junction-") // readable only by the user
	if err == nil {
		err = os.WriteFile(draft(folder), []byte(s.unfolded(s.input.Text())+"\n"), 0o600) // editors expect a final line break
	}
	if err != nil {
		s.hint = "no file could be created for the editor: " + plaintext.Line(err.Error(), 200)
		return
	}
	editor := exec.Command(words[0], append(words[1:], draft(folder))...)
	s.cmds = append(s.cmds, s.ui.exec(editor, func(err error) tea.Msg { return edited{folder, err} }))
}

func draft(folder string) string { return filepath.Join(folder, "question.md") }

// editorClosed puts the editor's text into the input, unless the editor failed.
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
