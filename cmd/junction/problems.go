package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/nearest"
)

// meantMember returns the member that an ignored one was meant to be; empty if it is
// like none, or the warning is about something else.
func meantMember(warning *config.Problem) string {
	if strings.EqualFold(warning.Field, "cmd") {
		return "command"
	}
	meant := nearest.Name(warning.Field, config.EntryMembers())
	if meant == warning.Field {
		return ""
	}
	return meant
}

// misspelt says in one line each which members of servers are ignored but look like
// others.
func misspelt(set *config.Set, is func(server string) bool) []string {
	var lines []string
	for _, w := range set.Warnings() {
		if meant := meantMember(w); meant != "" && is(w.Server) {
			lines = append(lines, fmt.Sprintf("%s is ignored; did you mean %q?", w.Field, meant))
		}
	}
	return lines
}

// reportProblems says what is wrong with a configuration, and what is doubtful.
func (a *app) reportProblems(set *config.Set) {
	for _, p := range set.Problems() {
		a.screen.Printf("junction: %v\n", unusable(p, set))
	}
	for _, w := range set.Warnings() {
		if a.flags.verbose {
			a.screen.Printf("junction: warning: %v\n", w)
		}
	}
	for _, d := range set.Servers {
		if !a.flags.verbose {
			a.reportMisspelt(set, d)
		}
	}
}

// reportMisspelt warns of members of a server that are ignored but look like others.
func (a *app) reportMisspelt(set *config.Set, d *config.Definition) {
	for _, line := range misspelt(set, func(server string) bool { return server == d.Name }) {
		a.screen.Printf("junction: warning: %s: server %q: %s\n", d.Source, d.Name, line)
	}
}

// unusable is why a server cannot be used, with the members that are spelt wrong.
func unusable(p *config.Problem, set *config.Set) error {
	if p.Server == "" {
		return p
	}
	lines := misspelt(set, func(server string) bool { return server == p.Server })
	if len(lines) == 0 {
		return p
	}
	return fmt.Errorf("%w; %s", p, strings.Join(lines, "; "))
}

func hasProblem(set *config.Set, name string) bool {
	return slices.ContainsFunc(set.Problems(), func(p *config.Problem) bool { return p.Server == name })
}

// unusableServers are the servers whose entries are wrong, as if they had been asked.
func unusableServers(set *config.Set) (all []listedServer) {
	for _, p := range set.Problems() {
		if p.Server != "" && !slices.ContainsFunc(all, func(s listedServer) bool { return s.entry.name == p.Server }) {
			all = append(all, listedServer{entry: entry{name: p.Server}, listing: listing{err: unusable(p, set)}})
		}
	}
	return all
}
