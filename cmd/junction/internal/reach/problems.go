package reach

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/nearest"
)

// otherMembers are what other programs call a member of an entry, in lower case.
var otherMembers = map[string]string{
	"cmd": "command", "executable": "command", "arguments": "args", "environment": "env", "workingdirectory": "cwd", "workdir": "cwd",
	"endpoint": "url", "address": "url",
}

// MeantMember returns the member that an ignored one was meant to be; empty if it is
// like none, or the warning is about something else.
func MeantMember(warning *config.Problem) string {
	if meant := otherMembers[strings.ToLower(warning.Field)]; meant != "" {
		return meant
	}
	of, name := "", warning.Field
	if dot := strings.LastIndex(name, "."); dot >= 0 {
		of, name = name[:dot+1], name[dot+1:]
	}
	var names []string
	for _, member := range config.EntryMembers() {
		if member, ok := strings.CutPrefix(member, of); ok && !strings.Contains(member, ".") {
			names = append(names, member)
		}
	}
	meant := nearest.Name(name, names)
	if meant == name {
		return ""
	}
	return meant
}

// ignored says in one line each which members of servers are ignored but look like others, or have no effect
// on a server of that kind.
func ignored(set *config.Set, is func(server string) bool) []string {
	var lines []string
	for _, w := range set.Warnings() {
		if !is(w.Server) {
			continue
		}
		if errors.Is(w, config.ErrNoEffect) {
			lines = append(lines, fmt.Sprintf("%s %v", w.Field, w.Err))
		} else if meant := MeantMember(w); meant != "" {
			lines = append(lines, fmt.Sprintf("%s is ignored; did you mean %q?", w.Field, meant))
		}
	}
	return lines
}

// ReportProblems says what is wrong with a configuration, and what is doubtful.
func ReportProblems(a *cli.App, set *config.Set) {
	for _, p := range set.Problems() {
		a.Screen.Printf("junction: %v\n", Unusable(p, set))
	}
	for _, w := range set.Warnings() {
		if a.Launch.Verbose {
			a.Screen.Printf("junction: warning: %v\n", w)
		}
	}
	for _, d := range set.Servers {
		if !a.Launch.Verbose {
			ReportIgnored(a, set, d)
		}
	}
}

// ReportIgnored warns of members of a server that are ignored.
func ReportIgnored(a *cli.App, set *config.Set, d *config.Definition) {
	for _, line := range ignored(set, func(server string) bool { return server == d.Name }) {
		a.Screen.Printf("junction: warning: %s: server %q: %s\n", d.Source, d.Name, line)
	}
}

// Unusable is why a server cannot be used, with the members that are ignored.
func Unusable(p *config.Problem, set *config.Set) error {
	if p.Server == "" {
		return p
	}
	lines := ignored(set, func(server string) bool { return server == p.Server })
	if len(lines) == 0 {
		return p
	}
	return fmt.Errorf("%w; %s", p, strings.Join(lines, "; "))
}

func HasProblem(set *config.Set, name string) bool {
	return slices.ContainsFunc(set.Problems(), func(p *config.Problem) bool { return p.Server == name })
}

// UnusableServers are the servers whose entries are wrong, as if they had been asked.
func UnusableServers(set *config.Set) (all []ListedServer) {
	for _, p := range set.Problems() {
		if p.Server != "" && !slices.ContainsFunc(all, func(s ListedServer) bool { return s.Entry.Name == p.Server }) {
			all = append(all, ListedServer{Entry: cli.Entry{Name: p.Server}, Listing: Listing{Err: Unusable(p, set)}})
		}
	}
	return all
}

// An UnlistedError is an error about a name that a server, or the stored conversations, do not list.
type UnlistedError struct {
	Text string
	Err  error
}

func (e *UnlistedError) Error() string { return e.Text }
func (e *UnlistedError) Unwrap() error { return e.Err }

// Unlisted is err, or if the server lists no such name, that and which one was meant. A
// server that names what it does not know may know better what was meant.
func Unlisted(what, name string, names []string, err error) error {
	if slices.Contains(names, name) {
		return err
	}
	near := nearest.Name(name, names)
	switch {
	case near != "":
		return &UnlistedError{fmt.Sprintf("the server lists no %s %q; did you mean %q?", what, name, near), err}
	case strings.Contains(err.Error(), name):
		return err
	}
	return &UnlistedError{fmt.Sprintf("the server lists no %s %q; junction %ss lists those that it has", what, name, what), err}
}
