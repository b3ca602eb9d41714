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
)

// lockedAnyhow is what is locked under the name of a server, although its entry may say something else by now, and whether that is known: a lock
// that cannot be read is said when it is used.
func (a *app) lockedAnyhow(d *config.Definition) (locked *install.LockedServer, known bool) {
	locked, err := a.locked(d)
	if !errors.Is(err, install.ErrNotReplaced) {
		return locked, locked != nil || err != nil
	}
	lock, err := a.locks.of(d.Source)
	if err != nil {
		return nil, true
	}
	return lock.Servers[d.Name], true
}

// lockPrint tells what is locked of a server from all else that could be: whoever writes a project's lock decides what runs, and how far it is
// confined when it is upgraded.
func (a *app) lockPrint(d *config.Definition) string {
	locked, _ := a.lockedAnyhow(d)
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

// agreedKey names a server of a file.
func agreedKey(d *config.Definition) string { return realPath(d.Source) + "\x00" + d.Name }

// agreeTo notes with which lock a server of a project may be started.
func (l *locks) agreeTo(d *config.Definition, printed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agreed == nil {
		l.agreed = map[string]string{}
	}
	l.agreed[agreedKey(d)] = printed
}

// agreedLock refuses what is locked of a server of a project where that is not what the person agreed to: whoever changes the lock of a gateway
// that runs would otherwise choose what its next connection starts.
func (a *app) agreedLock(e entry, locked *install.LockedServer) error {
	if !e.ofProject() || len(a.flags.config) > 0 {
		return nil
	}
	printed := printOf(locked)
	a.locks.mu.Lock()
	agreed, known := a.locks.agreed[agreedKey(e.definition)]
	a.locks.mu.Unlock()
	if known && agreed == printed || !known && locked == nil || a.saidBefore()[consentKeyOf(e, printed)] {
		return nil
	}
	return &consentError{e.name, e.definition.Source, shortened(install.LockPath(e.definition.Source)) + " has changed since you were asked; start again to be asked about it as it is now"}
}

// startedAsAgreed is the server as it is started, and what is locked of it. The lock is read once: what is started, how it is confined and what was
// agreed to are of the same text.
func (a *app) startedAsAgreed(ctx context.Context, e entry, s *config.Server) (*config.Server, *install.LockedServer, error) {
	locked, err := a.locked(e.definition)
	if err == nil {
		err = a.agreedLock(e, locked)
	}
	if err != nil {
		return nil, nil, err
	}
	started, err := a.started(ctx, e.definition, s, locked)
	return started, locked, err
}

// lockLine is what is locked of a server, for a person who is asked whether it may be started.
func (a *app) lockLine(e entry) string {
	locked, err := a.locked(e.definition)
	if errors.Is(err, install.ErrNotReplaced) {
		if locked, _ = a.lockedAnyhow(e.definition); locked == nil {
			return ""
		}
		return "of which junction.lock has another command line; junction upgrade locks it anew, and then it " + a.lockedRights(e, locked)
	}
	which := "which by junction.lock "
	if locked == nil {
		which, locked = "which ", &install.LockedServer{}
	}
	p := locked.Package
	if err != nil || p == nil && e.definition.Kind != config.Stdio {
		return ""
	}
	rights := a.lockedRights(e, locked)
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
func (a *app) lockedRights(e entry, locked *install.LockedServer) string {
	rights := ""
	if locked.Package != nil && locked.Package.Scripts {
		rights = "runs install scripts; "
	}
	if e.sandbox != nil {
		if s, err := e.sandbox(); err == nil && s != nil {
			return rights + "is confined as your settings say"
		}
	}
	return rights + confinement(locked.Sandbox, locked.Package)
}
