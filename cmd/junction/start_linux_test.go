package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// onTerminal runs a command line of junction on a terminal, with all folders in home, and returns the
// lines that the terminal shows, without spaces around them.
func onTerminal(t *testing.T, home string, args ...string) string {
	t.Helper()
	keyboard, screen := clitest.PseudoTerminal(t)
	cmd := clitest.PlaceOf(t).Command(t.Context(), self(t)[0], args...)
	cmd.Dir = home
	cmd.Env = append(clitest.PlaceOf(t).Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen.Close()
	defer time.AfterFunc(20*time.Second, func() { keyboard.Close() }).Stop()
	var shown []string
	for lines := bufio.NewScanner(keyboard); lines.Scan(); {
		shown = append(shown, strings.TrimSpace(lines.Text()))
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return strings.Join(shown, "\n")
}

// On a terminal junction alone shows what is configured, and starts none of it.
func TestJunctionAloneOnATerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(`{"mcpServers": {"every": {"command": "touch", "args": ["started"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	text := onTerminal(t, home)
	for _, want := range []string{"1 server\n~/mcp.json: every\n", "Running\nno junction up\n", "\njunction --help "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "started")); err == nil {
		t.Error("the server was started")
	}
}

// A call that goes directly to a server is not checked, and its user reads so if there is something to check it.
func TestDirectCallsNameTheRulesTheyBypass(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`{"policy": "policy.json"}`:                                          "(directly to calc: the rules of junction up are not applied)\n",
		`{"servers": {"calc": {"hide": ["echo"]}}}`:                          "(directly to calc: the settings of junction up are not applied)\n",
		`{"servers": {"calc": {"tools": {"echo": {"hide": true}}}}}`:         "(directly to calc: the settings of junction up are not applied)\n",
		`{"servers": {"other": {"hide": ["echo"]}, "calc": {"tags": [""]}}}`: "",
	} {
		home := t.TempDir()
		config := `{"mcpServers": {"calc": {"command": ` + quoteJSON(self(t)[0]) + `, "args": ["serve", "everything"], "env": {"` + asProgram + `": "1"}}}, "junction": ` + settings + `}`
		if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		text := onTerminal(t, home, "call", "calc", "add", "a=1", "b=2", "--config", "mcp.json")
		if !strings.Contains(text, `{"sum":3}`) || strings.Contains(text, "directly to") != (want != "") || !strings.Contains(text+"\n", want) {
			t.Errorf("%s: it shows\n%s", settings, text)
		}
	}
}

// With a connected host junction alone shows what to do with the connection, not how to make one.
func TestJunctionAloneShowsConnectedHosts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(`{"mcpServers": {"every": {"command": "touch", "args": ["started"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := onTerminal(t, home, "host", "connect", "cursor", "--yes"); !strings.Contains(text, "Connected: ~/.cursor/mcp.json") {
		t.Fatal(text)
	}
	text := onTerminal(t, home)
	for _, want := range []string{"\nConnected: Cursor\njunction does not run now: Cursor starts it when it runs\n", "\njunction traffic ", "\njunction host disconnect cursor "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	text = onTerminal(t, home, "host", "disconnect", "cursor")
	for _, want := range []string{"\nStill in ~/junction: mcp.json, taps/", ". If you no longer use Junction, remove this folder with its settings, rules, logs and keys."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if text := onTerminal(t, home); strings.Contains(text, "Connected") || !strings.Contains(text, "junction host connect cursor") {
		t.Errorf("after disconnect it shows\n%s", text)
	}
}

// A terminal shows calls and decisions of the audit log; lines that only the operation of a gateway causes are counted.
func TestATerminalShowsTheCallsOfTheLog(t *testing.T) {
	clitest.Alone(t)
	writeLog(t,
		&audit.Record{Kind: audit.KindAdmin, Event: "start", Files: []byte(`{"mcp.json":"` + strings.Repeat("0123456789abcdef", 4) + `"}`)},
		&audit.Record{Kind: audit.KindCall, Method: "tools/call", Name: "files__read", Outcome: "ok"},
		&audit.Record{Kind: audit.KindAdmin, Event: "reload", Outcome: "ok"},
		&audit.Record{Kind: audit.KindAdmin, Event: "stop"})
	folder := clitest.In(t, "log")
	home := t.TempDir()
	const others = " of other kinds, such as checkpoints; --kind all shows them."
	for _, test := range []struct {
		flags []string
		shows []string
		hides []string
	}{
		{nil, []string{"call ok  files__read", "admin reload ok", others}, []string{"checkpoint  ", "admin start"}},
		{[]string{"--kind", "all"}, []string{"call ok  files__read", "admin start", `"0123456789ab…"`, "admin stop", "checkpoint"}, []string{others, "0123456789abc"}},
		{[]string{"--event", "start"}, []string{"admin start"}, []string{others, "files__read"}},
		{[]string{"--json"}, []string{`"event":"start"`, `"kind":"checkpoint"`, strings.Repeat("0123456789abcdef", 4)}, []string{others}},
		{[]string{"--limit", "1"}, []string{"admin reload ok", others}, []string{"files__read"}},
	} {
		text := onTerminal(t, home, append([]string{"audit", "query", folder}, test.flags...)...)
		for _, want := range test.shows {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is not in\n%s", test.flags, want, text)
			}
		}
		for _, not := range test.hides {
			if strings.Contains(text, not) {
				t.Errorf("%v: %q is in\n%s", test.flags, not, text)
			}
		}
	}
	// Scripts get all lines.
	got := runs(t, "", "audit", "query", folder)
	if got.expect(t, cli.ExitOK, "checkpoint", ""); !strings.Contains(got.stdout, "admin start") || strings.Contains(got.stdout+got.stderr, others) {
		t.Errorf("%+v", got)
	}
}
