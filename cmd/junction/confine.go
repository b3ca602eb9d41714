package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

// confine has the program of an entry start in a sandbox, where the settings say how, or else what is locked of it.
func (a *app) confine(c *command.Command, e entry, locked *install.LockedServer) error {
	if e.sandbox == nil {
		return nil
	}
	s, err := e.sandbox()
	if err != nil {
		return fmt.Errorf("server %q: the settings that may confine it cannot be read: %w", e.name, err)
	}
	var p *sandbox.Profile
	if locked != nil {
		p = locked.Sandbox
	}
	return a.confineBy(c, e.name, s, p, sandbox.Options{Package: a.installedFolders(locked), Folder: e.definition.Folder() != ""})
}

// confineBy confines a program by the settings, or else by what is locked of it, or will be.
func (a *app) confineBy(c *command.Command, name string, s *settings.Sandbox, locked *sandbox.Profile, o sandbox.Options) error {
	switch {
	case s != nil:
		o.Weaker = s.Weaker
		if err := a.confineTo(c, name, sandboxProfile(s), o, s.Watch); err != nil {
			return fmt.Errorf("server %q: junction.servers.%s.sandbox: %w", name, name, err)
		}
	case locked != nil:
		o.Weaker = true // a lock is for a whole team, on systems of which some cannot confine: junction sandbox show says so
		if err := a.confineTo(c, name, *locked, o, false); err != nil {
			return fmt.Errorf("server %q cannot be confined by its profile: %w; junction sandbox allow and deny change it, and junction add --no-sandbox does without", name, err)
		}
	}
	return nil
}

// installedFolders are those in which what is locked of a server lies.
func (a *app) installedFolders(locked *install.LockedServer) []string {
	if locked == nil || locked.Package == nil {
		return nil
	}
	store, err := a.locks.store()
	if err != nil {
		return nil
	}
	program, err := store.Open(locked.Package)
	if err != nil {
		return nil // which whoever starts it says
	}
	return []string{program.Dir}
}

// confineTo has a program start in the sandbox of a profile. What it is refused is logged, once, and stands in the server's own log. What it reads is
// watched until the profile fits it, or always.
func (a *app) confineTo(c *command.Command, name string, p sandbox.Profile, o sandbox.Options, always bool) error {
	t := newTrial(c, name, p, o)
	if o.Refused == nil {
		o.Unwatched = t != nil && t.wasFit && !always
		o.Refused = func(r sandbox.Refusal) {
			line := refusalLine(name, r)
			a.stderrOf(name).addRefused(line, r.Lost)
			a.screen.Printf("junction: %s\n", line)
		}
	}
	if t != nil {
		refused := o.Refused
		o.Refused = func(r sandbox.Refusal) {
			t.isRefused.Store(true)
			refused(r)
		}
	}
	said := o.Unconfined
	o.Unconfined = func(missing []string) {
		if said != nil {
			said(missing)
		}
		a.screen.Printf("junction: server %s is not confined in all that its profile says: %s\n", plaintext.Line(name, 80), strings.Join(missing, "; "))
	}
	box, err := sandbox.New(p, o)
	if err != nil {
		return err
	}
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	c.Environ, c.Launch = p.Environ(environ), box.Start
	if t != nil {
		c.Answered = t.hear(box)
		c.Launch = func(cmd *exec.Cmd) (func(), error) {
			ended, err := box.Start(cmd)
			if err != nil {
				return nil, err
			}
			return func() { ended(); t.end() }, nil
		}
	}
	return nil
}

// refusalLine says what a server was refused, and what allows it.
func refusalLine(name string, r sandbox.Refusal) string {
	line := fmt.Sprintf("server %s: was refused to %s", plaintext.Line(name, 80), plaintext.Line(r.What, 500))
	if len(r.Allow) == 0 {
		return line + ": " + r.Reason
	}
	return line + "; to allow it: " + allowCommand(name, r.Allow)
}

// allowCommand is the command that allows something.
func allowCommand(name string, words []string) string {
	command := "junction sandbox allow " + shellWord(name)
	for _, word := range words {
		command += " " + shellWord(plaintext.Line(word, 500))
	}
	return command
}
