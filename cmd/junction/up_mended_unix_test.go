//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Rules that a changed configuration names, and that cannot be used, hold as soon as their own file is mended.
func TestRulesThatAreNamedAndBrokenHoldOnceTheyAreMended(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	const server = `"a":{"command":"none","disabled":true}`
	config, rules := filepath.Join(dir, "servers.json"), filepath.Join(dir, "rules.json")
	configure(t, config, server, ``)
	r := serving(t, "up", "--config", config)
	clitest.Write(t, map[string]string{rules: `{"rules":[`})
	configure(t, config, server, `"policy":"rules.json"`)
	waitFor(t, "it says that the rules are broken", func() bool {
		return strings.Contains(r.stderr.String(), "cannot be used, so the earlier servers keep running")
	})
	clitest.Write(t, map[string]string{rules: `{"rules":[{"effect":"deny","tool":"drop"}]}`})
	waitFor(t, "the rules are read", func() bool { return strings.Contains(r.stderr.String(), "the rules changed") })
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
}
