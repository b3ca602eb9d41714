//go:build unix

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// What is read again says what changed of it, and has no warnings about a server that goes on while its entry is wrong.
func TestReloadReportsChanges(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.json")
	clitest.Write(t, map[string]string{filepath.Join(dir, "rules.json"): `{"rules": [{"effect": "deny", "server": "a", "tool": "add"}], "default": "allow"}`})
	a := written(t, "a", dir)
	const settings = `"policy":"rules.json","servers":{"a":{"hide":["fail"]}},"profiles":{"team":{"servers":["a"],"only":["a__echo"]}}`
	configure(t, config, a, settings)
	r := serving(t, "up", "--config", config)
	waitFor(t, "the server is offered", func() bool { return strings.Contains(toolsAt(t, r.url), "a__echo") })
	said := func(what string) {
		t.Helper()
		waitFor(t, what, func() bool {
			return regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  Configuration reloaded: ` + regexp.QuoteMeta(what) + `\.$`).MatchString(r.stderr.String())
		})
	}
	configure(t, config, `"a":{"command":3}`, settings)
	said("no change to the servers")
	runs(t, "", "call", r.url, "a__echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	for _, wrong := range []string{"there is no server", "is configured here", "matches no name"} {
		if strings.Contains(r.stderr.String(), wrong) {
			t.Errorf("%q in %s", wrong, r.stderr)
		}
	}
	configure(t, config, a, settings)
	clitest.Write(t, map[string]string{filepath.Join(dir, "rules.json"): `{"rules": [{"effect": "deny", "server": "a", "tool": "echo"}], "default": "allow"}`})
	said("the rules changed")
	configure(t, config, a, strings.Replace(settings, `"a__echo"`, `"a__add"`, 1))
	said("the settings changed")
	configure(t, config, a+","+written(t, "b", dir), settings)
	said("b added; the settings changed")
	configure(t, config, strings.Replace(a, `"command"`, `"env":{"X":"1"},"command"`, 1)+","+written(t, "c", dir)+","+written(t, "d", dir), settings)
	said("c, d added; a changed; b removed")
}
