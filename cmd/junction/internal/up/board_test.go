package up_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/terminal"
)

func TestTheTableStaysReadableWithManyServers(t *testing.T) {
	var all []gateway.Status
	for i := range 59 {
		s := gateway.Status{Name: fmt.Sprint("server", i), State: gateway.Idle, Program: true, Known: true, Tools: 14, Resources: 7, Templates: 2}
		switch {
		case i%10 == 1:
			s.State, s.Err = gateway.Failed, errors.New(strings.Repeat("long words ", 200))
		case i%10 == 2:
			s.State, s.Revision = gateway.Connected, "2025-11-25"
		case i == 3:
			s.State, s.Note = gateway.Connecting, "npx installs x"
		case i == 4:
			s.State = gateway.Waiting
		}
		all = append(all, s)
	}
	table := up.StatusTable(all, false, 80)
	lines := strings.Split(table, "\n")
	if got, want := up.Summary(all), "59 servers: 45 not started, 6 connected, 1 starting, 1 waiting to start, 6 failed · 742 tools"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	if len(lines) > 59+6*5+1 || strings.Contains(table, "59 servers") {
		t.Errorf("it has %d lines:\n%s", len(lines), table)
	}
	for _, want := range []string{"not started: 14 tools, 7 resources, 2 templates, 0 prompts", "still starting: npx installs x", "waiting to start", "connected, revision 2025-11-25: 14 tools"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

func TestSummariesCountNeitherEndedServersNorOmittedTools(t *testing.T) {
	all := []gateway.Status{
		{Name: "a", State: gateway.Idle, Known: true, Tools: 3, Err: errors.New("killed")},
		{Name: "b", State: gateway.Connected, Known: true, Tools: 5, Omitted: 2},
	}
	if got, want := up.Summary(all), "2 servers: 1 connected, 1 ended · 6 tools"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	if got, want := up.Standing(all[1], false), "connected: 3 of 5 tools, 0 resources, 0 prompts"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func TestSummaryCountsToolsThatAreOffered(t *testing.T) {
	failed := errors.New("exited with 2")
	for _, tt := range []struct {
		name    string
		s       gateway.Status
		want    string
		failing bool
	}{
		{"failed", gateway.Status{State: gateway.Failed, Tools: 14, Err: failed}, "1 server: 1 failed · 0 tools", true},
		{"tried again", gateway.Status{State: gateway.Connecting, Program: true, Tools: 14, Err: failed}, "1 server: 1 starting · 0 tools", true},
		{"waits to be tried again", gateway.Status{State: gateway.Waiting, Program: true, Tools: 14, Err: failed}, "1 server: 1 waiting to start · 0 tools", true},
		{"starts, and is remembered", gateway.Status{State: gateway.Connecting, Program: true, Tools: 14}, "1 server: 1 starting · 14 tools", false},
		{"a program at rest", gateway.Status{State: gateway.Idle, Program: true, Tools: 14}, "1 server: 1 not started · 14 tools", false},
		{"a URL at rest", gateway.Status{State: gateway.Idle, Tools: 14}, "1 server: 1 not connected · 14 tools", false},
		{"ended", gateway.Status{State: gateway.Idle, Program: true, Tools: 14, Err: failed}, "1 server: 1 ended · 14 tools", false},
		{"one list cannot be read", gateway.Status{State: gateway.Connected, Tools: 14, Err: failed}, "1 server: 1 connected · 14 tools", false},
		{"not responding", gateway.Status{State: gateway.Unresponsive, Tools: 14, Err: failed}, "1 server: 1 not responding · 14 tools", false},
	} {
		if got := up.Summary([]gateway.Status{tt.s}); got != tt.want || up.IsFailing(tt.s) != tt.failing {
			t.Errorf("%s: %q, failing %v; want %q, %v", tt.name, got, up.IsFailing(tt.s), tt.want, tt.failing)
		}
	}
}

func TestAgeOfRememberedTools(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: ", as of less than a minute ago", 59 * time.Second: ", as of less than a minute ago", time.Minute: ", as of 1 minute ago",
		150 * time.Minute: ", as of 2 hours ago", 50 * time.Hour: ", as of 2 days ago", -time.Hour: ", as of less than a minute ago",
	} {
		if got := cli.AgeText(time.Now().Add(-age)); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
	if got := cli.AgeText(time.Time{}); got != "" {
		t.Errorf("not known: %q", got)
	}
	table := up.StatusTable([]gateway.Status{{Name: "a", State: gateway.Idle, Program: true, Tools: 3, Read: time.Now().Add(-3 * time.Hour)}}, false, 100)
	if want := "  a  not started: 3 tools, 0 resources, 0 prompts, as of 3 hours ago\n"; table != want {
		t.Errorf("got %q, want %q", table, want)
	}
}

func TestASummaryFollowsOnceAllServersWereTried(t *testing.T) {
	var out bytes.Buffer
	b := up.NewBoard(terminal.NewScreen(&out), false, false, "")
	defer b.Close()
	b.More = func() string { return "Clients see 3 tools." }
	b.SumUp([]gateway.Status{{Name: "a", State: gateway.Connecting}, {Name: "b", State: gateway.Waiting}})
	if out.Len() > 0 {
		t.Errorf("before that: %s", out.String())
	}
	all := []gateway.Status{{Name: "a", State: gateway.Connected, Tools: 2}, {Name: "b", State: gateway.Failed, Err: errors.New("no")}}
	b.SumUp(all)
	b.SumUp(all)
	if _, said, _ := strings.Cut(out.String(), "  "); said != "2 servers: 1 connected, 1 failed · 2 tools\nClients see 3 tools.\n" {
		t.Errorf("it says %q", said)
	}
}

func TestTheEndpointStaysOnTheLastLine(t *testing.T) {
	all := []gateway.Status{{Name: "a", State: gateway.Idle, Program: true, Known: true, Tools: 3}}
	b := up.NewBoard(terminal.NewScreen(new(bytes.Buffer)), false, false, "")
	defer b.Close()
	b.Endpoint = "http://127.0.0.1:7717/mcp"
	for width, want := range map[int]string{
		77: "http://127.0.0.1:7717/mcp  1 server: 1 not started · 3 tools",
		57: "http://127.0.0.1:7717/mcp  1 server · 3 tools",
		37: "1 server: 1 not started · 3 tools",
		20: "1 server · 3 tools",
	} {
		if got := b.LastLine(all, width); got != want {
			t.Errorf("in %d cells: %q, want %q", width, got, want)
		}
	}
}

// The line of a server that failed and is tried again has the reason of the failure in every state.
func TestAServerThatIsTriedAgainSaysWhyItFailed(t *testing.T) {
	for want, s := range map[string]gateway.Status{
		"waiting to start: exited with 2":                                 {State: gateway.Waiting},
		"starting: exited with 2":                                         {State: gateway.Connecting, Program: true},
		"still starting: npx installs x; it failed before: exited with 2": {State: gateway.Connecting, Program: true, Note: "npx installs x"},
	} {
		if s.Err = errors.New("exited with 2"); up.Standing(s, true) != want || up.IsUntried(s) {
			t.Errorf("it says %q, want %q; untried: %v", up.Standing(s, true), want, up.IsUntried(s))
		}
	}
}
