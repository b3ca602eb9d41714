package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/spf13/cobra"
)

// asBrowser makes the test binary be the browser of a user who logs in and allows everything.
const asBrowser = "browse for junction"

// browse logs in at a page, as a user whose name and password are in the environment.
func browse(page string) int {
	b := formfill.New(map[string]string{"username": os.Getenv("TEST_USER"), "password": os.Getenv("TEST_PASSWORD"), "decision": "allow"}, nil)
	if _, err := b.Visit(context.Background(), page, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// settingsFile writes a configuration with the member "junction".
func settingsFile(t *testing.T, servers, junction string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junction.json")
	if err := os.WriteFile(clitest.In(t, file), []byte(`{"mcpServers":`+servers+`,"junction":`+junction+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWaysInThatMakeNoSenseAreRefused(t *testing.T) {
	clitest.Alone(t)
	for args, want := range map[string]string{
		"--auth what":                             "--auth: expected none, keys, local, or the https URL of an authorization server, got \"what\"",
		"--auth keys,what":                        `got "what"`,
		"--auth http://login.example.com":         "--auth: expected",
		"--auth https://login.example.com?x=y":    "--auth: expected",
		"--auth local --stdio":                    "--auth goes with --http",
		"--public-url https://tools.example.com":  "--public-url goes with --auth",
		"--auth local --public-url tools":         "--public-url: expected an origin",
		"--auth local --public-url https://a/b":   "--public-url: expected an origin",
		"--auth local --public-url http://a.b":    "sends passwords and tokens, so it needs https",
		"--auth local --http 0.0.0.0:0":           "needs --public-url",
		"--auth https://a.example --http [::]:0":  "needs --public-url",
		"--auth local --http unix:junction.socks": "needs --public-url",
	} {
		got := runs(t, "", append([]string{"up", "everything"}, append(strings.Fields(args), map[bool][]string{true: nil, false: {"--http", "127.0.0.1:0"}}[strings.Contains(args, "--http") || strings.Contains(args, "--stdio")]...)...)...)
		got.expect(t, cli.ExitUsage, "", want)
	}
}

func TestUselessPasswordsAreNotRequested(t *testing.T) {
	clitest.Alone(t)
	runs(t, "a password of ann\n", "user", "add", "ann").expect(t, cli.ExitOK, "Added: ann.", "")
	for _, test := range []struct {
		command func(*cli.App) *cobra.Command
		name    string
		want    string // empty: it can be used
	}{
		{policies.UserAddCommand, "ann", `there is a user "ann" already; junction user passwd changes the password`},
		{policies.UserPasswdCommand, "ben", `there is no such user: "ben"; junction user list lists them`},
		{policies.UserPasswdCommand, "ann", ""},
		{policies.UserAddCommand, "ben", ""},
	} {
		a, seen := clitest.Asking(t, "another password\nanother password\n")
		cmd := test.command(a)
		cmd.SetArgs([]string{test.name})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		if got := fmt.Sprint(err); test.want != "" && got != test.want || test.want == "" && err != nil {
			t.Errorf("%s %s: got %q, want %q", cmd.Name(), test.name, got, test.want)
		}
		if asked := strings.Contains(seen.String(), "Password: "); asked != (test.want == "") {
			t.Errorf("%s %s: the password was asked for: %t", cmd.Name(), test.name, asked)
		}
	}
}
