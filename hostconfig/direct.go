package hostconfig

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// direct says how package config reads the files of a host as they are, without an import.
type direct struct {
	rank  int      // of the files that are found: those of 1 come first, which are Junction's; 0: they are only read where they are named
	tails []string // how the path of a user's file ends, wherever it is, in which * stands for any name
	marks []string // members of a file that no other host's files have
}

// Junction is the host whose files are Junction's own.
func Junction() Host {
	return Host{Name: "Junction", user: []string{"<own>/junction/mcp.json"}, project: []string{"junction.json"}, direct: &direct{rank: 1, tails: []string{"junction/mcp.json"}}}
}

// Direct lists the hosts whose files package config reads as they are, in the order of [Hosts].
func Direct() []Host {
	return slices.DeleteFunc(Hosts(), func(h Host) bool { return h.direct == nil })
}

// Recognize returns the host whose files have such a path, and the folder of the project that the file is for; empty for a user's.
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

// above returns the folder in which a path has the names of a pattern.
func above(path, pattern string) (folder string, is bool) {
	for _, name := range slices.Backward(strings.Split(pattern, "/")) {
		if match, _ := filepath.Match(name, filepath.Base(path)); !match {
			return "", false
		}
		path = filepath.Dir(path)
	}
	return path, true
}

// Marked returns the host whose files alone have one of these members, of several the one of the last.
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

// FindDirect lists the files that exist of those that are read as they are: in each of [ProjectFolders] those of hosts by their rank, and
// mcp.json; then the user's own.
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
