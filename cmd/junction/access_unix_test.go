//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withBrowser has commands open pages in the browser of a user.
func withBrowser(t *testing.T, user, password string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "browser")
	line := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' \"$@\"\n", self(t)[0], asBrowser)
	if err := os.WriteFile(script, []byte(line), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JUNCTION_BROWSER", script)
	t.Setenv("TEST_USER", user)
	t.Setenv("TEST_PASSWORD", password)
}

func TestAUserLogsInToUpAndCallsTools(t *testing.T) {
	alone(t)
	runs(t, "a long password\n", "user", "add", "ann").expect(t, exitOK, "Added: ann.", "")
	r := serving(t, "up", "--auth", "local", "--audit=log", "everything")
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, exitConnection, "", "junction login "+r.url)
	withBrowser(t, "ann", "a long password")
	runs(t, "", "login", r.url).expect(t, exitOK, "Logged in: "+r.url, "")
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, exitOK, "3", "")
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	calls := runs(t, "", "audit", "query", "log", "--kind", "call", "--json")
	if !strings.Contains(calls.stdout, `"ann"`) {
		t.Errorf("the audit log names nobody: %s", calls.stdout)
	}
}
