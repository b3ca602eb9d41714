package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/install"
)

// editFile writes another text into the configuration or its lock.
func editFile(t *testing.T, name, old, now string) {
	t.Helper()
	path := clitest.In(t, filepath.Join("junction", name))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, now)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAServerStaysConfinedWhenItsEntryWasEditedByHand(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes").expect(t, cli.ExitOK, "Added", "")
	s.runs(t, "", "sandbox", "allow", "echo", "--host", "api.example.com").expect(t, cli.ExitOK, "+ host", "")
	editFile(t, "mcp.json", "@1.0.0", "@2.0.0")
	s.runs(t, "", "upgrade", "echo", "--yes", "--no-sandbox").expect(t, cli.ExitUsage, "", "was locked before")
	s.runs(t, "", "upgrade", "echo", "--yes").expect(t, cli.ExitOK, "its program is confined, except for host api.example.com", "")
	s.runs(t, "", "sandbox", "show", "echo").expect(t, cli.ExitOK, "echo is confined", "")
	if _, lock := pair(t); !strings.Contains(lock, `"api.example.com"`) {
		t.Errorf("the lock has another profile: %s", lock)
	}
}

func TestAFileThatAnArgumentNamesIsReadAndNotWritten(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.versions["@x/api@1.0.0"] = self(t, "serve", "openapi", "--from")
	file := filepath.Join(t.TempDir(), "api.json")
	clitest.Write(t, map[string]string{file: `{"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "servers": [{"url": "https://example.com"}], "paths": {"/pets": {"get": {"operationId": "listPets", "responses": {}}}}}`})
	s.runs(t, "", "add", "npm:@x/api@1.0.0", "--yes", "--", file).expect(t, cli.ExitOK, "is confined, except for read "+file, "")
	s.runs(t, "", "tools", "api").expect(t, cli.ExitOK, "listPets", "")
	s.runs(t, "", "sandbox", "show", "api").expect(t, cli.ExitOK, "  read   "+file+"\n", "")
	clitest.Write(t, map[string]string{"junction/mcp.json": `{"mcpServers": {"api": {"command": "npx", "args": ["-y", "@x/api@1.0.0", ` + quoteJSON(file) + `]}}}`})
	_ = os.Remove(clitest.In(t, filepath.Join("junction", install.LockName)))
	s.runs(t, "", "upgrade", "api", "--yes").expect(t, cli.ExitOK, "its program is confined, except for read "+file, "")
}

func TestAServerThatWasNeverLockedIsConfined(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.versions["@x/files@1.0.0"] = self(t, "serve", "filesystem")
	folder := t.TempDir()
	for _, test := range []struct{ flag, want string }{{"--yes", "files is confined"}, {"--no-sandbox", "files is not confined"}} {
		clitest.Write(t, map[string]string{"junction/mcp.json": `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@x/files@1.0.0", "--root", ` + quoteJSON(folder) + `]}}}`})
		_ = os.Remove(clitest.In(t, filepath.Join("junction", install.LockName)))
		s.runs(t, "", "upgrade", "files", "--yes", test.flag).expect(t, cli.ExitOK, "files is locked", "")
		s.runs(t, "", "sandbox", "show", "files").expect(t, cli.ExitOK, test.want, "")
	}
}

func TestARehearsalIsConfinedAsTheSettingsSay(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.versions["@x/files@1.0.0"] = self(t, "serve", "filesystem")
	folder := t.TempDir()
	config := func(profile string) {
		clitest.Write(t, map[string]string{"junction/mcp.json": `{"mcpServers": {}, "junction": {"servers": {"files": {"sandbox": {` + profile + `}}}}}`})
	}
	config("")
	s.runs(t, "", "add", "npm:@x/files@1.0.0", "--yes", "--", "--root", folder).expect(t, cli.ExitConnection, "", "does not start")
	config(`"read": [` + quoteJSON(folder) + `]`)
	s.runs(t, "", "add", "npm:@x/files@1.0.0", "--yes", "--", "--root", folder).expect(t, cli.ExitOK, "by your settings", "")
}
