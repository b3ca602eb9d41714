// Package add adds servers to a configuration, upgrades them, and reports what changed in package
// registries about locked servers. It installs a server, starts it once in its sandbox, and shows
// the result to the user. If the user agrees, it writes the entry. From then on, the file
// junction.lock next to the configuration determines the installed bytes.
package add

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
	"github.com/junction-mcp/junction/sandbox"
)

// An Adder adds and upgrades servers. File and Launcher must be set; the other fields may be nil,
// as described for each. Questions go to the Launcher's Prompter.
type Adder struct {
	File     string           // configuration that [Adder.Add] writes into, as a path without symbolic links
	Launcher *launch.Launcher // installs, starts and reaches servers, and asks the user

	// Configured returns the user's servers and settings. Its error reports that the settings
	// cannot be read. With nil, the servers and settings of File are used.
	Configured func() (Configured, error)
	// Registries finds servers by name. With nil, only packages, addresses and folders can be
	// added.
	Registries Registries
	// KeepSecret stores a secret of the user. With nil, servers that need a secret cannot be added.
	KeepSecret func(ctx context.Context, name, value string) error
	// Remember, if not nil, is called with the definitions of an added server.
	Remember func(*config.Server, *definitions.Definitions)
	// Remedy, if not nil, returns advice for a server that cannot be reached. isProgram reports
	// whether the server is a local program.
	Remedy func(err error, server string, isProgram bool) string
	// Busy, if not nil, is called at the start of a long action with a description of it. The
	// returned function is called at the end.
	Busy func(doing string) (done func())
}

// Configured holds the servers and settings of a user.
type Configured struct {
	Servers  []*config.Definition
	Settings *settings.Settings // nil if there are none
}

// Registries finds servers in registries.
type Registries interface {
	// Find returns the server with a name. suspicions lists reasons to distrust it.
	Find(ctx context.Context, name string) (e *registry.Entry, suspicions []string, err error)
	// Similar returns better known packages whose names resemble the given one.
	Similar(ctx context.Context, kind, identifier string) ([]registry.Likeness, error)
}

// Options holds the choices for one server. Upgrades use only Yes, Sure, Scripts and NoSandbox.
type Options struct {
	Name      string          // name in the configuration; if empty, a short form of the server's own name
	Arguments []string        // arguments of the server
	Set       []string        // values that the server needs, as KEY=VALUE
	Env       []string        // variables for the entry, as NAME=VALUE
	Header    []string        // headers for the entry of a URL, as 'NAME: VALUE'
	With      string          // an additional requirement for a package of PyPI
	Local     bool            // install a package even if the server can be reached at a URL
	Yes       bool            // the user agreed in advance and is not asked
	Sure      bool            // with Yes: the user also accepts findings and doubts
	Scripts   bool            // the package may run its install scripts
	NoSandbox bool            // do not confine the program
	Allowed   sandbox.Profile // permissions of the program in addition to those for its arguments
	Typed     string          // these options as flags of junction server add, for command lines in errors
}

// A StartError reports that a server could not be started or reached with its future entry.
type StartError struct{ Err error }

// Error implements the interface error.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// maxReason is the number of characters shown of a reason, or of a text from an author.
const maxReason = 300

func (a *Adder) busy(doing string) (done func()) {
	if a.Busy == nil {
		return func() {}
	}
	return a.Busy(doing)
}

// configured returns the user's servers and settings.
func (w *addition) configured() (c Configured, err error) {
	if w.Configured != nil {
		c, err = w.Configured()
	} else if file, fault := config.Load(w.File, config.Options{}); fault == nil {
		c.Servers = file.Servers
		c.Settings, _, err = file.Settings()
	} else if !errors.Is(fault, fs.ErrNotExist) {
		return c, fault
	}
	if err != nil {
		return c, fmt.Errorf("server %q: the settings cannot be read, which may confine it: %w", w.name, err)
	}
	return c, nil
}

