package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
)

func TestTheFirstScreenFits(t *testing.T) {
	t.Parallel()
	var many []launch.Entry
	for i := range 40 {
		name := fmt.Sprintf("服务器-%d", i)
		many = append(many, launch.Entry{Name: name, Definition: &config.Definition{Name: name, Source: fmt.Sprintf("/configurations/%d.json", i%5)}})
	}
	var running []cli.Instance
	for i := range 5 {
		running = append(running, cli.Instance{PID: i, Endpoint: "http://127.0.0.1:7717/mcp", Summary: strings.Repeat("many servers, ", 20)})
	}
	own := []launch.Entry{{Name: "everything"}}
	cursor, byURL := []connectedHost{{"Cursor", "junction host disconnect cursor", true}}, []connectedHost{{"Windsurf", "junction host disconnect windsurf", false}}
	for _, test := range []struct {
		entries []launch.Entry
		fault   string
		hosts   []connectedHost
		running []cli.Instance
		shows   []string
	}{
		{own, "", nil, nil, []string{"1 server\n  junction itself, to try: everything\n", "Running\n  no junction up\n", "  junction server add npm:PACKAGE ", "  junction host connect cursor ", "  junction up "}},
		{many[:1], "", nil, running[:1], []string{"1 server\n  /configurations/0.json: 服务器-0\n", "  junction up at http://127.0.0.1:7717/mcp (process 0): many", "  junction chat ", "  junction traffic "}},
		{many, strings.Repeat("a fault ", 40), nil, running, []string{"40 servers\n", "  and 2 more\n  ! a fault", "  and 3 more\n", "  junction doctor "}},
		{own, "a fault", nil, nil, []string{"  ! a fault\n", "  junction doctor "}},
		{nil, "a fault", nil, nil, []string{"0 servers\n  ! a fault\n"}},
		{many[:1], "", cursor, nil, []string{"\nConnected: Cursor\n  junction does not run now: Cursor starts it when it runs\n", "  junction traffic ", "  junction host disconnect cursor ", "  junction doctor "}},
		{many[:1], "", cursor, running[:1], []string{"\nConnected: Cursor\n  junction up at http://127.0.0.1:7717/mcp (process 0): many"}},
		{many[:1], "", byURL, nil, []string{"\nConnected: Windsurf\n  no junction up runs: junction up serves them\n", "  junction host disconnect windsurf "}},
		{many, strings.Repeat("a fault ", 40), slices.Concat(cursor, byURL, cursor), running, []string{"\nConnected: Cursor, Windsurf\n", "  junction doctor "}},
	} {
		for _, width := range []int{40, 80} {
			got := startText(clitest.PlaceOf(t), test.entries, test.fault, test.hosts, test.running, width)
			for line := range strings.Lines(got) {
				if terminal.Width(strings.TrimSuffix(line, "\n")) > width {
					t.Errorf("at %d columns: %s", width, line)
				}
			}
			if n := strings.Count(got, "\n"); n > 20 || !strings.Contains(got, "\n  junction --help") {
				t.Errorf("%d lines:\n%s", n, got)
			}
			if len(test.hosts) > 0 && strings.Contains(got, "host connect") {
				t.Errorf("it wants to connect a host that is connected:\n%s", got)
			}
			for _, want := range test.shows {
				if width == 80 && !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
		}
	}
}

// Where no terminal is, there is help.
func TestJunctionAlone(t *testing.T) {
	t.Parallel()
	if alone, help := apart(t, ""), apart(t, "--help"); alone != help || alone.code != cli.ExitOK || !strings.HasPrefix(alone.stdout, "Junction runs, ") {
		t.Errorf("got %+v\nwant %+v", alone, help)
	}
}
