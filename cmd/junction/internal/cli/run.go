package cli

import (
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
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

	Resource TelemetryResource // of up
	Around   []mcp.Middleware  // of each request of a client
	Sharing  Sharing           // which servers that a junction up has this command uses

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
