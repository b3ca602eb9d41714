// Package add adds servers to a configuration, upgrades them, and reports what package registries know of those that are locked. A server
// is installed, started once in its sandbox, and shown to the user. If the user agrees, its entry is written, and junction.lock next to the
// configuration holds what was installed, to the byte.
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

// An Adder adds and upgrades servers. File and Launcher, with its Prompter, must be set; of what is nil the comment of its field says what happens.
type Adder struct {
	File     string           // the configuration that [Adder.Add] writes into, without symbolic links
	Launcher *launch.Launcher // installs, starts and reaches servers, and asks the user

	// Configured returns what the user has configured, and an error if its settings cannot be read. If nil, that is what File has.
	Configured func() (Configured, error)
	// Registries finds servers by name. If nil, packages, addresses and folders are added, and names are not.
	Registries Registries
	// KeepSecret keeps a secret of the user. If nil, servers that need one are not added.
	KeepSecret func(ctx context.Context, name, value string) error
	// Remember, if not nil, is called with what a server offers.
	Remember func(*config.Server, *definitions.Definitions)
	// CheckLock, if not nil, returns an error if the user did not agree to what is locked of a server of a project.
	CheckLock func(*config.Definition, *install.LockedServer) error
	// Added, if not nil, is called with the entry of a server once it is written: the user agreed to start it.
	Added func(*config.Definition)
	// Remedy, if not nil, returns what to try if a server cannot be reached, which may be a program.
	Remedy func(err error, server string, isProgram bool) string
	// Busy, if not nil, is called with what is done that takes long, and the function that it returns once that is done.
	Busy func(doing string) (done func())
}

// Configured holds the servers and settings of a user.
type Configured struct {
	Servers  []*config.Definition
	Settings *settings.Settings // nil: none
}

// Registries finds servers in registries.
type Registries interface {
	// Find returns the server of that name, and what is suspicious about it.
	Find(ctx context.Context, name string) (e *registry.Entry, suspicions []string, err error)
	// Similar returns better known packages whose names look like that of a package.
	Similar(ctx context.Context, kind, identifier string) ([]registry.Likeness, error)
}

// Options are the choices for one server. Upgrades use Yes, Sure, Scripts and NoSandbox only.
type Options struct {
	Name      string          // in the configuration; empty: a short form of its own name
	Arguments []string        // of the server
	Set       []string        // KEY=VALUE, values that the server needs
	Env       []string        // NAME=VALUE, variables of the entry
	Header    []string        // 'NAME: VALUE', headers of the entry of a URL
	With      string          // one more requirement of a package of PyPI
	Local     bool            // a package is installed although the server can be reached at a URL
	Yes       bool            // the user agrees to what is shown, and is not asked
	Sure      bool            // also to what looks harmful, or like something better known
	Scripts   bool            // the package may run its install scripts
	NoSandbox bool            // its program is not confined
	Allowed   sandbox.Profile // what its program may do, in addition to what its arguments name
	Typed     string          // these options as flags of junction server add, for the command lines that errors propose
}

// A StartError reports that a server could not be started or reached as its entry would be.
type StartError struct{ Err error }

// Error implements the interface error.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// maxReason is the number of characters shown of a reason, or of a text that others wrote.
const maxReason = 300

func (a *Adder) busy(doing string) (done func()) {
	if a.Busy == nil {
		return func() {}
	}
	return a.Busy(doing)
}

// configured returns what the user has configured.
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
		return c, fmt.Errorf("server %q: the settings that may confine it cannot be read: %w", w.name, err)
	}
	return c, nil
}

// An addition is a server that is about to be added, or upgraded.
type addition struct {
	*Adder
	Options
	server *registry.Server // what is said of it; made here where no registry says it
	entry  *registry.Entry  // nil: it is in no registry that was asked

	name          string // in the configuration
	configuration string // the file
	before        []byte // what is in it
	word          string // what add was given; "": it is upgraded

	pkg        *registry.Package // nil: it is reached at a URL
	remote     *registry.Remote
	locked     *install.Locked
	program    *install.Program
	written    hostconfig.NewServer
	secrets    map[string]string // to be kept, by name
	sandbox    *sandbox.Profile  // nil: it is not confined
	bySettings *settings.Sandbox // what the settings have for its name, which comes before sandbox; nil: nothing
	doubts     []string          // why it may be another one than is meant
	notes      []string          // what else should be known
	typed      []string          // values and arguments that are the user's, and not the author's
	fixed      []string          // what the author sets in headers and variables
	given      map[string][]string
	references []string // to secrets of this server, as its entry has them
	noProgram  string   // that its author names and that the package does not have
	data       *dataPlace
	replaces   []string // the words of the entry that it takes the place of; nil: of none

	dry *dryRun
}

// A Result is a server that was added.
type Result struct {
	Name       string
	NeedsLogin bool   // nothing is known of it before
	FirstCall  string // a command line to begin with; empty if it has no tools
	HowToAllow string // what its confined program may not do, and how to allow it; empty if it is not confined here
}

// Add adds the server that a word names: NAME of a registry, KIND:PACKAGE, a URL, a folder or a file. The result is nil if the user did not
// agree; nothing is changed then, nor if there is an error.
func (a *Adder) Add(ctx context.Context, word string, o Options) (*Result, error) {
	w := &addition{Adder: a, Options: o, word: word, configuration: a.File, secrets: map[string]string{}}
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
		return nil, commandline.Errorf("--with is for packages of PyPI, and %s is none", w.name)
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

// addFilled adds a server whose entry is known; added is nil if nothing was written.
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
		question = fmt.Sprintf("What it stores is lost, unless %s says where. Add it?", w.data.variable)
		choices = append(choices, launch.Choice{Key: "data", Label: "with [d]ata in " + folder})
	}
	if agreed, err := w.agreed(ctx, question, choices); err != nil || !agreed {
		return nil, err
	}
	return w.write(ctx)
}
