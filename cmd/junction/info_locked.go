package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

// infoLocked shows the servers that are locked as word, which names one of the configuration, of a registry, or a package. It reports
// whether there are any.
func (a *app) infoLocked(word string) (found bool, err error) {
	all, _, err := a.lockedEntries(nil)
	if err != nil {
		return false, err
	}
	all = slices.DeleteFunc(all, func(l lockedEntry) bool { return !l.is(word) })
	if len(all) == 0 {
		return false, nil
	}
	if a.flags.json {
		return true, a.printObject(map[string][]lockedShown{"locked": a.describeLocked(all)})
	}
	for _, l := range a.describeLocked(all) {
		rows := [][]string{{"locked", shortened(l.Lock)}, {"source", cmp.Or(l.Source, "none is known")}}
		if l.Program != nil {
			rows = append(rows, []string{"runs", shellWords(l.Program)}, []string{"integrity", l.Integrity})
		}
		if l.Registry != "" {
			rows = append(rows, []string{"listed", "as " + l.Name + ", in the registry " + l.Registry})
		}
		rows = append(rows, []string{"may", strings.Join(l.Rights, "; ")})
		for _, row := range rows {
			row[1] = plaintext.Line(row[1], maxReason)
		}
		a.out.Printf("%s is %s\n%s", plaintext.Line(l.Server, 200), plaintext.Line(cmp.Or(strings.TrimSpace(l.Package+" "+l.Version), strings.Join(l.Replaces, " ")), 300), terminal.Table(rows, 2, lineWidth(a.out)))
	}
	return true, nil
}

// is reports whether a word means what is locked.
func (l *lockedEntry) is(word string) bool {
	if word == l.name || word == l.locked.Name {
		return true
	}
	prefix, rest, _ := strings.Cut(word, ":")
	p := l.locked.Package
	return p != nil && packagePrefixes()[prefix] == p.Type && (rest == p.Name || rest == p.Name+"@"+p.Version)
}

// lockedShown is what is locked of a server.
type lockedShown struct {
	Server    string   `json:"server"`
	Lock      string   `json:"lock"` // the file
	Replaces  []string `json:"replaces,omitempty"`
	Package   string   `json:"package,omitempty"`
	Version   string   `json:"version,omitempty"`
	Integrity string   `json:"integrity,omitempty"`
	Program   []string `json:"program,omitempty"`
	Rights    []string `json:"rights"`
	Name      string   `json:"name,omitempty"` // in the registry
	Registry  string   `json:"registry,omitempty"`
	Source    string   `json:"source,omitempty"`
}

func (a *app) describeLocked(entries []lockedEntry) (all []lockedShown) {
	for _, l := range entries {
		one := lockedShown{Server: l.name, Lock: install.LockPath(l.definition.Source), Replaces: l.locked.Replaces, Rights: a.lockedRights(l.entry, l.locked),
			Name: l.locked.Name, Registry: l.locked.Registry, Source: l.locked.Source}
		if p := l.locked.Package; p != nil {
			one.Package, one.Version, one.Integrity, one.Program = p.Type+":"+p.Name, p.Version, p.Integrity, p.Program
		}
		all = append(all, one)
	}
	return all
}
