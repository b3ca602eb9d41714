package launch

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/recording"
)

// A Launcher connects to servers, for one run of a program.
type Launcher struct {
	Place place.Place // whose variables and folder programs get; the zero Place is that of the process

	Header  []string      // NAME: VALUE, of requests to addresses
	Env     []string      // NAME=VALUE, of programs
	Timeout time.Duration // that the user gives, within which programs end at once where they did not respond; 0: none
	Frozen  bool          // only programs that are locked and installed are started

	Screen  *terminal.Screen
	Kill    <-chan struct{}     // closed when programs get no more time to end; may be nil
	Log     func() *slog.Logger // nil: nothing is logged
	Verbose bool                // what servers write to their standard error is shown

	// Recorder, if not nil, records what is said; secrets are hidden from it.
	Recorder *recording.Recorder
	// Tolerated are the odd forms that servers have sent, by their names.
	Tolerated tolerance.Records
	// Own are the variables that servers do not get.
	Own OwnVariables
	// SeveralUsers says that each user is known by name, so that servers get a short list of variables.
	SeveralUsers bool
	// Gateway is the mark of what this process serves as a gateway; empty if nothing.
	Gateway string
	// Locks are what is open of packages and locks.
	Locks Locks
	// Refused, if not nil, is called with the line about what the sandbox of a server refused; lost says that it loses what it writes.
	Refused func(server, line string, lost bool)
	// Renews says that this process renews a login for another.
	Renews bool

	logins map[bool]*oauth.Store // of ShareLogins, by whether one is made where none is; nil: each has its own

	closing sync.Mutex
	closers []io.Closer // what Close closes
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

// showStderr returns a function that shows what a server writes to its standard error; nil if it is not wanted.
func (l *Launcher) showStderr(name string) func(line string) {
	if !l.Verbose {
		return nil
	}
	name = plaintext.Line(name, 80)
	return func(line string) { l.Screen.Printf("[%s] %s\n", name, line) }
}
