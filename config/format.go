package config

import (
	"path/filepath"
	"slices"

	"github.com/junction-mcp/junction/hostconfig"
)

// Format is the host whose conventions a configuration file follows. It decides which
// variables the file can use, and nothing else: members are read the same way in all.
type Format int

// The formats: Junction's own, which every unknown file is read as, and those of [hostconfig.Direct] in their order.
const (
	Junction Format = iota
	ClaudeDesktop
	ClaudeCode
	Cursor
	VSCode
	Windsurf
	Zed
)

// host is the one whose conventions they are; false for an unknown format.
func (f Format) host() (hostconfig.Host, bool) {
	if f == Junction {
		return hostconfig.Junction(), true
	}
	hosts := hostconfig.Direct()
	if f < 0 || int(f) > len(hosts) {
		return hostconfig.Host{Name: "unknown format"}, false
	}
	return hosts[f-1], true
}

// formatOf is the format of a host's files.
func formatOf(h hostconfig.Host) Format {
	return Format(1 + slices.IndexFunc(hostconfig.Direct(), func(other hostconfig.Host) bool { return other.ID == h.ID }))
}

// String is the product's name, such as "Claude Code".
func (f Format) String() string {
	h, _ := f.host()
	return h.Name
}

// place is what a file's path tells about it.
type place struct {
	format    Format
	known     bool   // the format is sure, whatever the file holds
	folder    string // what relative paths are relative to
	workspace string // the folder that a project file describes; else empty
}

// locate judges a file by its path, which must be absolute.
func locate(path string, o Options) place {
	folder := filepath.Dir(path)
	h, project, known := hostconfig.Recognize(path, o.places())
	switch {
	case project != "":
		return place{formatOf(h), true, project, project}
	case known:
		return place{formatOf(h), true, folder, ""}
	case filepath.Base(path) == "mcp.json" && slices.Contains(hostconfig.ProjectFolders(o.places()), folder):
		return place{folder: folder, workspace: folder} // whose format it is, its members say
	}
	return place{folder: folder}
}

// guessFormat judges a file whose path says nothing by its members.
func guessFormat(root []member) Format {
	var names []string
	for _, m := range root {
		names = append(names, m.name)
	}
	if h, ok := hostconfig.Marked(names); ok && !slices.Contains(names, "mcpServers") {
		return formatOf(h)
	}
	return Junction
}

// Find lists the configuration files that exist, those that take precedence first:
//
//   - those of the project: in WorkDir and each folder above it up to the root of the
//     repository (the folder with .git), nearest first, junction.json, .mcp.json,
//     .cursor/mcp.json, .vscode/mcp.json and mcp.json. Outside of a repository, in WorkDir only:
//     a folder above may be anybody's to write. A file of the user's own is not one of a project, though the
//     home folder is worked in;
//   - Junction's own, junction/mcp.json in $XDG_CONFIG_HOME (by default ~/.config; on
//     Windows %APPDATA%);
//   - those of the person for Claude Code, Claude Desktop, Cursor, VS Code and Windsurf.
func Find(o Options) []string { return hostconfig.FindDirect(o.withDefaults().places()) }

// Own is Junction's own file of the person, which need not exist: what commands write to that write a configuration. It is
// empty where there is no home folder.
func Own(o Options) string {
	return hostconfig.Default(hostconfig.Junction(), o.withDefaults().places())
}

// places are the folders in which hosts have their files.
func (o Options) places() hostconfig.Options {
	getenv := func(name string) string {
		value, _ := o.Getenv(name)
		return value
	}
	return hostconfig.Options{Getenv: getenv, WorkDir: o.WorkDir, HomeDir: o.HomeDir, GOOS: o.goos}
}
