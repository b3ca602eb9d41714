package server_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/server"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/sandbox"
)

func TestUnconfinedPartsOfAProfileAreShown(t *testing.T) {
	bare := sandbox.State{Confined: []string{"files"}, Unconfined: map[string]string{"network by host names": "no namespaces", "other processes": "can be read", "processor time": "no group"}}
	none := sandbox.State{Unconfined: map[string]string{"files": "no sandbox"}}
	locked := &install.LockedServer{}
	for _, test := range []struct {
		why, want, without string
		k                  server.StoredProfile
		state              sandbox.State
	}{
		{"a lock", "Missing here:\n  other processes: can be read\n", "processor time", server.StoredProfile{Locked: locked}, bare},
		{"a lock with hosts", "  network by host names: no namespaces\n", "processor time", server.StoredProfile{Locked: locked, Profile: &sandbox.Profile{Hosts: []string{"a.org"}}}, bare},
		{"settings that allow it", "Missing here:\n", "processor time", server.StoredProfile{Weaker: true}, bare},
		{"a system without a sandbox", "echo is not confined on this system, although ", "is confined, by", server.StoredProfile{Locked: locked}, none},
		{"a lock where nothing is missing", "echo is confined, by ", "Missing", server.StoredProfile{Locked: locked}, sandbox.State{Confined: []string{"files"}}},
		{"settings that start nothing weaker", "echo is confined, by ", "Missing", server.StoredProfile{}, bare},
	} {
		var stdout clitest.SafeBuffer
		a := &cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: terminal.NewScreen(&stdout)}}
		test.k.Entry = launch.Entry{Name: "echo", Definition: &config.Definition{}}
		if test.k.Profile == nil {
			test.k.Profile = &sandbox.Profile{}
		}
		server.ShowProfile(a, &test.k, test.state)
		if got := stdout.String(); !strings.Contains(got, test.want) || strings.Contains(got, test.without) {
			t.Errorf("%s: shown is %s", test.why, got)
		}
	}
}
