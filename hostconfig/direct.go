package hostconfig

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/sorting"
)

// direct describes how package config reads the files of a host in place, without an import.
type direct struct {
	rank  int      // order of files found: those of 1, Junction's, come first; 0: read only if named
	tails []string // ends of the paths of a user's file; * matches any name
	marks []string // members that only this host's files have
}

// Junction returns the host whose files are Junction's own.
func Junction() Host {
	return Host{Name: "Junction", user: []string{"<own>/junction/mcp.json"}, project: []string{"junction.json"}, direct: &direct{rank: 1, tails: []string{"junction/mcp.json"}}}
}

// Direct lists the hosts whose files package config reads in place, in the order of [Hosts].
func Direct() []Host {
	return slices.DeleteFunc(Hosts(), func(h Host) bool { return h.direct == nil })
}

// Recognize returns the host whose files have such a path, and the folder of the file's project,
// which is empty for a user's file.
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

// above returns the folder above the part of a path that matches a pattern.
func above(path, pattern string) (folder string, is bool) {
	for _, name := range slices.Backward(strings.Split(pattern, "/")) {
		if match, _ := filepath.Match(name, filepath.Base(path)); !match {
			return "", false
		}
		path = filepath.Dir(path)
	}
	return path, true
}

// Marked returns the host whose files alone have one of these members. If several match, the last
// member counts.
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

// FindDirect lists the existing files that are read in place: for each of [ProjectFolders] those of
// hosts by rank, and mcp.json; then the user's own.
func FindDirect(o Options) (found []string) {
	o = o.withDefaults()
	hosts := slices.DeleteFunc(append(Direct(), Junction()), func(h Host) bool { return h.direct.rank == 0 })
	sorting.By(hosts, func(a, b Host) int { return cmp.Compare(a.direct.rank, b.direct.rank) })
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
