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

// LockedAnyhow is what is locked under the name of a server, although its entry may say something else by now, and whether that is known: a lock
// that cannot be read is said when it is used.
func LockedAnyhow(a *cli.App, d *config.Definition) (locked *install.LockedServer, known bool) {
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

// LockPrint tells what is locked of a server from all else that could be: whoever writes a project's lock decides what runs, and how far it is
// confined when it is upgraded.
func LockPrint(a *cli.App, d *config.Definition) string {
	locked, _ := LockedAnyhow(a, d)
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

// AgreedLock refuses what is locked of a server of a project where that is not what the person agreed to: whoever changes the lock of a gateway
// that runs would otherwise choose what its next connection starts.
func AgreedLock(a *cli.App, e cli.Entry, locked *install.LockedServer) error {
	if !e.OfProject() || len(a.Flags.Config) > 0 {
		return nil
	}
	printed := printOf(locked)
	agreed, known := a.Launch.Locks.Agreed(e.Definition)
	if known && agreed == printed || !known && locked == nil || SaidBefore(a)[consentKeyOf(e, printed)] {
		return nil
	}
	return &ConsentError{e.Name, e.Definition.Source, a.Short(install.LockPath(e.Definition.Source)) + " has changed since you were asked; start again to be asked about it as it is now"}
}

// StartedAsAgreed is the server as it is started, and what is locked of it. The lock is read once: what is started, how it is confined and what was
// agreed to are of the same text.
func StartedAsAgreed(ctx context.Context, a *cli.App, e cli.Entry, s *config.Server) (*config.Server, *install.LockedServer, error) {
	locked, err := a.Launch.Locked(e.Definition)
	if err == nil {
		err = AgreedLock(a, e, locked)
	}
	if err != nil {
		return nil, nil, err
	}
	started, err := a.Launch.Started(ctx, e.Definition, s, locked)
	return started, locked, err
}

// LockLine is what is locked of a server, for a person who is asked whether it may be started.
func LockLine(a *cli.App, e cli.Entry) string {
	locked, err := a.Launch.Locked(e.Definition)
	if errors.Is(err, install.ErrNotReplaced) {
		if locked, _ = LockedAnyhow(a, e.Definition); locked == nil {
			return ""
		}
		return "of which junction.lock has another command line; junction upgrade locks it anew, and then it " + lockedRights(a, e, locked)
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

// lockedRights are what a lock lets a server do: they are whoever's who wrote it, and so belong to what is asked.
func lockedRights(a *cli.App, e cli.Entry, locked *install.LockedServer) string {
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

// FrozenFlag has a command start only what is locked.
func FrozenFlag(a *cli.App, f *pflag.FlagSet) {
	f.BoolVar(&a.Launch.Frozen, "frozen", false, "start only programs that junction.lock has and that are installed (junction install does that); for CI and teams")
}
