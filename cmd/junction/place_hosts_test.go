package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

func TestHostsAreThoseOfThePlace(t *testing.T) {
	clitest.NoState(t)
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Setenv(t, "HOME", home)
	clitest.Setenv(t, "USERPROFILE", home)
	for _, command := range []string{"connect", "disconnect", "tap", "import"} {
		runs(t, "", "host", command).expect(t, cli.ExitUsage, "", "found here: cursor")
	}
	l := &up.LiveUp{Served: &up.Served{App: &cli.App{Place: clitest.PlaceOf(t)}}}
	if hosts := l.Hosts(); len(hosts) != 1 || hosts[0].Name != "Cursor" {
		t.Errorf("the live screen finds %v", hosts)
	}
}

func TestRootsAreThoseOfThePlace(t *testing.T) {
	clitest.NoState(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.Chdir(t, folder)
	runs(t, "", "call", "everything", "echo", "message=hi", "--root", "work").expect(t, cli.ExitOK, "hi", "")
}
