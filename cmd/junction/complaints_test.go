package main

import (
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Secrets of Junction that are replaced make nothing unreadable that was kept: keys of users are hashes, the token
// of --admin protects nothing that is stored, and what a key of the audit log signed is verified by its public half.
func TestContextForge6113AReplacedSecretMakesNothingUnreadable(t *testing.T) {
	clitest.Alone(t)
	state := t.TempDir()
	clitest.Setenv(t, "JUNCTION_STATE", state)
	created := runs(t, "", "key", "create", "ann")
	key := strings.TrimSpace(created.stdout)
	call := func(folder string) {
		t.Helper()
		r := serving(t, "up", "--tools", "all", "--auth", "keys", "--admin", "127.0.0.1:0", "--audit="+folder, "everything")
		runs(t, "", "call", r.url, "everything__add", "a=1", "b=2", "--header", "Authorization: Bearer "+key).expect(t, cli.ExitOK, "3", "")
		if code := r.stop(); code != cli.ExitOK {
			t.Errorf("exit code %d: %s", code, r.stderr)
		}
	}
	call("log")
	public := strings.TrimSpace(runs(t, "", "audit", "key").stdout)
	for _, secret := range []string{"audit.key", "admin.token"} {
		if err := os.Remove(state + "/" + secret); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, "", "up", "--http", "127.0.0.1:0", "--audit=log", "everything").expect(t, cli.ExitConnection, "", "the audit log was written with another key: name another folder with --audit=FOLDER")
	call("log2")
	runs(t, "", "audit", "verify", "log2").expect(t, cli.ExitOK, "it is unchanged", "")
	runs(t, "", "audit", "verify", "log", "--key", public).expect(t, cli.ExitOK, "it is unchanged", "")
	runs(t, "", "audit", "query", "log", "--kind", "call").expect(t, cli.ExitOK, "everything__add", "")
	runs(t, "", "audit", "verify", "log").expect(t, cli.ExitToolFailed, "the audit log was written with another key; if that is right, verify it with the public key of that log", "")
}