// An addition is a server that is being added or upgraded.
type addition struct {
	*Adder
	Options
	server *registry.Server // description of the server; made here if no registry has one
	entry  *registry.Entry  // nil if no searched registry has the server

	name          string // name in the configuration
	configuration string // path of the configuration
	before        []byte // content of the configuration before the change
	argument      string // argument of add; "" for an upgrade

	pkg            *registry.Package // nil if the server is reached at a URL
	remote         *registry.Remote
	locked         *install.Locked
	program        *install.Program
	written        hostconfig.NewServer
	secrets        map[string]string // secrets to store, by name
	sandbox        *sandbox.Profile  // nil if the program is not confined
	bySettings     *settings.Sandbox // sandbox in the settings for this name, which takes precedence; nil if there is none
	doubts         []string          // reasons why it may not be the intended server
	notes          []string          // further notes for the user
	typed          []string          // values and arguments from the user, not from the author
	fixed          []string          // headers and variables that the author sets
	given          map[string][]string
	references     []string // references to this server's secrets in the entry
	missingProgram string   // program that its author names but its package lacks
	data           *dataPlace
	replaces       []string // words of the entry that it replaces; nil if there is none

	dry *dryRun
}

// A Result is a server that was added.
type Result struct {
	Name       string
	NeedsLogin bool   // the server requires a login, and nothing is known about it before
	FirstCall  string // command line to try; empty if the server has no tools
	HowToAllow string // limits of the confined program, and how to allow more; empty if it is not confined here
}

// Add adds the server that a word names: NAME of a registry, KIND:PACKAGE, a URL, a folder or a
// file. If the user does not agree, the result is nil. Without agreement, or with an error, nothing
// is changed.
func (a *Adder) Add(ctx context.Context, word string, o Options) (*Result, error) {
	w := &addition{Adder: a, Options: o, argument: word, configuration: a.File, secrets: map[string]string{}}
	if err := w.find(ctx, word); err != nil {
		return nil, err
	}
	if err := w.chooseName(ctx); err != nil {
		return nil, err
	}
	if err := w.chooseWay(); err != nil {
		return nil, err
	}
	if w.With != "" && (w.pkg == nil || !runner.Of(w.pkg.RegistryType).IsPython) {
		return nil, commandline.Errorf("--with is only for packages from PyPI, and %s is not one", w.name)
	}
	if err := w.compareNames(ctx); err != nil {
		return nil, err
	}
	if w.pkg != nil {
		if err := w.install(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.fill(ctx); err != nil {
		return nil, err
	}
	undo, err := w.makeFolders(ctx)
	var added *Result
	if err == nil {
		added, err = w.addFilled(ctx)
	}
	if added == nil {
		undo()
	}
	return added, err
}

// addFilled adds a server whose entry is complete. It returns nil if nothing was written.
func (w *addition) addFilled(ctx context.Context) (added *Result, err error) {
	if err := w.confine(); err != nil {
		return nil, err
	}
	if err := w.keepData(ctx); err != nil {
		return nil, err
	}
	defer func() { w.dry.close() }()
	err = w.rehearse(ctx)
	if err != nil && w.wantsOlder(err) && w.holdOlder(ctx) == nil {
		err = w.rehearse(ctx)
	}
	if err != nil {
		return nil, err
	}
	w.noteMissing()
	w.noteNothing()
	w.noteForgetful()
	w.show()
	question, choices := "Add it?", []launch.Choice{yes}
	if w.data != nil {
		folder := w.Launcher.Place.Tilde(w.data.folder)
		question = fmt.Sprintf("Its data is lost unless %s gives a place for it. Add it?", w.data.variable)
		choices = append(choices, launch.Choice{Key: "data", Label: "with [d]ata in " + folder})
	}
	if agreed, err := w.askConsent(ctx, question, choices); err != nil || !agreed {
		return nil, err
	}
	return w.write(ctx)
}
