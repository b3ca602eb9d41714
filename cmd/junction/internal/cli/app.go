package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/console"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// An App holds the state of one command: its environment, screens and flags, and the results of
// reading the configuration.
type App struct {
	place.Place // environment and folder
	IO
	Signals
	Flags  flags
	Launch launch.Launcher
	Desk   answer.Desk
	Calls  *mcp.Client // sends the requests of a command that calls one server
	ConfigState
	Observers
	ServerStates
	stores
}

// An IO holds the input and output of a command.
type IO struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer        // written without cleaning
	Log    *slog.Logger     // writes JSON lines to standard error; nil if lines for users are printed
	Out    *terminal.Screen // standard output, cleaned
	Screen *terminal.Screen // standard error, cleaned
	Person *terminal.Person // the user at the terminal; nil without one
}

// Signals holds the ways to end a command early. Both may be nil.
type Signals struct {
	Kill  <-chan struct{}   // closed when programs get no more time to end
	Stops *InterruptHandler // handles Ctrl-C before it ends the command
}

// A ConfigState holds the results of reading the configuration.
type ConfigState struct {
	Faulty    bool                   // whether a part of the configuration cannot be used
	Unread    error                  // names the files that cannot be read; nil if there are none
	Awaited   atomic.Pointer[string] // the question about servers of projects that the user is being asked; nil if there is none
	OfProject []launch.Entry         // servers of projects' files about which the user was asked
}

// Observers get the requests and messages of a command.
type Observers struct {
	Breaches *lint.Breaches   // collects servers' violations of the specification; nil if they are ignored
	Around   []mcp.Middleware // wraps each request of a client
	Side     sideConsole      // console that runs next to another command
}

// ServerStates holds states of servers, by name.
type ServerStates struct {
	Tails   StderrTails
	Digests digests // digests of entries
	Sharing Sharing // servers of a running junction up that the command uses
}

// stores holds stores that are opened at their first use.
type stores struct {
	memory memory
}

// flags holds flags that several commands have.
type flags struct {
	JSON      bool
	Written   []any // one value of each type that the command prints with --json
	LogLevel  string
	Output    string
	Record    string
	Own       bool   // start servers even if a running junction up has them
	LowestLog string // lowest level of logs on standard error; may be empty
}

// Group returns a command that only has subcommands. Help lists them in the given order.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Usagef("unknown command %q; %s --help lists them", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for place, c := range commands {
		SetOrder(c, place)
		cmd.AddCommand(c)
	}
	return cmd
}

// NoArguments returns a usage error if the command line has further words.
func NoArguments(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return Usagef("%s: unexpected %q", cmd.CommandPath(), words[0])
	}
	return nil
}

// InterruptHandler lets a command handle Ctrl-C, which otherwise ends the command. It is safe for
// concurrent use.
type InterruptHandler struct {
	first atomic.Pointer[func() bool]
}

// Set sets the function to call at Ctrl-C. The function reports whether it stopped anything; if
// not, Ctrl-C ends the command. Set does nothing if s is nil.
func (s *InterruptHandler) Set(stop func() bool) {
	if s != nil {
		s.first.Store(&stop)
	}
}

// Handle calls the function of [InterruptHandler.Set], if there is one, and returns its result.
func (s *InterruptHandler) Handle() bool {
	stop := s.first.Load()
	return stop != nil && (*stop)()
}

// CanAsk reports whether a user can be asked.
func (a *App) CanAsk() bool { return a.Person != nil && !a.Person.Away() }

// A sideConsole is a console that runs next to another command.
type sideConsole struct {
	Mu      sync.Mutex
	Console *console.Console // nil until it is served
	Origin  string
	Cancel  context.CancelFunc
	Ended   chan struct{}
	Opening sync.WaitGroup // counts pages that are being opened in a browser
}

// Close implements [io.Closer].
func (s *sideConsole) Close() error {
	s.Cancel()
	<-s.Ended
	s.Opening.Wait()
	return nil
}

// IsInteractive reports whether a command may use the whole terminal instead of printing lines.
func (a *App) IsInteractive() bool {
	return a.CanAsk() && a.Out.Terminal() && !a.Launch.Verbose && a.Getenv("TERM") != "dumb"
}

// Pins opens the list of definitions that the user approved.
func Pins(p place.Place) (*guard.Pins, error) { return OpenState(p, "pins.json", guard.Load) }

// OpenState calls open with the path of a file in Junction's state folder.
func OpenState[T any](p place.Place, name string, open func(path string) (T, error)) (opened T, err error) {
	path, err := p.State(name)
	if err != nil {
		return opened, err
	}
	return open(path)
}

// memoryKey returns the key of a server's stored definitions. client encodes the capabilities of
// the only client; it is "" if there may be several clients.
func memoryKey(s *config.Server, client string) definitions.Origin {
	return definitions.Origin{Command: s.Command, Args: s.Args, Dir: s.Dir, Env: s.Env, Unset: s.Unset, URL: s.URL, Headers: s.Headers, Client: client}
}

// Version is the version of the program.
const Version = "0.1.0"
