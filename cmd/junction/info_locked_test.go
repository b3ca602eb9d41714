package main

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestInfoShowsLocks(t *testing.T) {
	s := newPackageSet(t)
	clitest.Alone(t)
	s.runs(t, "y\n", "add", "npm:@x/echo@1.0.0").expect(t, cli.ExitOK, "Added", "")
	for _, word := range []string{"npm:@x/echo", "npm:@x/echo@1.0.0"} {
		s.runs(t, "", "info", word).expect(t, cli.ExitOK, "echo, which junction.lock says is npm @x/echo 1.0.0: ", "")
	}
	s.runs(t, "", "info", "npm:@x/echo", "--json").expect(t, cli.ExitOK, `{"locked":{"echo":{`, "")
	s.runs(t, "", "info", "npm:@x/echo@2.0.0").expect(t, cli.ExitUsage, "", "npm:@x/echo@2.0.0 is a package, and it is not locked")
	s.runs(t, "", "info", "echo", "--registry", "http://127.0.0.1:1").expect(t, cli.ExitOK, "echo, which junction.lock says is npm @x/echo 1.0.0: ", "this is the locked version")
	if got := s.runs(t, "", "info", "other", "--registry", "http://127.0.0.1:1"); got.code != cli.ExitConnection {
		t.Errorf("%+v", got)
	}
}
