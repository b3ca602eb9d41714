package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/install"
	"github.com/spf13/pflag"
)

// packages are what servers are installed from: an [install.Store].
type packages interface {
	Resolve(ctx context.Context, p install.Package) (*install.Locked, error)
	Install(ctx context.Context, l *install.Locked) (*install.Program, error)
	Open(l *install.Locked) (*install.Program, error)
	Advice(ctx context.Context, l *install.Locked) (install.Advice, error)
	Audit(ctx context.Context, l *install.Locked) ([]install.Vulnerability, error)
	Prune(ctx context.Context, keep []*install.Locked, unused time.Duration) (freed int64, err error)
}

// locks are what is open of packages and of files junction.lock in this process. It is safe for concurrent use.
type locks struct {
	mu       sync.Mutex
	packages packages
	read     map[string]readLock // by path
	agreed   map[string]string   // the prints of what is locked of projects' servers that may be started, by agreedKey
}

// A readLock is a lock as it was when its file had this stamp.
type readLock struct {
	stamp string
	lock  *install.Lock
}

// store opens the packages.
func (l *locks) store() (packages, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.packages == nil {
		store, err := install.NewStore("")
		if err != nil {
			return nil, err
		}
		l.packages = store
	}
	return l.packages, nil
}

// of reads the lock next to a configuration, again only where it changed.
func (l *locks) of(configuration string) (*install.Lock, error) {
	path := install.LockPath(realPath(configuration))
	stamp := stampOf(path)
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

// forget has the lock next to a configuration be read again: two changes within one tick of the clock look the same.
func (l *locks) forget(configuration string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.read, install.LockPath(realPath(configuration)))
}

// locked is what is locked of a server; nil if nothing is.
func (a *app) locked(d *config.Definition) (*install.LockedServer, error) {
	if d == nil || d.Words() == nil {
		return nil, nil
	}
	lock, err := a.locks.of(d.Source)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", d.Name, err)
	}
	found, err := lock.Find(d.Name, d.Words())
	if errors.Is(err, install.ErrNotReplaced) {
		return nil, fmt.Errorf("%w; %s locks what it says now", err, upgradeOf(d))
	}
	return found, err
}

// upgradeOf is the command that locks a server anew.
func upgradeOf(d *config.Definition) string {
	return "junction upgrade " + shellWord(d.Name) + " --config " + shellWord(absolute(d.Source))
}

// frozenFlag has a command start only what is locked.
func (a *app) frozenFlag(f *pflag.FlagSet) {
	f.BoolVar(&a.flags.frozen, "frozen", false, "start only programs that junction.lock has and that are installed (junction install does that); for CI and teams")
}

// upFlags are those of junction up that are about this process.
func (a *app) upFlags(f *pflag.FlagSet) {
	a.configFlags(f)
	a.frozenFlag(f)
	a.recordFlag(f)
	a.logFlags(f)
}

// started is the server as it is started: where it is locked, the installed program stands in the place of what its entry begins with, and no
// package manager is asked. locked is what is locked of it, or nil.
func (a *app) started(ctx context.Context, d *config.Definition, s *config.Server, locked *install.LockedServer) (*config.Server, error) {
	switch {
	case locked == nil && a.flags.frozen && s.Kind == config.Stdio && d.Words() != nil:
		return nil, fmt.Errorf("server %q is not started: --frozen starts only what is locked, and %s has nothing of it; %s locks it", d.Name, shortened(install.LockPath(d.Source)), upgradeOf(d))
	case locked == nil || locked.Package == nil:
		return s, nil
	}
	program, err := a.installed(ctx, d, locked.Package)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", d.Name, err)
	}
	return replaced(s, len(locked.Replaces), program), nil
}

// installed is the program of what is locked, which is installed where it is not there yet.
func (a *app) installed(ctx context.Context, d *config.Definition, l *install.Locked) (*install.Program, error) {
	store, err := a.locks.store()
	if err != nil {
		return nil, err
	}
	program, err := store.Open(l)
	if err == nil || !errors.Is(err, install.ErrNotInstalled) {
		return program, err
	}
	if a.flags.frozen {
		return nil, fmt.Errorf("%w; --frozen installs nothing: junction install does", err)
	}
	a.screen.Printf("junction: server %q: %s %s is installed from %s\n", d.Name, l.Name, l.Version, shortened(install.LockPath(d.Source)))
	if err := noteLock(d.Source); err != nil {
		return nil, err
	}
	program, err = store.Install(ctx, l)
	if errors.Is(err, install.ErrIntegrity) {
		err = fmt.Errorf("%w; nothing of it was kept. If somebody changed %s, take that back; else what is published changed, which its author has to explain before %s is run",
			err, shortened(install.LockPath(d.Source)), l.Name)
	}
	return program, err
}

// replaced is a server whose first words are those of an installed program.
func replaced(s *config.Server, words int, p *install.Program) *config.Server {
	now := *s
	now.Command = p.Argv[0]
	now.Args = append(slices.Clone(p.Argv[1:]), s.Args[min(words-1, len(s.Args)):]...)
	now.Env = maps.Clone(p.Env)
	if now.Env == nil {
		now.Env = map[string]string{}
	}
	maps.Copy(now.Env, s.Env)
	return &now
}

// isLocked reports whether a program is there because it is locked, whatever its entry names.
func (a *app) isLocked(d *config.Definition) bool {
	locked, err := a.locked(d)
	return err == nil && locked != nil && locked.Package != nil
}

// definitionKey is a definition in a lock.
func definitionKey(d guard.Definition) string {
	return strings.TrimSpace(string(d.Kind) + " " + d.Name)
}

// lockedDefinitions are the hashes of definitions that are the same wherever the server is started.
func lockedDefinitions(all []guard.Definition) map[string]string {
	hashes := map[string]string{}
	for _, d := range all {
		if d.Kind != guard.Command {
			hashes[definitionKey(d)] = d.Hash()
		}
	}
	return hashes
}
