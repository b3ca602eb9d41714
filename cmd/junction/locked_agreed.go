package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/pflag"
)

// lockedAnyhow is what is locked under the name of a server, although its entry may say something else by now, and whether that is known: a lock
// that cannot be read is said when it is used.
func lockedAnyhow(a *app, d *config.Definition) (locked *install.LockedServer, known bool) {
	locked, err := a.launch.Locked(d)
	if !errors.Is(err, install.ErrNotReplaced) {
		return locked, locked != nil || err != nil
	}
	lock, err := a.launch.Locks.Of(d.Source)
	if err != nil {
		return nil, true
	}
	return lock.Servers[d.Name], true
}

// lockPrint tells what is locked of a server from all else that could be: whoever writes a project's lock decides what runs, and how far it is
// confined when it is upgraded.
func lockPrint(a *app, d *config.Definition) string {
	locked, _ := lockedAnyhow(a, d)
	return printOf(locked)
}

func printOf(locked *install.LockedServer) string {
	if locked == nil {
		return "" // which starts nothing, or what the entry says
	}
	text, err := json.Marshal(locked)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// agreedLock refuses what is locked of a server of a project where that is not what the person agreed to: whoever changes the lock of a gateway
// that runs would otherwise choose what its next connection starts.
func agreedLock(a *app, e entry, locked *install.LockedServer) error {
	if !e.ofProject() || len(a.flags.config) > 0 {
		return nil
	}
	printed := printOf(locked)
	agreed, known := a.launch.Locks.Agreed(e.definition)
	if known && agreed == printed || !known && locked == nil || saidBefore(a)[consentKeyOf(e, printed)] {
		return nil
	}
	return &consentError{e.name, e.definition.Source, a.Short(install.LockPath(e.definition.Source)) + " has changed since you were asked; start again to be asked about it as it is now"}
}

// startedAsAgreed is the server as it is started, and what is locked of it. The lock is read once: what is started, how it is confined and what was
// agreed to are of the same text.
func startedAsAgreed(ctx context.Context, a *app, e entry, s *config.Server) (*config.Server, *install.LockedServer, error) {
	locked, err := a.launch.Locked(e.definition)
	if err == nil {
		err = agreedLock(a, e, locked)
	}
	if err != nil {
		return nil, nil, err
	}
	started, err := a.launch.Started(ctx, e.definition, s, locked)
	return started, locked, err
}

// lockLine is what is locked of a server, for a person who is asked whether it may be started.
func lockLine(a *app, e entry) string {
	locked, err := a.launch.Locked(e.definition)
	if errors.Is(err, install.ErrNotReplaced) {
		if locked, _ = lockedAnyhow(a, e.definition); locked == nil {
			return ""
		}
		return "of which junction.lock has another command line; junction upgrade locks it anew, and then it " + lockedRights(a, e, locked)
	}
	which := "which by junction.lock "
	if locked == nil {
		which, locked = "which ", &install.LockedServer{}
	}
	p := locked.Package
	if err != nil || p == nil && !launch.IsProgram(e.definition.Kind) {
		return ""
	}
	rights := lockedRights(a, e, locked)
	if p == nil {
		return which + rights
	}
	line := "which junction.lock says is " + p.Type + " " + p.Name + " " + p.Version + ": " + strings.Join(p.Program, " ")
	if p.Registry != "" {
		line += " (from " + p.Registry + ")"
	}
	return line + "; " + rights
}

// lockedRights are what a lock lets a server do: they are whoever's who wrote it, and so belong to what is asked.
func lockedRights(a *app, e entry, locked *install.LockedServer) string {
	rights := ""
	if locked.Package != nil && locked.Package.Scripts {
		rights = "runs install scripts; "
	}
	if e.sandbox != nil {
		if s, err := e.sandbox(); err == nil && s != nil {
			return rights + "is confined as your settings say"
		}
	}
	return rights + a.launch.Confinement(locked.Sandbox, locked.Package)
}

// frozenFlag has a command start only what is locked.
func frozenFlag(a *app, f *pflag.FlagSet) {
	f.BoolVar(&a.launch.Frozen, "frozen", false, "start only programs that junction.lock has and that are installed (junction install does that); for CI and teams")
}
