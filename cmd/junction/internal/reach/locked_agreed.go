package reach

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/pflag"
)

// FindLock returns the lock of a server, even if its entry has changed since. known is false if
// there is none; it is true with a nil lock if the lock cannot be read.
func FindLock(a *cli.App, d *config.Definition) (locked *install.LockedServer, known bool) {
	locked, err := a.Launch.Locked(d)
	if !errors.Is(err, install.ErrNotReplaced) {
		return locked, locked != nil || err != nil
	}
	lock, err := a.Launch.Locks.Of(d.Source)
	if err != nil {
		return nil, true
	}
	return lock.Servers[d.Name], true
}

// LockFingerprint returns a fingerprint of a server's lock, or an empty string without one. Consent
// depends on it, because a project's lock decides what runs and how it is confined.
func LockFingerprint(a *cli.App, d *config.Definition) string {
	locked, _ := FindLock(a, d)
	return printOf(locked)
}

// printOf returns the fingerprint of a lock.
func printOf(locked *install.LockedServer) string {
	if locked == nil {
		return "" // the entry alone decides what starts
	}
	text, err := json.Marshal(locked)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// CheckLock returns an error if the lock of a project's server is not the one the user agreed to.
// Otherwise a changed lock of a running gateway could decide what its next connection starts.
func CheckLock(a *cli.App, e launch.Entry, locked *install.LockedServer) error {
	if !e.OfProject() || len(a.Flags.Config) > 0 {
		return nil
	}
	printed := printOf(locked)
	agreed, known := a.Launch.Locks.Agreed(e.Definition)
	if known && agreed == printed || !known && locked == nil || StoredConsents(a)[consentKeyOf(e, printed)] {
		return nil
	}
	return &ConsentError{e.Name, e.Definition.Source, a.Short(install.LockPath(e.Definition.Source)) + " has changed since you were asked; start again to be asked about it as it is now"}
}

// ResolveLocked returns the server as it is started, and its lock. It reads the lock once, so
// that what is started, confined and agreed to cannot differ.
func ResolveLocked(ctx context.Context, a *cli.App, e launch.Entry, s *config.Server) (*config.Server, *install.LockedServer, error) {
	locked, err := a.Launch.Locked(e.Definition)
	if err == nil {
		err = CheckLock(a, e, locked)
	}
	if err != nil {
		return nil, nil, err
	}
	started, err := a.Launch.Started(ctx, e.Definition, s, locked)
	return started, locked, err
}

// LockText describes the lock of a server for a user who is asked for consent. It returns an empty
// string if there is nothing to add.
func LockText(a *cli.App, e launch.Entry) string {
	locked, err := a.Launch.Locked(e.Definition)
	if errors.Is(err, install.ErrNotReplaced) {
		if locked, _ = FindLock(a, e.Definition); locked == nil {
			return ""
		}
		return "of which junction.lock has another command line; junction server upgrade locks it anew, and then it " + lockedRights(a, e, locked)
	}
	which := "which by junction.lock "
	if locked == nil {
		which, locked = "which ", &install.LockedServer{}
	}
	p := locked.Package
	if err != nil || p == nil && !launch.IsProgram(e.Definition.Kind) {
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

// lockedRights describes what a lock allows a server to do.
func lockedRights(a *cli.App, e launch.Entry, locked *install.LockedServer) string {
	rights := ""
	if locked.Package != nil && locked.Package.Scripts {
		rights = "runs install scripts; "
	}
	if e.Sandbox != nil {
		if s, err := e.Sandbox(); err == nil && s != nil {
			return rights + "is confined as your settings say"
		}
	}
	return rights + a.Launch.Confinement(locked.Sandbox, locked.Package)
}

// FrozenFlag defines the flag --frozen, with which a command starts only what is locked.
func FrozenFlag(a *cli.App, f *pflag.FlagSet) {
	f.BoolVar(&a.Launch.Frozen, "frozen", false, "start only programs that junction.lock has and that are installed (junction server install does that); for CI and teams")
}
