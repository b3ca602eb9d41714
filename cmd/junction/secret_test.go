package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/launch"
)

// A secret is kept, reaches the server, and is in no file, list, error or status.
func TestSecretsReachServersAndNothingElse(t *testing.T) {
	inFolder(t)
	const value = "very-private-value"
	runs(t, "", "secret", "list").expect(t, cli.ExitOK, "", "there are no secrets")
	runs(t, value+"\n", "secret", "set", "api").expect(t, cli.ExitOK, "", "${secret:api} in a configuration now stands for this secret")
	runs(t, "x", "secret", "set", "other.one").expect(t, cli.ExitOK, "", "")
	runs(t, "", "secret", "list").expect(t, cli.ExitOK, "api\nother.one\n", "")
	runs(t, "", "secret", "list", "--json").expect(t, cli.ExitOK, `{"secrets":["api","other.one"]}`, "")
	if err := os.WriteFile(clitest.In(t, "token"), []byte("private-too\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	argv, err := json.Marshal(self(t, "serve", "filesystem", "--root", "${secret:api}/${file:token}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(clitest.In(t, filepath.Join(value, "private-too")), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, filepath.Join(value, "private-too", "found.txt")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, "servers.json"), []byte(`{"mcpServers": {"files": {"command": "env", "args": `+string(argv)+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "call", "files", "list-folder", "path=.", "--config", "servers.json").expect(t, cli.ExitOK, "found.txt", "")
	checked := runs(t, "", "doctor", "--config", "servers.json")
	checked.expect(t, cli.ExitOK, "secret:api, file:token", "")
	listed := runs(t, "", "list", "--config", "servers.json", "--json")
	if all := checked.stdout + checked.stderr + listed.stdout + listed.stderr; strings.Contains(all, value) || strings.Contains(all, "private-too") {
		t.Errorf("a secret is shown: %s", all)
	}
	folder, err := clitest.PlaceOf(t).State("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state.db", "state.db-wal"} {
		if data, err := os.ReadFile(filepath.Join(folder, name)); err == nil && strings.Contains(string(data), value) {
			t.Errorf("%s has the secret as it is", name)
		}
	}

	runs(t, "", "secret", "remove", "api").expect(t, cli.ExitOK, "", "")
	runs(t, "", "secret", "remove", "api").expect(t, cli.ExitConnection, "", `there is no secret "api"`)
	runs(t, "", "call", "files", "list-folder", "path=.", "--config", "servers.json").expect(t, cli.ExitConnection, "", "to keep it: junction secret set api")
	runs(t, "", "doctor", "--config", "servers.json").expect(t, cli.ExitToolFailed, "fix: to keep the secret, run junction secret set NAME", "")
	for _, args := range [][]string{{"set"}, {"set", "a b"}, {"set", "a/b"}, {"set", "empty"}, {"remove"}, {"set", "a", "b"}} {
		runs(t, "", append([]string{"secret"}, args...)...).expect(t, cli.ExitUsage, "", "")
	}
	runs(t, strings.Repeat("x", launch.MaxSecret+1), "secret", "set", "large").expect(t, cli.ExitUsage, "", "more than 64 KiB")
}
