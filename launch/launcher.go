package launch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/traffic"
)

// A Launcher connects to servers, for one run of a program.
type Launcher struct {
	Place place.Place // of the environment and folder of programs; the zero Place is that of the process

	Header  []string      // NAME: VALUE, of requests to addresses
	Env     []string      // NAME=VALUE, of programs
	Timeout time.Duration // that the user gives, within which programs end at once where they did not respond; 0: none
	Frozen  bool          // only programs that are locked and installed are started

	// Config names the files of the configuration; a project's servers in them need no consent. If it is empty, they are found.
	Config []string
	// Prompter asks the user about servers of projects and for inputs of entries; nil means without a user.
	Prompter Prompter
	// Ships are the servers of this program, which an entry without a definition names.
	Ships Ships

	Info     mcp.Implementation // of clients
	Revision string             // of the protocol, which clients are to speak; empty: which the server knows
	Traffic  *traffic.Log       // gets the messages; may be nil

	Screen  *terminal.Screen    // nil: nothing is shown
	Kill    <-chan struct{}     // closed when programs get no more time to end; may be nil
	Log     func() *slog.Logger // nil: nothing is logged
	Verbose bool                // shows the standard error of servers

	// Recorder, if not nil, records messages; secrets are hidden from it.
	Recorder *recording.Recorder
	// RecordsFront is set if the Recorder gets messages of clients to this process, and not those to servers.
	RecordsFront bool
	// Tolerated are the odd forms that servers have sent, by their names.
	Tolerated tolerance.Records
	// Own are the variables that servers do not get.
	Own OwnVariables
	// SeveralUsers is set if callers are known by name. Servers then get a short list of variables.
	SeveralUsers bool
	// Gateway is the mark of the gateway that this process serves; empty for none.
	Gateway string
	// Locks holds the opened packages and lock files.
	Locks Locks
	// Refused, if not nil, is called with a line about a refusal of a server's sandbox. lost is set if the
	// server loses the files that it writes.
	Refused func(server, line string, lost bool)
	// Renews is set if this process renews a login for another.
	Renews bool
	// UpArgs, if not nil, reads arguments of junction up: the files that it serves, empty if these are found, and the names of servers, empty for all.
	UpArgs func(args []string) (files, servers []string, ok bool)

	// OfProject has the servers of projects whose consent was needed. Unheld has the unused settings of projects.
	OfProject   []Entry
	ofProjectMu sync.Mutex
	Unheld      []string

	secrets keptSecrets
	logins  map[bool]*oauth.Store // of ShareLogins, by whether one is made where none is; nil: each has its own

	closing sync.Mutex
	closers []io.Closer // closed by Close
}

// Ships are servers that a program has itself.
type Ships struct {
	Names []string // all of them; of everything and filesystem, those that are here are served if nothing is configured
	Open  func(ctx context.Context, name string) (mcp.Handler, error)
}

func (l *Launcher) logger() *slog.Logger {
	if l.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.Log()
}

// Logger returns the logger of a client of the named server, and of its transport.
func (l *Launcher) Logger(server string) *slog.Logger {
	return l.Tolerated.Logger(l.logger(), server)
}

// showStderr returns a function that shows a server's standard error; nil without Verbose.
func (l *Launcher) showStderr(name string) func(line string) {
	if !l.Verbose {
		return nil
	}
	name = plaintext.Line(name, 80)
	return func(line string) { l.Screen.Printf("[%s] %s\n", name, line) }
}

// open returns a server of this program.
func (l *Launcher) open(ctx context.Context, name string) (mcp.Handler, error) {
	if l.Ships.Open == nil {
		return nil, fmt.Errorf("server %q: this program has no servers", name)
	}
	return l.Ships.Open(ctx, name)
}

// Handler returns a server of this program. Its messages are shown like those of others.
func (l *Launcher) Handler(ctx context.Context, name string) (mcp.Handler, error) {
	h, err := l.open(ctx, name)
	if err == nil && l.Traffic != nil {
		h = l.Traffic.Handler(name, h)
	}
	return h, err
}
