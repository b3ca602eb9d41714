package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

// confine has the program of an entry start in a sandbox, where something says how.
func (a *app) confine(c *command.Command, e entry) error {
	if e.confined == nil {
		return nil
	}
	s, err := e.confined()
	if err != nil {
		return &connectError{fmt.Errorf("server %q may be confined, which cannot be read: %w", e.name, err)}
	}
	if s == nil {
		return nil
	}
	if err := a.confineTo(c, e.name, sandboxProfile(s), sandbox.Options{Weaker: s.Weaker}); err != nil {
		return &connectError{fmt.Errorf("server %q: junction.servers.%s.sandbox: %w", e.name, e.name, err)}
	}
	return nil
}

// confineTo has a program start in the sandbox of a profile. What it is refused is logged.
func (a *app) confineTo(c *command.Command, name string, p sandbox.Profile, o sandbox.Options) error {
	o.Refused = func(r sandbox.Refusal) {
		a.screen.Printf("junction: server %s: the sandbox refused: %s\n", plaintext.Line(name, 80), plaintext.Line(r.String(), 500))
	}
	o.Unconfined = func(missing []string) {
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
	return nil
}

func sandboxProfile(s *settings.Sandbox) sandbox.Profile {
	memory, _ := settings.Size(s.Memory) // none is the default
	return sandbox.Profile{Read: s.Read, Write: s.Write, Hosts: s.Hosts, Env: s.Env, Processes: s.Processes, Memory: memory, CPU: s.CPU, Files: s.Files}
}
