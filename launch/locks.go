package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/listfile"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// Packages installs the packages of servers. [install.Store] implements it.
type Packages interface {
	Resolve(ctx context.Context, p install.Package) (*install.Locked, error)
	Install(ctx context.Context, l *install.Locked) (*install.Program, error)
	Open(l *install.Locked) (*install.Program, error)
	Advice(ctx context.Context, l *install.Locked) (install.Advice, error)
	Audit(ctx context.Context, l *install.Locked) ([]install.Vulnerability, error)
	Prune(ctx context.Context, keep []*install.Locked, unused time.Duration) (freed int64, err error)
}

// Locks caches the packages and junction.lock files that this process opened. It is safe for
// concurrent use.
type Locks struct {
	Place place.Place // supplies the folders; the zero Place is the place of this process

	mu       sync.Mutex
	Packages Packages            // nil until Store opens the user's packages
	read     map[string]readLock // by path
	agreed   map[string]string   // fingerprints of the locks that the user consented to, by agreedKey
}

// A readLock is a cached lock file. stamp identifies the version of the file.
type readLock struct {
	stamp string
	lock  *install.Lock
}

// Store returns the user's packages, which it opens at the first call.
func (l *Locks) Store() (Packages, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Packages == nil {
		dir, err := l.Place.Cache("packages")
		if err != nil {
			return nil, fmt.Errorf("no folder for installed packages: %w", err)
		}
		store, err := install.NewStore(dir)
		if err != nil {
			return nil, err
		}
		l.Packages = store
	}
	return l.Packages, nil
}

// Of returns the lock next to a configuration file. It reads the lock again only if the file has
// changed.
func (l *Locks) Of(configuration string) (*install.Lock, error) {
	path := install.LockPath(filename.Real(configuration))
	stamp := filename.Stamp(path)
	l.mu.Lock()
	known := l.read[path]
	l.mu.Unlock()
	if stamp != "" && known.stamp == stamp {
		return known.lock, nil
	}
	lock, err := install.ReadLock(path)
	if err != nil || stamp == "" {
		return lock, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read == nil {
		l.read = map[string]readLock{}
	}
	l.read[path] = readLock{stamp, lock}
	return lock, nil
}

// Forget removes the lock next to a configuration file from the cache. Without this, a second
// change within one tick of the clock would not be noticed.
func (l *Locks) Forget(configuration string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.read, install.LockPath(filename.Real(configuration)))
}

// Change changes a configuration and its lock. Only one process at a time can do so.
func (l *Locks) Change(ctx context.Context, c install.Change) (err error) {
	if c.Mutex, err = l.Place.State("install.mutex"); err != nil {
		return err
	}
	defer l.Forget(c.Configuration)
	return c.Apply(ctx)
}

// Locked returns the lock of a server, or nil without one.
func (l *Launcher) Locked(d *config.Definition) (*install.LockedServer, error) {
	if d == nil || d.Words() == nil {
		return nil, nil
	}
	lock, err := l.Locks.Of(d.Source)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", d.Name, err)
	}
	found, err := lock.Find(d.Name, d.Words())
	if errors.Is(err, install.ErrNotReplaced) {
		return nil, fmt.Errorf("%w; %s locks its present command line", err, UpgradeOf(d))
	}
	return found, err
}

// UpgradeOf returns the command that locks a server again.
func UpgradeOf(d *config.Definition) string {
	return "junction server upgrade " + plaintext.ShellWord(d.Name) + " --config " + plaintext.ShellWord(filename.Absolute(d.Source))
}

// FindLock returns the lock of a server, even if its entry has changed since it was locked. known
// reports whether a lock exists; if the lock cannot be read, locked is nil and known is true.
func (l *Launcher) FindLock(d *config.Definition) (locked *install.LockedServer, known bool) {
	locked, err := l.Locked(d)
	if !errors.Is(err, install.ErrNotReplaced) {
		return locked, locked != nil || err != nil
	}
	lock, err := l.Locks.Of(d.Source)
	if err != nil {
		return nil, true
	}
	return lock.Servers[d.Name], true
}

