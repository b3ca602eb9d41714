package reach

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

// ConfiguredServers reads the configuration. It prints errors of files and goes on without them,
// unless --config names the files. Without a configuration it returns servers that ship with
// junction.
func ConfiguredServers(a *cli.App) (*config.Set, []launch.Entry, error) {
	c, err := a.Launch.Read()
	if err != nil && len(a.Launch.Config) > 0 {
		return nil, nil, err
	}
	if err != nil {
		a.Screen.Printf("junction: %v\n", err)
	}
	a.Unread, a.Faulty = err, err != nil || len(c.Set.Problems()) > 0
	return c.Set, c.Entries, nil
}

// HostOptions returns the options for reading the configurations of hosts in a place.
func HostOptions(p place.Place) hostconfig.Options {
	home, _ := p.UserHomeDir()
	return hostconfig.Options{Getenv: p.Getenv, WorkDir: p.Dir, HomeDir: home}
}

// ConfiguredTarget returns the target of the configured server with that name, after asking for consent
// if the server needs it. The target may lead to a running junction up.
func ConfiguredTarget(ctx context.Context, a *cli.App, name string) (launch.Target, error) {
	set, e, err := FindConfigured(a, name)
	if err != nil {
		return launch.Target{}, err
	}
	if e.Definition != nil {
		ReportIgnored(a, set, e.Definition)
	}
	if t, is := shared(ctx, a, e); is {
		return t, nil
	}
	if err := a.Launch.Consent(ctx, e); err != nil {
		return launch.Target{}, err
	}
	return a.Launch.Target(ctx, e)
}

// FindConfigured reads the configuration and returns it with the entry that [Find] returns.
func FindConfigured(a *cli.App, name string) (*config.Set, launch.Entry, error) {
	set, entries, err := ConfiguredServers(a)
	if err != nil {
		return nil, launch.Entry{}, err
	}
	e, err := Find(name, set, entries)
	return set, e, err
}

// Find returns the entry with that name, or the server of that name that ships with junction. The
// error names the problem of an invalid entry, or suggests a similar name.
func Find(name string, set *config.Set, entries []launch.Entry) (launch.Entry, error) {
	if i := slices.IndexFunc(entries, func(e launch.Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i], nil
	}
	for _, p := range set.Problems() {
		if p.Server == name {
			return launch.Entry{}, Unusable(p, set)
		}
	}
	if slices.Contains(cli.ShippedNames(), name) {
		return launch.Entry{Name: name}, nil
	}
	return launch.Entry{}, unknownServer(name, set, entries)
}

// FindEnabled is like [Find], but returns an error for a disabled server.
func FindEnabled(name string, set *config.Set, entries []launch.Entry) (launch.Entry, error) {
	e, err := Find(name, set, entries)
	if err == nil && e.IsDisabled() {
		err = fmt.Errorf("server %q is disabled in %s; enable it there to use it", name, e.Definition.Source)
	}
	return e, err
}

// ServerNames returns the names of entries.
func ServerNames(entries []launch.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// unknownServer returns the error for a name without a server, with a suggestion if a name is
// similar.
func unknownServer(name string, set *config.Set, entries []launch.Entry) error {
	names := ServerNames(entries)
	if near := nearest.Name(name, append(slices.Clone(names), cli.ShippedNames()...)); near != "" {
		return fmt.Errorf("no server is called %q; did you mean %q?", name, near)
	}
	var files []string
	for _, f := range set.Files {
		files = append(files, f.Path)
	}
	where := "there is no configuration file"
	if len(files) > 0 {
		where = "not in " + strings.Join(files, ", ")
	}
	return fmt.Errorf("no server is called %q (%s; there are: %s)", name, where, strings.Join(names, ", "))
}

// CommandLine returns a command line that was typed, with quotes around ambiguous words. If a word
// names a file relative to the current folder, it appends the folder, because elsewhere the same
// words start another program.
func CommandLine(p place.Place, typed []string) []string {
	words := slices.Clone(typed)
	here := false
	for i, word := range words {
		if word == "" || word[0] == '(' || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == '"' }) {
			words[i] = strconv.Quote(word)
		}
		info, err := os.Stat(p.Path(word))
		here = here || !filepath.IsAbs(word) && err == nil && info.Mode().IsRegular()
	}
	if here {
		words = append(words, "(in "+p.Real(".")+")")
	}
	return words
}

// IsWithin reports whether the current folder is this folder or in it.
func IsWithin(p place.Place, folder string) bool {
	here, err := p.Getwd()
	if err != nil {
		return false
	}
	rest, err := filepath.Rel(p.Real(folder), p.Real(here))
	return err == nil && filepath.IsLocal(rest)
}
