package main

import (
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestMisspeltMembersOfAnEntryAreReported(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	path := configuration(t, map[string]any{
		"typo": map[string]any{"comand": "npx", "args": []string{"x"}},
		"ok":   map[string]any{"command": argv[0], "args": argv[1:], "heders": map[string]any{}},
	})
	const meant = `comand is ignored; did you mean "command"?`
	for _, args := range []string{"tools", "tools typo", "list", "list typo", "up typo", "ping typo", "call typo x", "chat -p x typo", "tools --json"} {
		got := runs(t, "", append(strings.Fields(args), "--config", path)...)
		if got.code != cli.ExitConnection || strings.Count(got.stderr, meant) != 1 {
			t.Errorf("%s: %+v", args, got)
		}
		if args == "tools --json" && !strings.Contains(got.stdout, `"typo":{"error":{"message":`) {
			t.Errorf("%s", got.stdout)
		}
	}
	runs(t, "", "doctor", "typo", "--config", path).expect(t, cli.ExitToolFailed, meant, "")
	got := runs(t, "", "ping", "ok", "--config", path)
	if got.code != cli.ExitOK || !strings.Contains(got.stderr, `server "ok": heders is ignored; did you mean "headers"?`) || strings.Contains(got.stderr, "typo") {
		t.Errorf("%+v", got)
	}
}

func TestMembersWithoutEffectAreReported(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	path := configuration(t, map[string]any{
		"program": map[string]any{"command": argv[0], "args": argv[1:], "headers": map[string]any{"A": "b"}},
		"other":   map[string]any{"command": argv[0], "args": argv[1:], "oauth": map[string]any{}},
	})
	const want = `server "program": headers has no effect for a server with "command"; remove it`
	for _, args := range []string{"tools", "list program", "ping program", "call program get-nothing", "doctor program"} {
		got := runs(t, "", append(strings.Fields(args), "--config", path)...)
		if got.code != cli.ExitOK || strings.Count(got.stderr, want) != 1 || strings.Contains(got.stderr, "oauth") && args != "tools" && args != "list program" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	verbose := runs(t, "", "tools", "--verbose", "--config", path)
	if strings.Count(verbose.stderr, `server "program": headers: has no effect`) != 1 {
		t.Errorf("%s", verbose.stderr)
	}
}

func TestUpServesNothingOnlyWhereNothingIsWrong(t *testing.T) {
	inFolder(t)
	for data, want := range map[string]string{
		`{}`:                `there is no server to serve: d.json defines no servers; expected {"mcpServers": {NAME: {…}}}`,
		`{"mcpServers":{}}`: `there is no server to serve: d.json defines no servers; expected {"mcpServers": {NAME: {…}}}`,
		`{"mcpServers":{"a":{"command":"x","disabled":true}}}`: "there is no server to serve: all of d.json are disabled",
	} {
		if err := os.WriteFile(clitest.In(t, "d.json"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := serving(t, "up", "--config", "d.json"); !strings.Contains(r.stderr.String(), want) {
			t.Errorf("%s: %s", data, r.stderr)
		}
	}
	for data, want := range map[string]string{
		`{"mcpServers":["a"]}`: "there is no server to serve",
		`{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`: `server "a": is defined twice, both times on line 1, so neither is used; rename or remove one`,
		``: `d.json: the file is empty`,
	} {
		if err := os.WriteFile(clitest.In(t, "d.json"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := runs(t, "", "up", "--http", "127.0.0.1:0", "--config", "d.json"); got.code != cli.ExitConnection || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", data, got)
		}
	}
	path := configuration(t, map[string]any{"typo": map[string]any{"comand": "npx"}})
	if got := runs(t, "", "up", "--stdio", "--config", path); got.code != cli.ExitConnection || !strings.Contains(got.stderr, "there is no server to serve") {
		t.Errorf("%+v", got)
	}
}
