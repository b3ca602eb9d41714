package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/install"
)

// cloned makes a project of somebody else whose lock has a server.
func cloned(t *testing.T, s *packageSet, change func(lock string) string) {
	t.Helper()
	alone(t)
	s.runs(t, "y\n", "add", "npm:@x/echo@1.0.0", "--project").expect(t, exitOK, "Added", "")
	editLock(t, change)
	path, err := stateFile("projects.json")
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	clear(s.installed)
}

func editLock(t *testing.T, change func(lock string) string) {
	t.Helper()
	lock, err := os.ReadFile(install.LockName)
	if err == nil {
		err = os.WriteFile(install.LockName, []byte(change(string(lock))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func withScripts(lock string) string {
	return strings.Replace(lock, `"integrity":`, `"scripts": true, "integrity":`, 1)
}

func TestNothingOfAProjectsLockIsInstalledUnasked(t *testing.T) {
	s := newPackageSet(t)
	cloned(t, s, withScripts)
	for _, args := range [][]string{{"upgrade", "--yes"}, {"upgrade", "echo", "--yes"}, {"install"}, {"install", "echo", "--scripts"}} {
		s.runs(t, "", args...).expect(t, exitConnection, "", "nobody can be asked here")
	}
	s.runs(t, "n\n", "upgrade", "echo").expect(t, exitConnection, "", "runs install scripts")
	if len(s.installed) > 0 {
		t.Fatalf("installed is %v", s.installed)
	}
	s.runs(t, "y\n", "install", "echo").expect(t, exitConnection, "", "--scripts allows it")
	if len(s.installed) > 0 {
		t.Fatalf("installed is %v", s.installed)
	}
	s.runs(t, "", "install", "--scripts").expect(t, exitOK, "is installed", "")
	s.runs(t, "", "upgrade", "--yes").expect(t, exitOK, "echo is 2.0.0 now.", "")
}

func TestWhatAProjectsLockLetsAServerDoIsPartOfTheQuestion(t *testing.T) {
	for _, test := range []struct {
		why, want string
		change    func(lock string) string
	}{
		{"as add locks it", "node ./index.js; is confined to its own package\n", func(lock string) string { return lock }},
		{"scripts", "; runs install scripts; is confined to its own package\n", withScripts},
		{"no sandbox", "; is not confined\n", func(lock string) string { return strings.Replace(lock, `"sandbox": {}`, `"source": "x"`, 1) }},
		{"a profile", "; is confined, but for write ~/, host *.example.com\n", func(lock string) string {
			return strings.Replace(lock, `"sandbox": {}`, `"sandbox": {"write": ["~/"], "hosts": ["*.example.com"]}`, 1)
		}},
		{"another command line", "then it is not confined\n", func(lock string) string {
			write(t, map[string]string{"junction.json": `{"mcpServers": {"echo": {"command": "npx", "args": ["-y", "@x/echo@2.0.0"]}}}`})
			return strings.Replace(lock, `"sandbox": {}`, `"source": "x"`, 1)
		}},
	} {
		s := newPackageSet(t)
		cloned(t, s, test.change)
		s.runs(t, "n\n", "call", "echo", "echo", "message=hi").expect(t, exitConnection, "", test.want)
	}
}

func TestALockThatChangesAfterTheQuestionStartsNothing(t *testing.T) {
	s := newPackageSet(t)
	cloned(t, s, func(lock string) string { return lock })
	a, _ := asking("y\n")
	a.locks.packages = s
	t.Cleanup(func() { _ = a.closeAll() })
	_, entries, err := a.servers()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.consent(t.Context(), entries[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := a.resolve(t.Context(), entries[0]); err != nil {
		t.Errorf("what was agreed to: %v", err)
	}
	editLock(t, func(lock string) string { return strings.Replace(lock, "./index.js", "./evil.js", 1) })
	a.locks.forget(entries[0].definition.Source)
	if _, err := a.resolve(t.Context(), entries[0]); !errors.As(err, new(*consentError)) || !strings.Contains(err.Error(), "has changed since you were asked") {
		t.Errorf("what came meanwhile: %v", err)
	}
	if err := os.Remove(install.LockName); err != nil {
		t.Fatal(err)
	}
	if _, err := a.resolve(t.Context(), entries[0]); !errors.As(err, new(*consentError)) {
		t.Errorf("no lock any more: %v", err)
	}
}
