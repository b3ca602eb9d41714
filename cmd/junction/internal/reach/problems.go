package reach

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/launch"
)

// otherMembers maps names that other programs use for members of an entry, in lower case, to
// Junction's.
var otherMembers = map[string]string{
	"cmd": "command", "executable": "command", "arguments": "args", "environment": "env", "workingdirectory": "cwd", "workdir": "cwd",
	"endpoint": "url", "address": "url",
}

// SuggestMember returns the member that an ignored one was probably meant to be, or an empty string.
func SuggestMember(warning *config.Problem) string {
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

// ignored returns a line for each member of the selected servers that is ignored and resembles
// another, or has no effect.
func ignored(set *config.Set, is func(server string) bool) []string {
	var lines []string
	for _, w := range set.Warnings() {
		if !is(w.Server) {
			continue
		}
		if errors.Is(w, config.ErrNoEffect) {
			lines = append(lines, fmt.Sprintf("%s %v", w.Field, w.Err))
		} else if meant := SuggestMember(w); meant != "" {
			lines = append(lines, fmt.Sprintf("%s is ignored; did you mean %q?", w.Field, meant))
		}
	}
	return lines
}

// ReportProblems prints the problems of a configuration. It prints all warnings if the command is
// verbose, and otherwise those about ignored members.
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

// ReportIgnored prints a warning for each ignored member of a server.
func ReportIgnored(a *cli.App, set *config.Set, d *config.Definition) {
	for _, line := range ignored(set, func(server string) bool { return server == d.Name }) {
		a.Screen.Printf("junction: warning: %s: server %q: %s\n", d.Source, d.Name, line)
	}
}

// Unusable returns the error of a server that cannot be used, with its ignored members.
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

// HasProblem reports whether the entry of the server with that name is invalid.
func HasProblem(set *config.Set, name string) bool {
	return slices.ContainsFunc(set.Problems(), func(p *config.Problem) bool { return p.Server == name })
}

// UnusableServers returns the servers with invalid entries, each with a listing that holds the
// error.
func UnusableServers(set *config.Set) (all []ListedServer) {
	for _, p := range set.Problems() {
		if p.Server != "" && !slices.ContainsFunc(all, func(s ListedServer) bool { return s.Entry.Name == p.Server }) {
			all = append(all, ListedServer{Entry: launch.Entry{Name: p.Server}, Listing: Listing{Err: Unusable(p, set)}})
		}
	}
	return all
}

// An UnlistedError is the error for a name that is missing from the list of a server or of the
// stored conversations.
type UnlistedError struct {
	Text string
	Err  error
}

// Error implements [error].
func (e *UnlistedError) Error() string { return e.Text }

// Unwrap returns the error of the server.
func (e *UnlistedError) Unwrap() error { return e.Err }

// WrapUnlisted returns err, or an [UnlistedError] with a suggestion if the name is not among names. It
// returns err as it is if its text has the name and no similar name exists.
func WrapUnlisted(what, name string, names []string, err error) error {
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
	return &UnlistedError{fmt.Sprintf("the server lists no %s %q; junction list %ss lists those that it has", what, name, what), err}
}
