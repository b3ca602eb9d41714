package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A Gateway is the gateway that the screen shows and controls. The screen calls its methods from
// several goroutines. Status and Log must not block; the screen never calls both at the same time.
type Gateway interface {
	Status() Status
	// Log returns the last lines that a server wrote to its standard error.
	Log(server string) []string
	Restart(server string) error
	// Unapproved returns the text of a server's withheld definitions, and their hash. Both are ""
	// if there are none.
	Unapproved(ctx context.Context, server string) (text, hash string, err error)
	// Approve approves the definitions with the hash. It returns an error if the definitions have
	// changed.
	Approve(ctx context.Context, server, hash string) error
	// Hosts returns the hosts that are installed on this machine.
	Hosts() []Host
	// Connect returns instructions for connecting other clients.
	Connect() string
}

// A Status is the state of a gateway.
type Status struct {
	Endpoint string
	Summary  string
	Remarks  []string // conditions that the user should know
	Servers  []Server
}

// A Server is the state of a server of the gateway.
type Server struct {
	Name, State     string
	Failed          bool
	Tools, Withheld int
	Running         int    // number of running requests
	Problem         string // problem with its remedy; may be empty
}

// A Host is a program that Junction can connect to the gateway.
type Host struct {
	Name    string
	Command []string // command that connects the host
}

// Options configure a [UI].
type Options struct {
	In      io.Reader
	Out     io.Writer
	Place   place.Place // environment for the programs that the screen runs
	Gateway Gateway     // nil if only calls are shown
}

const (
	// framePause delays each change, so that further changes are drawn together with it.
	framePause = 100 * time.Millisecond
	// framesPerSecond is how often the renderer checks for changes in a second.
	framesPerSecond = 20
	maxMessages     = 500
)

// A UI is the screen. It is safe for concurrent use.
type UI struct {
	options Options
	calls   calls
	signal  chan struct{} // signals a change
	closed  chan struct{} // closed when the screen has ended

	mu       sync.Mutex
	messages []string
	prints   int          // number of calls of Print
	last     string       // text of the last call of Print
	program  *tea.Program // nil before Run
}

// New returns a UI. It stores events and messages until Run shows them.
func New(o Options) *UI {
	return &UI{options: o, calls: calls{now: time.Now}, signal: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Changed requests that the screen is redrawn. It does not block.
func (u *UI) Changed() {
	select {
	case u.signal <- struct{}{}:
	default:
	}
}

// Event adds an event.
func (u *UI) Event(e Event) {
	u.calls.add(e)
	u.Changed()
}

// Print adds a message for the user.
func (u *UI) Print(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.prints, u.last = u.prints+1, strings.Join(strings.Fields(text), " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(plaintext.Clean(line), "\r\n "); line != "" {
			u.messages = append(u.messages, line)
		}
	}
	u.messages = u.messages[max(0, len(u.messages)-maxMessages):]
	u.Changed()
}

func (u *UI) printed() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.messages[:len(u.messages):len(u.messages)]
}

// lastPrinted returns the last message and the number of calls of Print.
func (u *UI) lastPrinted() (text string, times int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last, u.prints
}

// Summary returns the number of clients' requests as text.
func (u *UI) Summary() string {
	n, failed, missed := u.calls.counted()
	text := plaintext.Count(n, "request")
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if missed > 0 { // messages arrived faster than they were read
		text += ", " + plaintext.Count(missed, "message") + " missed"
	}
	return text
}

// Run shows the screen until the user quits or ctx is done. It may be called only once.
func (u *UI) Run(ctx context.Context) error {
	options := []tea.ProgramOption{tea.WithInput(u.options.In), tea.WithOutput(u.options.Out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithEnvironment(u.options.Place.Environ())}
	p := tea.NewProgram(newModel(ctx, u), options...)
	u.mu.Lock()
	u.program = p
	u.mu.Unlock()
	// If its context ends a program while the terminal is being read, bubbletea v2.0.9 closes the
	// terminal.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	close(u.closed)
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// Lend gives the terminal to the caller until the caller calls back.
func (u *UI) Lend() (back func()) {
	u.mu.Lock()
	p := u.program
	u.mu.Unlock()
	if p == nil {
		return func() {}
	}
	l := &loan{begun: make(chan struct{}), over: make(chan struct{})}
	go p.Send(lendMsg{l})
	select {
	case <-l.begun:
	case <-u.closed:
	}
	return func() { close(l.over) }
}

// A loan is a command that borrows the terminal from bubbletea. The command runs in this process.
type loan struct {
	begun, over chan struct{}
	ended       <-chan struct{} // closed when the screen must end
}

type lendMsg struct{ *loan }

// Run implements [tea.ExecCommand]. It takes at least framePause, because bubbletea v2.0.9 stops
// the clock of an ended renderer in another goroutine (startRenderer in tea.go). That may happen
// after the next renderer has started the clock.
func (l *loan) Run() error {
	began := time.Now()
	close(l.begun)
	select {
	case <-l.over:
	case <-l.ended:
	}
	time.Sleep(framePause - time.Since(began))
	return nil
}

// SetStdin implements [tea.ExecCommand].
func (l *loan) SetStdin(io.Reader) {}

// SetStdout implements [tea.ExecCommand].
func (l *loan) SetStdout(io.Writer) {}

// SetStderr implements [tea.ExecCommand].
func (l *loan) SetStderr(io.Writer) {}

// A paper shows a text, or the output of a command, on the terminal. It ends when the user presses
// Enter or when the screen must end.
type paper struct {
	ended   <-chan struct{}
	text    string
	command *exec.Cmd // command to run; may be nil
	in      io.Reader
	out     io.Writer
}

// Run implements [tea.ExecCommand]. It returns the error of the command.
func (p *paper) Run() (err error) {
	if p.command != nil {
		p.command.Stdin, p.command.Stdout, p.command.Stderr = p.in, p.out, p.out
		err = p.command.Run()
	}
	fmt.Fprintf(p.out, "%s\nEnter goes back. ", plaintext.Clean(p.text)) // fails if the terminal is closed, which also ends the screen
	enter := make(chan struct{})
	go func() {
		defer close(enter)
		_, _ = bufio.NewReader(p.in).ReadString('\n') // fails for the same reason
	}()
	select {
	case <-enter:
	case <-p.ended:
	}
	return err
}

// SetStdin implements [tea.ExecCommand].
func (p *paper) SetStdin(in io.Reader) { p.in = in }

// SetStdout implements [tea.ExecCommand].
func (p *paper) SetStdout(out io.Writer) { p.out = out }

// SetStderr implements [tea.ExecCommand].
func (p *paper) SetStderr(io.Writer) {}

// wait waits for a change, and then for further changes within framePause.
func (u *UI) wait() tea.Msg {
	select {
	case <-u.signal:
	case <-u.closed:
		return nil
	}
	time.Sleep(framePause)
	return changedMsg{}
}
