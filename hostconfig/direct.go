package hostconfig

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// direct describes how package config reads a host's files without an import.
type direct struct {
	rank  int      // rank of the host's project files in [FindDirect], from 1 for Junction's; 0 if they are read only when named
	tails []string // ends of the paths of users' files; * matches any name
	marks []string // members that only this host's files have
}

// Junction returns the host that stands for Junction's own files.
func Junction() Host {
	return Host{Name: "Junction", user: []string{"<own>/junction/mcp.json"}, project: []string{"junction.json"}, direct: &direct{rank: 1, tails: []string{"junction/mcp.json"}}}
}

// Direct lists the hosts whose files package config reads without an import, in the order of
// [Hosts].
func Direct() []Host {
	return slices.DeleteFunc(Hosts(), func(h Host) bool { return h.direct == nil })
}

// Recognize returns the host that has files at the given path. project is the folder of the file's
// project, or "" for a user's file.
func Recognize(path string, o Options) (h Host, project string, ok bool) {
	o = o.withDefaults()
	for _, h := range append(Direct(), Junction()) {
		for _, name := range h.project {
			folder, is := above(path, name)
			switch {
			case is && folder == o.HomeDir && slices.Contains(h.user, "<home>/"+name):
				return h, "", true
			case is && h.direct.rank > 0:
				return h, folder, true
			}
		}
		for _, tail := range h.direct.tails {
			if _, is := above(path, tail); is {
				return h, "", true
			}
		}
	}
	return Host{}, "", false
}

// above returns the folder that remains when the part of a path that matches a pattern is removed
// from its end.
func above(path, pattern string) (folder string, is bool) {
	for _, name := range slices.Backward(strings.Split(pattern, "/")) {
		if match, _ := filepath.Match(name, filepath.Base(path)); !match {
			return "", false
		}
		path = filepath.Dir(path)
	}
	return path, true
}

// Marked returns the host whose files alone have one of the given members. If several hosts match,
// the last match counts.
func Marked(members []string) (h Host, ok bool) {
	for _, name := range members {
		for _, other := range Direct() {
			if slices.Contains(other.direct.marks, name) {
				h, ok = other, true
			}
		}
	}
	return h, ok
}

// FindDirect lists the existing files that package config reads without an import. Files of
// projects come first. Each folder of [ProjectFolders] has the files of hosts, by rank, then
// mcp.json. The user's own files come last.
func FindDirect(o Options) (found []string) {
	o = o.withDefaults()
	hosts := slices.DeleteFunc(append(Direct(), Junction()), func(h Host) bool { return h.direct.rank == 0 })
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Compare(a.direct.rank, b.direct.rank) })
	var names, own []string
	for _, h := range hosts {
		names = append(names, h.project...)
		if path := Default(h, o); path != "" {
			own = append(own, path)
		}
	}
	for _, f := range search(append(names, "mcp.json"), own, o) {
		found = append(found, f.Path)
	}
	return found
}
