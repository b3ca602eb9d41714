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
	"github.com/junction-mcp/junction/traffic"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An App is one run of the program.
type App struct {
	place.Place // that it runs in

	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer        // unclean
	Log     *slog.Logger     // lines of JSON on standard error, in which all is that stands there; nil: text for people
	Out     *terminal.Screen // standard output, cleaned
	Screen  *terminal.Screen // standard error, cleaned
	Person  *terminal.Person // nil if nobody is there
	Flags   flags
	Launch  launch.Launcher
	UpFlags func(*App) *pflag.FlagSet // those of junction up, which fill in an app; nil where no gateway is looked for
	Kill    <-chan struct{}           // closed when programs get no more time to end; may be nil
	Stops   *Stops                    // who takes Ctrl-C before it ends the command; may be nil
	// Faulty says that a part of the configuration cannot be used.
	Faulty bool
	// Unread says which files of it cannot be read at all; nil if there are none.
	Unread error
	// Unheld is what projects' files say under "junction" and does not hold, as settings found it last.
	Unheld []string
	memory memory
	// Traffic shows the messages of this process to junction traffic; nil if it cannot.
	Traffic  *traffic.Log
	Desk     answer.Desk
	Calls    *mcp.Client    // makes the requests of a command that asks one server
	Breaches *lint.Breaches // what hears what servers do wrong; nil where nobody wants to know
	// Awaited is what the person is being asked about servers of projects; nil: nothing.
	Awaited atomic.Pointer[string]
	// OfProject are the servers of projects' files that the person was asked about, now or before.
	OfProject []Entry

	Around  []mcp.Middleware // of each request of a client
	Sharing Sharing          // which servers that a junction up has this command uses

	secrets keptSecrets

	RecordsFront bool // what clients say to a gateway is, and not what it says to its servers

	Tails   StderrTails // of servers, by their names
	Digests digests     // of their entries, likewise

	Side sideConsole // of a command that does something else
}

// flags are those that more than one command has.
type flags struct {
	Config   []string
	JSON     bool
	Written  []any // what the command may write with it
	Revision string
	LogLevel string
	Output   string
	Record   string
	Own      bool // servers are started, also those that a junction up has
	// logFormat and lowestLog are what standard error has of up and proxy.
	logFormat, LowestLog string
}

// Ready returns an app that can connect to servers.
func Ready(a *App) *App {
	a.Launch.Place, a.Launch.Locks.Place = a.Place, a.Place
	a.Launch.Screen, a.Launch.Kill, a.Launch.Log = a.Screen, a.Kill, a.Logger
	a.Launch.Refused = func(server, line string, lost bool) { a.StderrOf(server).AddRefused(line, lost) }
	return a
}

// Group is a command that only holds others.
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
		SetPlace(c, place)
		cmd.AddCommand(c)
	}
	return cmd
}

// NoMore says that a word of the command line means nothing.
func NoMore(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return Usagef("%s: unexpected %q", cmd.CommandPath(), words[0])
	}
	return nil
}

// Stops lets a command take Ctrl-C for less than its end. It is safe for concurrent use.
type Stops struct {
	first atomic.Pointer[func() bool]
}

// Set has stop asked first; it reports whether there was anything to stop.
func (s *Stops) Set(stop func() bool) {
	if s != nil {
		s.first.Store(&stop)
	}
}

func (s *Stops) Take() bool {
	stop := s.first.Load()
	return stop != nil && (*stop)()
}

// Asks reports whether there is somebody to be asked at a start.
func (a *App) Asks() bool { return a.Person != nil && !a.Person.Away() }

// A sideConsole is the console of a command that does something else.
type sideConsole struct {
	Mu      sync.Mutex
	Console *console.Console // nil: it is not served yet
	Origin  string
	Cancel  context.CancelFunc
	Ended   chan struct{}
	Opening sync.WaitGroup // pages that a browser is to open
}

// Close implements [io.Closer].
func (s *sideConsole) Close() error {
	s.Cancel()
	<-s.Ended
	s.Opening.Wait()
	return nil
}

// ShowsLive reports whether a command has the whole terminal, in place of lines.
func (a *App) ShowsLive() bool {
	return a.Asks() && a.Out.Terminal() && !a.Launch.Verbose && a.Getenv("TERM") != "dumb"
}

// Pins are the definitions that this person approved.
func Pins(p place.Place) (*guard.Pins, error) { return Kept(p, "pins.json", guard.Load) }

// Kept opens a file of those in which junction keeps what it learned.
func Kept[T any](p place.Place, name string, open func(path string) (T, error)) (opened T, err error) {
	path, err := p.State(name)
	if err != nil {
		return opened, err
	}
	return open(path)
}

// memoryKey is what the definitions that are remembered of a server depend on. client
// is what the one client declared; empty where there may be several.
func memoryKey(s *config.Server, client string) definitions.Origin {
	return definitions.Origin{Command: s.Command, Args: s.Args, Dir: s.Dir, Env: s.Env, Unset: s.Unset, URL: s.URL, Headers: s.Headers, Client: client}
}

// Version is the version of the program.
const Version = "0.1.0"
