//go:build unix

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
)

// A command uses a server with secrets where junction up has it with the same ones, and no other.
func TestCallUsesServerWithTheSameSecrets(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	starts, secret := filepath.Join(dir, "starts"), filepath.Join(dir, "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("production")
	argv := self(t, "serve", "memory", "--file", filepath.Join(dir, "memory.db"))
	const script = `echo start >>"$1"; shift; exec "$@"`
	config := configuration(t, map[string]any{"memory": map[string]any{"command": "sh", "args": append([]string{"-c", script, "sh", starts}, argv...),
		"env": map[string]any{"TOKEN": "${file:" + secret + "}"}}})
	serving(t, "up", "--config", config)
	waitFor(t, "connected", func() bool { return firstShown(t).Servers[0].State == "connected" })
	count := func() int {
		text, err := os.ReadFile(starts)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "start")
	}
	folder, err := cli.StatusFolder(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(folder, cli.EntryKeyName)
	for _, step := range []struct {
		name  string
		do    func()
		start bool
	}{
		{"the same secret", func() {}, false},
		{"another secret", func() { write("test") }, true},
		{"the same secret again", func() { write("production") }, false},
		{"a new key", func() {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a key that others may read", func() {
			if err := os.Chmod(key, 0o644); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		step.do()
		before := count()
		runs(t, "", "call", "memory", "read_graph", "--config", config).expect(t, cli.ExitOK, "entities", "")
		if started := count() > before; started != step.start {
			t.Errorf("%s: a server was started: %t", step.name, started)
		}
	}
	if status := runs(t, "", "status", "--json"); strings.Contains(status.stdout, "production") || status.code != cli.ExitOK {
		t.Errorf("%+v", status)
	}
}

// The digest is that of the server that was reached last: of one that cannot be started, and of an entry that takes the place of
// another, there is none.
func TestDigestIsOfTheServerThatWasReached(t *testing.T) {
	project := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(project, "secret"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entryWith := func(command string, args ...string) launch.Entry {
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"db": map[string]any{"command": command, "args": append([]string{}, args...), "env": map[string]string{"TOKEN": "${file:secret}"}}}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := config.Parse(filepath.Join(project, "junction.json"), text, config.Options{})
		if err != nil || len(f.Servers) != 1 {
			t.Fatal(err)
		}
		return launch.Entry{Name: "db", Definition: f.Servers[0]}
	}
	a := &cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard)}}
	v := &up.Served{App: a}
	open := func(e launch.Entry) gateway.Upstream {
		t.Helper()
		u, err := v.Source().Open(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	reach := func(e launch.Entry) { // or find that it cannot be
		t.Helper()
		g := gateway.New(gateway.Options{})
		t.Cleanup(func() { _ = g.Close() })
		if err := g.Add("db", open(e)); err != nil {
			t.Fatal(err)
		}
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	missing := entryWith("/no/such/program")
	open(missing)
	expected, _ := a.Digests.Of("db")
	write("second")
	reach(missing)
	if d, ok := a.Digests.Of("db"); ok && d != expected {
		t.Error("the digest is that of a server that could not be started")
	}
	works := self(t, "serve", "time")
	reach(entryWith(works[0], works[1:]...))
	reached, ok := a.Digests.Of("db")
	if !ok || reached == expected {
		t.Errorf("after it was reached there is one: %t", ok)
	}
	open(missing)
	if _, ok := a.Digests.Of("db"); ok {
		t.Error("the entry that takes its place has a digest while the server may run still")
	}
}
