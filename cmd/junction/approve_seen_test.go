package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Definitions that junction up --review changes lets through were not shown to the user: chat asks about them in this folder and in others, and junction server approve
// lists it; that is an approval.
func TestSeenDefinitionsAreNotApproved(t *testing.T) {
	clitest.NoState(t)
	config := configuration(t, map[string]any{"kept": map[string]any{"command": "sh", "args": append([]string{"-c", `exec "$@"`, "sh"},
		self(t, "serve", "memory", "--file", filepath.Join(t.TempDir(), "memory.db"))...)}})
	r := serving(t, "up", "--tools", "all", "--review", "changes", "--config", config)
	tools := strings.Count(listedNames(t, runs(t, "", "tools", r.url, "--json").stdout), "kept__")
	runs(t, "", "call", r.url, "kept__read_graph").expect(t, cli.ExitOK, "entities", "")
	if got := runs(t, "", "status"); strings.Contains(got.stdout, "Withheld") {
		t.Errorf("what is let through is withheld: %s", got.stdout)
	}
	r.stop()
	runs(t, "", "approve", "--config", config).expect(t, cli.ExitOK, "kept", "")
	_, counted, _ := strings.Cut(runs(t, "", "approve", "--config", config).stdout, " new (")
	counted, _, _ = strings.Cut(counted, ")")
	asked := func(when string) {
		t.Helper()
		got := runs(t, "", "chat", "kept", "--config", config, "--no-save", "-p", "hello")
		if counted == "" || !strings.Contains(got.stderr, " of its definitions are new or changed ("+counted+", ") {
			t.Errorf("%s: approve counts %q, and chat says: %s", when, counted, got.stderr)
		}
		if n := newDefinitions(got.stderr); n < tools {
			t.Errorf("%s: %d definitions are new, want all of %d tools among them: %s", when, n, tools, got.stderr)
		}
	}
	asked("in this folder")
	clitest.Chdir(t, t.TempDir())
	asked("in another folder")
	listed := runs(t, "", "approve", "kept", "--config", config).stderr
	_, rest, _ := strings.Cut(listed, "junction server approve kept@")
	hash, _, _ := strings.Cut(rest, " ")
	runs(t, "", "approve", "kept@"+hash, "--config", config).expect(t, cli.ExitOK, "Approved for server \"kept\"", "")
	runs(t, "", "approve", "--config", config).expect(t, cli.ExitOK, "waits for approval.", "")
	if n := newDefinitions(runs(t, "", "chat", "kept", "--config", config, "--no-save", "-p", "hello").stderr); n >= tools {
		t.Errorf("approved, and %d definitions are new", n)
	}
}

// newDefinitions is how many definitions chat -p withholds, as it says.
func newDefinitions(said string) int {
	before, _, found := strings.Cut(said, " of its definitions are new or changed")
	if !found {
		return 0
	}
	n := 0
	for _, digit := range before[strings.LastIndexByte(before, ' ')+1:] {
		n = n*10 + int(digit-'0')
	}
	return n
}
