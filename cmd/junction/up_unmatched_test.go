package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestUnknownNamesInRulesAndSettingsAreReported(t *testing.T) {
	inFolder(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(clitest.In(t, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules.json", `{"rules": [
		{"effect": "deny", "server": "everything", "tool": "everything__add"},
		{"effect": "deny", "tool": "everything__f*"},
		{"effect": "deny", "server": "every*", "tool": "ecko"},
		{"effect": "deny", "server": "nosuch"},
		{"effect": "deny", "server": "everything", "tool": "say"},
		{"effect": "deny", "server": "everything", "tool": "ad*"},
		{"effect": "deny", "server": "memory", "tool": "anything"},
		{"effect": "deny", "tool": "*", "when": "args.x == 1"}], "default": "allow"}`)
	argv := strings.Join(self(t, "serve", "everything"), `","`)
	config := func(hide string) {
		write("mcp.json", `{"mcpServers": {"everything": {"command": "env", "args": ["`+argv+`"], "start": "eager"}}, "junction": {"tools": "all", "policy": "rules.json",
			"servers": {"everything": {"hide": [`+hide+`], "only": ["*"], "tools": {"nosuchtool": {"title": "x"}, "echo": {"name": "say"}}}},
			"profiles": {"p": {"only": ["everything__*", "nothing__*"], "hide": ["say", "add"]}}}}`)
	}
	config(`"ad_*", "fail", "tag:nope"`)
	r := serving(t, "up", "--config", "mcp.json")
	await := func(lines ...string) {
		t.Helper()
		for deadline := time.Now().Add(guardTime); ; time.Sleep(50 * time.Millisecond) {
			missing := ""
			for _, line := range lines {
				if !strings.Contains(r.stderr.String(), line+"\n") {
					missing = line
				}
			}
			if missing == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not in %s", missing, r.stderr)
			}
		}
	}
	wanted := "; rules use the server's own name; did you mean "
	said := []string{
		`(rules.json:2): no tool of server "everything" is called "everything__add"` + wanted + `"add"?`,
		`(rules.json:3): no tool of server "everything" is called "everything__f*"` + wanted + `"fail"?`,
		`(rules.json:4): no tool of server "everything" is called "ecko"; did you mean "echo"?`,
		`(rules.json:5): no server "nosuch" is configured here`,
		`(rules.json:6): no tool of server "everything" is called "say"` + wanted + `"echo"?`,
		`junction: mcp.json: junction.servers.everything.hide: "ad_*" matches no tool, resource or prompt of the server; did you mean "add"?`,
		`junction: mcp.json: junction.servers.everything.hide: "tag:nope" matches no tool, resource or prompt of the server`,
		`junction: mcp.json: junction.servers.everything.tools: the server has no tool "nosuchtool"`,
		`junction: mcp.json: junction.profiles.p.only: "nothing__*" matches no name that clients see`,
		`junction: mcp.json: junction.profiles.p.hide: "add" matches no name that clients see`,
	}
	await(said...)
	config(`"eccho"`)
	await(`junction: mcp.json: junction.servers.everything.hide: "eccho" matches no tool, resource or prompt of the server; did you mean "echo"?`)
	text := r.stderr.String()
	for _, line := range said {
		if n := strings.Count(text, line); n != 1 {
			t.Errorf("at the start and when the files are read again: %q is said %d times: %s", line, n, text)
		}
	}
	config(`"ad_*"`)
	waitForTimes(t, r.stderr, `hide: "ad_*" matches no tool`, 2) // it was mended meanwhile
	for _, rule := range []string{"rules.json:7)", "rules.json:8)", "rules.json:9)", `"fail"`, `hide: "say"`} {
		if strings.Contains(text, rule+":") || strings.Contains(text, rule+" matches") {
			t.Errorf("%s is said to match nothing: %s", rule, text)
		}
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	checked := runs(t, "", "policy", "list", "--config", "mcp.json", "--policy", "rules.json")
	for _, want := range []string{`: no tool of server "everything" is called "everything__add"` + wanted + `"add"?`, `: no server "nosuch" is configured here`, `: no tool of server "everything" is called "say"` + wanted + `"echo"?`} {
		if !strings.Contains(checked.stderr, want) {
			t.Errorf("%q is not in %s", want, checked.stderr)
		}
	}
}

// waitForTimes waits until a text was printed so often.
func waitForTimes(t *testing.T, b *clitest.SafeBuffer, text string, times int) {
	t.Helper()
	for deadline := time.Now().Add(guardTime); strings.Count(b.String(), text) < times; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was not printed %d times: %s", text, times, b)
		}
	}
}
