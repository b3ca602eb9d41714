package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
)

// Limits of the output of junction without arguments, which has at most 20 lines.
const (
	startFiles = 3 // files whose servers are named
	startUps   = 2
)

// showStart prints the configured servers, the running junction up processes, and commands to type
// next. It reads files and asks each junction up. It starts no server.
func showStart(ctx context.Context, a *cli.App) error {
	c, unread := a.Launch.Read()
	set, entries := c.Set, c.Entries
	running, err := cli.Instances(ctx, a.Place)
	if err != nil {
		return err
	}
	fault := ""
	if problems := set.Problems(); unread != nil {
		fault = unread.Error()
	} else if len(problems) > 0 {
		fault = problems[0].Error()
	}
	_, err = fmt.Fprint(a.Out, startText(a.Place, entries, fault, connectedHosts(a.Place), running, a.Out.Width()))
	return err
}

// A connectedHost is a host that junction host connect changed.
type connectedHost struct {
	name   string
	remedy string // command that disconnects it
	starts bool   // whether the host starts junction up, and does not call one that runs
}

// connectedHosts returns the connected hosts that have an entry for junction, by the journal of their
// changes.
func connectedHosts(p place.Place) (all []connectedHost) {
	journal, err := launch.OpenJournal(p)
	if err != nil {
		return nil
	}
	records, _ := journal.Records() // junction doctor reports unreadable ones
	for _, r := range records {
		if !r.Connected {
			continue
		}
		_, ours, _, err := r.Look()
		if err != nil || ours == nil {
			continue
		}
		h, _, _ := hostconfig.LookupHost(r.Host)
		all = append(all, connectedHost{cmp.Or(h.Name, p.Short(r.Path)), r.Remedy(), ours.Command != ""})
	}
	return all
}

// startText returns the text of showStart. hosts has the connected hosts. fault is the first fault of the configuration, or "".
func startText(p place.Place, entries []launch.Entry, fault string, hosts []connectedHost, running []cli.Instance, width int) string {
	var files []string
	servers := map[string][]string{}
	own := true // whether all servers ship with junction
	for _, e := range entries {
		file := "junction itself, to try"
		if e.Definition != nil {
			file, own = p.Short(e.Source()), false
		}
		if servers[file] == nil {
			files = append(files, file)
		}
		servers[file] = append(servers[file], e.Name)
	}
	for i, file := range files {
		files[i] = file + ": " + strings.Join(servers[file], ", ")
	}
	var up []string
	for _, i := range running {
		up = append(up, fmt.Sprintf("junction up at %s (process %d): %s", i.Endpoint, i.PID, i.Summary))
	}
	next := [][]string{{"junction list", "the servers and their tools"}}
	if own {
		next = append(next, []string{"junction call everything add a=1 b=2", "call a tool"}, []string{"junction server add npm:PACKAGE", "add a server"})
	} else {
		next = append(next, []string{"junction chat", "talk to a model that uses them"})
	}
	next = append(next, []string{"junction host connect cursor", "use them in Cursor or another host"})
	title, idle := "Running", "no junction up"
	if len(hosts) > 0 {
		var names, starting []string
		for _, h := range hosts {
			if !slices.Contains(names, h.name) { // a host may have several files
				names = append(names, h.name)
			}
			if h.starts {
				starting = append(starting, h.name)
			}
		}
		title, idle = "Connected: "+strings.Join(names, ", "), "no junction up runs: junction up serves them"
		if len(starting) > 0 {
			idle = "junction does not run now: " + starting[0] + " starts it when it runs"
		}
		next = [][]string{{"junction list", "the servers and their tools"}, {"junction traffic", "watch the calls"}, {hosts[0].remedy, "undo the connection"}}
	}
	switch {
	case fault != "":
		next = append([][]string{{"junction doctor", "find what is broken, and how to fix it"}}, next...)
	case len(hosts) > 0:
		next = append(next, []string{"junction doctor", "check each step, the rules and the log"})
	case len(up) > 0:
		next = append(next, []string{"junction traffic", "watch the messages"})
	default:
		next = append(next, []string{"junction up", "serve them at one address"})
	}
	var b strings.Builder
	section := func(title string, lines []string, most int) {
		b.WriteString("\n" + title + "\n")
		for i, line := range lines {
			if i == most {
				line = fmt.Sprintf("and %d more", len(lines)-most)
			}
			b.WriteString("  " + show.Cut(line, width-2) + "\n")
			if i == most {
				return
			}
		}
	}
	b.WriteString("Junction " + cli.Version + "\n")
	section(plaintext.Count(len(entries), "server"), files, startFiles)
	if fault != "" {
		b.WriteString("  " + show.Cut("! "+fault, width-2) + "\n")
	}
	if len(up) == 0 {
		up = []string{idle}
	}
	section(show.Cut(title, width), up, startUps)
	section("Next", strings.Split(strings.TrimSuffix(terminal.Table(append(next, []string{"junction --help", "all commands"}), 0, 1<<10), "\n"), "\n"), len(next)+1)
	return b.String()
}
