package launch

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

// ConfineBy confines a program by its settings s, or if s is nil, by the profile of its lock. With
// neither, the program is not confined.
func (l *Launcher) ConfineBy(c *command.Command, name string, s *settings.Sandbox, locked *sandbox.Profile, o sandbox.Options) error {
	switch {
	case s != nil:
		o.Weaker = s.Weaker
		if err := l.ConfineTo(c, name, ProfileOf(s), o, s.Watch); err != nil {
			return fmt.Errorf("server %q: junction.servers.%s.sandbox: %w", name, name, err)
		}
	case locked != nil:
		o.Weaker = true // systems of a team share a lock, and some may not confine; junction server sandbox show tells the user
		if err := l.ConfineTo(c, name, *locked, o, false); err != nil {
			return fmt.Errorf("server %q cannot be confined by its profile: %w; change the profile with junction server sandbox allow and deny, or add the server without one with junction server add --no-sandbox", name, err)
		}
	}
	return nil
}

// InstalledFolders returns the folders of the package in a lock. It returns nil if there is no
// installed package.
func (l *Launcher) InstalledFolders(locked *install.LockedServer) []string {
	if locked == nil || locked.Package == nil {
		return nil
	}
	store, err := l.Locks.Store()
	if err != nil {
		return nil
	}
	program, err := store.Open(locked.Package)
	if err != nil {
		return nil // the start of the server reports the error
	}
	return []string{program.Dir}
}

// ConfineTo makes c start its program in the sandbox of a profile. Each refusal is printed and
// passed to l.Refused. Reads are watched until the profile fits its program, or for ever if always
// is set.
func (l *Launcher) ConfineTo(c *command.Command, name string, p sandbox.Profile, o sandbox.Options, always bool) error {
	t := l.newTrial(c, name, p, o)
	if o.Refused == nil {
		o.Unwatched = t != nil && t.wasFit && !always
		o.Refused = func(r sandbox.Refusal) {
			line := RefusalLine(name, r)
			if l.Refused != nil {
				l.Refused(name, line, r.Lost)
			}
			l.Screen.Printf("junction: %s\n", line)
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
		l.Screen.Printf("junction: server %s is not confined in all points of its profile: %s\n", plaintext.Line(name, 80), strings.Join(missing, "; "))
	}
	box, err := sandbox.New(p, o)
	if err != nil {
		return err
	}
	c.Environ, c.Launch = p.Environ(l.withNamed(c.Environ, p.Env)), box.Start
	if t != nil {
		c.Answered = t.observe(box)
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

// RefusalLine returns a line about a refusal of the sandbox, with the command that allows the
// access.
func RefusalLine(name string, r sandbox.Refusal) string {
	line := fmt.Sprintf("server %s: was refused to %s", plaintext.Line(name, 80), plaintext.Line(r.What, 500))
	if len(r.Allow) == 0 {
		return line + ": " + r.Reason
	}
	return line + "; to allow it: " + AllowCommand(name, r.Allow)
}

// AllowCommand returns the command that adds permissions to the sandbox of a server.
func AllowCommand(name string, words []string) string {
	command := "junction server sandbox allow " + plaintext.ShellWord(name)
	for _, word := range words {
		command += " " + plaintext.ShellWord(plaintext.Line(word, 500))
	}
	return command
}

// ProfileOf returns the profile of settings.
func ProfileOf(s *settings.Sandbox) sandbox.Profile {
	memory, _ := settings.Size(s.Memory) // 0, the default, without a valid size
	return sandbox.Profile{Read: s.Read, Write: s.Write, Hosts: s.Hosts, Env: s.Env, Processes: s.Processes, Memory: memory, CPU: s.CPU, Files: s.Files, By: s.By, Image: s.Image}
}

// Confinement describes the permissions of a profile in one line. Without a profile, a locked
// container is confined by its container engine.
func (l *Launcher) Confinement(p *sandbox.Profile, locked *install.Locked) string {
	switch {
	case p == nil && locked != nil && locked.IsContainer():
		return "has the rights of its container"
	case p == nil:
		return "is not confined"
	}
	shown, in := *p, ""
	if p.By != "" {
		in = plaintext.Unbroken(strings.TrimSpace("runs in a container of "+p.By+" "+p.Image)) + "; "
	}
	shown.By, shown.Read, shown.Write = "", withTargets(l.Place, p.Read), withTargets(l.Place, p.Write)
	var may []string
	for _, line := range ProfileLines(shown) {
		may = append(may, strings.Join(strings.Fields(line), " "))
	}
	if len(may) == 0 {
		return in + "is confined to its own package"
	}
	return in + "is confined, except for " + strings.Join(may, ", ")
}

// withTargets returns the paths, each with the target of its links. The target is the path that the
// sandbox allows.
func withTargets(p place.Place, paths []string) (shown []string) {
	for _, path := range paths {
		named := p.Expand(path)
		if real, err := filepath.EvalSymlinks(named); err == nil && real != filepath.Clean(named) {
			path += " (which is " + p.Tilde(real) + ")"
		}
		shown = append(shown, path)
	}
	return shown
}

// ProfileLines returns one line for each permission of a profile: a word for its kind, and its
// value.
func ProfileLines(p sandbox.Profile) (lines []string) {
	for _, list := range []struct {
		word   string
		values []string
	}{{"read", p.Read}, {"write", p.Write}, {"host", p.Hosts}, {"env", p.Env}} {
		for _, value := range list.values {
			lines = append(lines, fmt.Sprintf("%-5s  %s", list.word, plaintext.Unbroken(value)))
		}
	}
	if p.By != "" {
		lines = append(lines, plaintext.Unbroken(strings.TrimSpace("in     "+p.By+" "+p.Image)))
	}
	s := SettingsOf(p)
	for _, limit := range []struct{ word, value string }{{"processes", number(s.Processes)}, {"memory", s.Memory}, {"files", number(s.Files)}} {
		if limit.value != "" {
			lines = append(lines, limit.word+"  "+limit.value)
		}
	}
	if p.CPU > 0 {
		lines = append(lines, "cpu  "+strconv.FormatFloat(p.CPU, 'f', -1, 64))
	}
	return lines
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Covers reports whether a list of permissions contains value, a folder that contains it, or a
// pattern that matches a host.
func Covers(list []string, value string) bool {
	return slices.ContainsFunc(list, func(has string) bool {
		rest, below := strings.CutPrefix(has, "*.")
		return has == value || strings.HasPrefix(value, strings.TrimSuffix(has, "/")+"/") || below && strings.HasSuffix(value, "."+rest)
	})
}

// SettingsOf returns a profile in the form of settings.
func SettingsOf(p sandbox.Profile) settings.Sandbox {
	s := settings.Sandbox{Read: p.Read, Write: p.Write, Hosts: p.Hosts, Env: p.Env, Processes: p.Processes, CPU: p.CPU, Files: p.Files, By: p.By, Image: p.Image}
	if p.Memory > 0 {
		s.Memory = fmt.Sprintf("%dMB", (p.Memory+1e6-1)/1e6)
	}
	return s
}