// Started returns the server of an entry with its lock applied. The installed program replaces the
// first words of the command line, so no package manager runs. It returns the lock too, so that
// start, confinement and consent all use the same one.
func (l *Launcher) Started(ctx context.Context, e Entry, s *config.Server) (started *config.Server, locked *install.LockedServer, err error) {
	d := e.Definition
	if locked, err = l.Locked(d); err == nil {
		err = l.CheckLock(e, locked)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case locked == nil && l.Frozen && IsProgram(s.Kind) && d.Words() != nil:
		return nil, nil, fmt.Errorf("server %q is not started: --frozen starts only locked servers, and %s does not have it; %s locks it", d.Name, l.Place.Short(install.LockPath(d.Source)), UpgradeOf(d))
	case locked == nil || locked.Package == nil:
		return s, locked, nil
	}
	program, err := l.installed(ctx, d, locked.Package)
	if err == nil {
		started, err = Replaced(s, len(locked.Replaces), locked.Package, program)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("server %q: %w", d.Name, err)
	}
	return started, locked, nil
}

// installed returns the program of a lock. It installs the package if needed.
func (l *Launcher) installed(ctx context.Context, d *config.Definition, p *install.Locked) (*install.Program, error) {
	store, err := l.Locks.Store()
	if err != nil {
		return nil, err
	}
	program, err := store.Open(p)
	if err == nil || !errors.Is(err, install.ErrNotInstalled) {
		return program, err
	}
	if l.Frozen {
		return nil, fmt.Errorf("%w; --frozen installs nothing: run junction server install", err)
	}
	l.Screen.Printf("junction: server %q: %s %s is installed from %s\n", d.Name, p.Name, p.Version, l.Place.Short(install.LockPath(d.Source)))
	if err := l.Locks.Note(d.Source); err != nil {
		return nil, err
	}
	program, err = store.Install(ctx, p)
	if errors.Is(err, install.ErrIntegrity) {
		err = fmt.Errorf("%w; nothing was installed. If you changed %s, undo that; otherwise the published package changed: ask its author before you run %s",
			err, l.Place.Short(install.LockPath(d.Source)), p.Name)
	}
	return program, err
}

// Replaced returns s with the first words of its command line replaced by an installed program.
func Replaced(s *config.Server, words int, l *install.Locked, p *install.Program) (*config.Server, error) {
	now := *s
	filled := *p
	filled.Argv, filled.Env = slices.Clone(p.Argv), maps.Clone(p.Env)
	rest, err := filled.FillFrom(s.Env)
	if err != nil {
		return nil, fmt.Errorf("its %w; it comes from the variable %s of its entry", err, install.SettingVariable("NAME"))
	}
	now.Command = filled.Argv[0]
	now.Args = append(filled.Argv[1:], install.OwnArgs(l, s.Args[min(words-1, len(s.Args)):])...)
	if now.Env = filled.Env; now.Env == nil {
		now.Env = map[string]string{}
	}
	maps.Copy(now.Env, rest)
	for _, name := range p.Passed {
		if _, set := now.Env[name]; !set {
			now.Unset = append(now.Unset[:len(now.Unset):len(now.Unset)], name)
		}
	}
	return &now, nil
}

// IsLocked reports whether a lock supplies the program of a server. The program that the entry
// names does not matter.
func (l *Launcher) IsLocked(d *config.Definition) bool {
	locked, err := l.Locked(d)
	return err == nil && locked != nil && locked.Package != nil
}

// agreedKey returns a key for a server: its file and name.
func agreedKey(d *config.Definition) string { return filename.Real(d.Source) + "\x00" + d.Name }

// AgreeTo records the fingerprint of the lock that the user consented to.
func (l *Locks) AgreeTo(d *config.Definition, printed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agreed == nil {
		l.agreed = map[string]string{}
	}
	l.agreed[agreedKey(d)] = printed
}

// Agreed returns the fingerprint that AgreeTo recorded for a server.
func (l *Locks) Agreed(d *config.Definition) (printed string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	printed, known = l.agreed[agreedKey(d)]
	return printed, known
}

// Known returns the list of lock files whose packages are in the cache.
func (l *Locks) Known() (*listfile.File[string], error) {
	path, err := l.Place.State("locks.json")
	if err != nil {
		return nil, err
	}
	return listfile.Open(path, "the list of locks", func(path string) string { return path })
}

// Note adds the lock next to a configuration file to the list of Known. Packages of a listed lock
// are not removed as unused.
func (l *Locks) Note(configuration string) error {
	list, err := l.Known()
	if err != nil {
		return err
	}
	path := install.LockPath(filename.Real(configuration))
	if all, err := list.All(); err == nil && slices.Contains(all, path) {
		return nil
	}
	err = list.Change(context.Background(), func(all []string) ([]string, error) {
		all = slices.DeleteFunc(all, func(other string) bool {
			_, err := os.Stat(filepath.Dir(other))
			return other == path || os.IsNotExist(err)
		})
		return append(all, path), nil
	})
	if err != nil {
		return fmt.Errorf("note which locks there are: %w", err)
	}
	return nil
}
