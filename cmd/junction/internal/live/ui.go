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

// A Gateway is what junction up shows and does. Its methods are called from several goroutines, one after the other only for
// Status and Log, which must not wait.
type Gateway interface {
	Status() Status
	// Log returns the last lines that a server wrote to its standard error.
	Log(server string) []string
	Restart(server string) error
	// Unapproved returns what is withheld of a server, in full, and a hash of exactly that; empty texts where nothing is.
	Unapproved(ctx context.Context, server string) (text, hash string, err error)
	// Approve approves what Unapproved returned, unless it is something else by now.
	Approve(ctx context.Context, server, hash string) error
	// Hosts are the hosts that can be connected, and Connect is how another client is.
	Hosts() []Host
	Connect() string
}

// A Status is what is known of a gateway.
type Status struct {
	Endpoint string
	Summary  string
	Remarks  []string // about what is not as a user would expect it
	Servers  []Server
}

// A Server is one of a gateway.
type Server struct {
	Name, State     string
	Failed          bool
	Tools, Withheld int
	Running         int    // requests
	Problem         string // and what mends it; empty for none
}

// A Host is a program whose servers Junction can serve.
type Host struct {
	Name    string
	Command []string // connects it
}

// Options are those of a [UI].
type Options struct {
	In      io.Reader
	Out     io.Writer
	Place   place.Place // the environment of the terminal and of the programs that are run
	Gateway Gateway     // nil: only calls are shown
}

const (
	// framePause is how long what comes waits for more that is drawn with it.
	framePause = 100 * time.Millisecond
	// framesPerSecond is how often it is looked whether there is something to draw.
	framesPerSecond = 20
	maxMessages     = 500
)

// A UI is the screen. It is safe for concurrent use.
type UI struct {
	options Options
	calls   calls
	signal  chan struct{} // something changed
	closed  chan struct{} // the screen is gone

	mu       sync.Mutex
	messages []string
	prints   int          // times that something was printed
	last     string       // what was
	program  *tea.Program // nil: it does not run
}

// New returns a UI that keeps what it is given, and shows it when it runs.
func New(o Options) *UI {
	return &UI{options: o, signal: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Changed has the screen be drawn again. It waits for nothing.
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

// lastPrinted is what was printed last, and how many times something was.
func (u *UI) lastPrinted() (text string, times int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last, u.prints
}

// Summary counts the requests of clients.
func (u *UI) Summary() string {
	n, failed, missed := u.calls.counted()
	text := plaintext.Count(n, "request")
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if missed > 0 { // they came faster than they were taken
		text += ", " + plaintext.Count(missed, "message") + " missed"
	}
	return text
}

// Run shows the screen until the user quits, or ctx is done. It can be called once.
func (u *UI) Run(ctx context.Context) error {
	options := []tea.ProgramOption{tea.WithInput(u.options.In), tea.WithOutput(u.options.Out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithEnvironment(u.options.Place.Environ())}
	p := tea.NewProgram(newModel(ctx, u), options...)
	u.mu.Lock()
	u.program = p
	u.mu.Unlock()
	// bubbletea v2.0.9 closes the terminal of a program that its context ends while the terminal is read.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	close(u.closed)
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// Lend gives the terminal to somebody else until back is called.
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

// A loan is a program that has the terminal, as far as the screen knows.
type loan struct {
	begun, over chan struct{}
	ended       <-chan struct{} // the screen is to end
}

type lendMsg struct{ *loan }

// Run implements [tea.ExecCommand]. It takes framePause at least: bubbletea v2.0.9 stops the clock of a renderer that has ended
// in another goroutine (startRenderer in tea.go), which may be later than the next renderer starts that clock.
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

// A paper is a text, or what a command writes, that stands on the terminal until Enter is pressed, or the screen is to end.
type paper struct {
	ended   <-chan struct{}
	text    string
	command *exec.Cmd // nil: there is none
	in      io.Reader
	out     io.Writer
}

// Run implements [tea.ExecCommand]. The error is that of the command.
func (p *paper) Run() (err error) {
	if p.command != nil {
		p.command.Stdin, p.command.Stdout, p.command.Stderr = p.in, p.out, p.out
		err = p.command.Run()
	}
	fmt.Fprintf(p.out, "%s\nEnter goes back. ", plaintext.Clean(p.text)) // a terminal that is gone ends the screen
	enter := make(chan struct{})
	go func() {
		defer close(enter)
		_, _ = bufio.NewReader(p.in).ReadString('\n') // likewise
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

// wait waits until something changed, and for what comes right behind it.
func (u *UI) wait() tea.Msg {
	select {
	case <-u.signal:
	case <-u.closed:
		return nil
	}
	time.Sleep(framePause)
	return changedMsg{}
}
