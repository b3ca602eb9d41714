package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/model"
	"golang.org/x/term"
)

// Options are optional; the zero value of each field means its default.
type Options struct {
	// In and Out are the terminal; default standard input and output.
	In  io.Reader
	Out io.Writer
	// Env are the environment's variables that say what the terminal can do;
	// default the process's own.
	Env []string
	// Theme is "auto" (the default: by the terminal's background), "dark", "light"
	// or "mono".
	Theme string
	// NoColor shows no colours, whatever the theme; so does the variable NO_COLOR.
	NoColor bool
	// Greeting is shown first, as Markdown.
	Greeting string
	// Example returns a question that these tools answer, to be suggested once servers are connected; empty for
	// none. Nil: none is suggested.
	Example func(tools []host.ToolInfo) string
	// History are lines that were typed earlier, the oldest first; Remember is called
	// with each new one.
	History  []string
	Remember func(line string)
	// SaveMedia keeps an image, a sound or a file of a result and returns its
	// path; nil: they are announced only.
	SaveMedia func(server, tool string, m model.Media) (path string, err error)
	// Files are the local files that can be attached; nil: none.
	Files Files
	// OnDisk reads a file below a folder that the person gave to the chat: an approval card
	// shows what a call that writes all of it would change. It is not ok where the file is none
	// of those, or not to be shown; nil: none is. It is called from several goroutines.
	OnDisk func(path string) (text string, ok bool)
	// Clipboard returns the picture that is in the clipboard, for Ctrl+V; nil: it cannot be
	// read.
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
	// NoAlerts neither rings the bell nor notifies when the person is waited for, and
	// leaves the title of the window alone.
	NoAlerts bool
	// Plain reads line by line and writes plain text, as is done on a terminal that cannot move
	// its cursor.
	Plain bool
	// Trace shows the steps of each run from the beginning.
	Trace bool
}

// maxInbox is how many events can wait for the screen; who brings more waits.
const maxInbox = 1_024

// A UI is a person at a terminal. It is the [host.Person] of the host whose
// events it gets. What it is asked before Run waits for it; after Run, all of
// it is an error, which a host takes for a no. It is safe for concurrent use.
type UI struct {
	byCard
	options Options
	theme   ink.Theme
	auto    bool // the theme follows the terminal's background

	inbox   chan any // events, questions to the person, results of what runs in the background
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

// getenv is a variable of the environment.
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

// Run shows the screen until the person leaves or ctx is done, which cancels
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

// maxBatch is how many things of the inbox are handled before the screen is
// drawn again.
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
