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
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/junction-mcp/junction/traffic"
)

// A Launcher connects to servers during one run of a program.
type Launcher struct {
	Place place.Place // supplies the environment and folder of programs; the zero Place is the place of this process

	Header []string // headers of requests to addresses, in the form NAME: VALUE
	Env    []string // variables of programs, in the form NAME=VALUE
	// Timeout is the time limit of each request. 0 means the limit of the entry. With a Timeout, a
	// program that did not respond in time gets only 100 ms to end.
	Timeout time.Duration
	Frozen  bool // start only programs that are locked and installed

	// Config lists the configuration files of --config. Servers of a project in them need no
	// consent. If Config is empty, [config.Find] finds the files.
	Config []string
	// Prompter asks the user for consent and for inputs. Nil means that there is no user.
	Prompter Prompter
	// Ships lists the servers of this program, which an Entry without a Definition names.
	Ships Ships

	Info     mcp.Implementation // implementation that clients report to servers
	Revision string             // the only revision that clients use; empty means any that the server supports
	Traffic  *traffic.Log       // records the messages; may be nil

	Screen  *terminal.Screen    // nil means that nothing is printed
	Kill    <-chan struct{}     // closed to kill programs that are still ending; may be nil
	Log     func() *slog.Logger // nil means that nothing is logged
	Verbose bool                // show the standard error of servers

	// Recorder records messages, without the secrets passed to its method Hide. It may be nil.
	Recorder *recording.Recorder
	// RecordsFront is set if the Recorder records the messages between clients and this process.
	// Messages to servers are then not recorded.
	RecordsFront bool
	// Tolerated counts the odd forms of messages that servers have sent, by server.
	Tolerated tolerance.Records
	// Own are the variables with Junction's own secrets, which servers do not get.
	Own OwnVariables
	// SeveralUsers is set if this process serves several users. Servers then get only a short list
	// of variables.
	SeveralUsers bool
	// Gateway is the mark of the gateway in this process; "" without one.
	Gateway string
	// Locks holds the lock files and packages that this process opened.
	Locks Locks
	// Refused is called with a line about each refusal of a server's sandbox. lost is set if the
	// server loses the files that it writes. Refused may be nil.
	Refused func(server, line string, lost bool)
	// Renews is set if this process was started to renew a login for another process.
	Renews bool
	// UpArgs parses the arguments of junction up. files are the configuration files; none means
	// that they are found. servers are the chosen names; none means all. UpArgs may be nil.
	UpArgs func(args []string) (files, servers []string, ok bool)

	// OfProject lists the servers of projects that needed consent, guarded by ofProjectMu. Unheld
	// describes the unused settings of projects.
	OfProject   []Entry
	ofProjectMu sync.Mutex
	Unheld      []string

	secrets keptSecrets
	logins  map[bool]*oauth.Store // stores of ShareLogins, by create; nil before ShareLogins

	shared    *replicas.Group // of UseShared
	sharedKey []byte          // secret key of its store

	closing sync.Mutex
	closers []io.Closer // closed by Close; guarded by closing
}

// Ships are the servers that a program contains.
type Ships struct {
	Names []string // all of them; Read offers everything and filesystem if nothing is configured
	Open  func(ctx context.Context, name string) (mcp.Handler, error)
}

func (l *Launcher) logger() *slog.Logger {
	if l.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.Log()
}

// Logger returns the logger for a client of the named server and for its transport.
func (l *Launcher) Logger(server string) *slog.Logger {
	return l.Tolerated.Logger(l.logger(), server)
}

// showStderr returns a function that prints a line of a server's standard error. It returns nil
// unless Verbose is set.
func (l *Launcher) showStderr(name string) func(line string) {
	if !l.Verbose {
		return nil
	}
	name = plaintext.Line(name, 80)
	return func(line string) { l.Screen.Printf("[%s] %s\n", name, line) }
}

// open returns a handler for a server of this program.
func (l *Launcher) open(ctx context.Context, name string) (mcp.Handler, error) {
	if l.Ships.Open == nil {
		return nil, fmt.Errorf("server %q: this program has no servers", name)
	}
	return l.Ships.Open(ctx, name)
}

// Handler returns a handler for a server of this program. Its messages are recorded in l.Traffic
// like those of other servers.
func (l *Launcher) Handler(ctx context.Context, name string) (mcp.Handler, error) {
	h, err := l.open(ctx, name)
	if err == nil && l.Traffic != nil {
		h = l.Traffic.Handler(name, h)
	}
	return h, err
}
