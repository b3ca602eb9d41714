package config

import (
	"path/filepath"
	"slices"

	"github.com/junction-mcp/junction/hostconfig"
)

// Format is the host whose conventions a configuration file follows. It determines only which
// variables the file may use; members are read the same way in all formats.
type Format int

// The formats. Junction is also the format of files of unknown hosts; the others have the order of
// [hostconfig.Direct].
const (
	Junction Format = iota
	ClaudeDesktop
	ClaudeCode
	Cursor
	VSCode
	Windsurf
	Zed
)

// host returns the host of the format. It returns false for an unknown format.
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

// formatOf returns the format of the files of h.
func formatOf(h hostconfig.Host) Format {
	return Format(1 + slices.IndexFunc(hostconfig.Direct(), func(other hostconfig.Host) bool { return other.ID == h.ID }))
}

// String returns the product's name, such as "Claude Code".
func (f Format) String() string {
	h, _ := f.host()
	return h.Name
}

// place holds the facts that follow from a file's path.
type place struct {
	format    Format
	known     bool   // whether the path alone determines the format
	folder    string // folder of relative paths
	workspace string // folder that a project file describes, or empty
}

// locate returns the place of a file by its absolute path.
func locate(path string, o Options) place {
	folder := filepath.Dir(path)
	h, project, known := hostconfig.Recognize(path, o.places())
	switch {
	case project != "":
		return place{formatOf(h), true, project, project}
	case known:
		return place{formatOf(h), true, folder, ""}
	case filepath.Base(path) == "mcp.json" && slices.Contains(hostconfig.ProjectFolders(o.places()), folder):
		return place{folder: folder, workspace: folder} // the members of the file determine the format
	}
	return place{folder: folder}
}

// guessFormat determines the format of a file from its members.
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

// Find lists the existing configuration files, in order of precedence:
//
//   - the project's files, nearest first: junction.json, .mcp.json, .cursor/mcp.json,
//     .vscode/mcp.json and mcp.json, in WorkDir and each folder above it up to the root of the
//     repository (the folder with .git). Outside of a repository, only the files in WorkDir count,
//     because other users may be able to write to a folder above it. The user's own files never
//     count as a project's, even if the home folder is the working folder;
//   - Junction's own, junction/mcp.json in $XDG_CONFIG_HOME (by default ~/.config; on
//     Windows %APPDATA%);
//   - the user's files for Claude Code, Claude Desktop, Cursor, VS Code and Windsurf.
func Find(o Options) []string { return hostconfig.FindDirect(o.withDefaults().places()) }

// Own returns the path of the user's own configuration file of Junction. Commands write to this
// file, and it may not exist yet. The path is empty without a home folder.
func Own(o Options) string {
	return hostconfig.Default(hostconfig.Junction(), o.withDefaults().places())
}

// places returns the options for finding the files of hosts.
func (o Options) places() hostconfig.Options {
	getenv := func(name string) string {
		value, _ := o.Getenv(name)
		return value
	}
	return hostconfig.Options{Getenv: getenv, WorkDir: o.WorkDir, HomeDir: o.HomeDir, GOOS: o.goos}
}
