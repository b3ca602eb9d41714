package config

import (
	"path/filepath"
	"slices"

	"github.com/junction-mcp/junction/hostconfig"
)

// Format is the host whose conventions a configuration file follows. It determines only the
// variables in the file: members are read the same way in all formats.
type Format int

// The formats: Junction's own, which is also that of unknown files, and those of
// [hostconfig.Direct] in their order.
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

// formatOf returns the format of a host's files.
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
	known     bool   // the format does not depend on the content
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
		return place{folder: folder, workspace: folder} // its members determine the format
	}
	return place{folder: folder}
}

// guessFormat returns the format of a file by its members.
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
//   - those of the project, nearest first: junction.json, .mcp.json, .cursor/mcp.json,
//     .vscode/mcp.json and mcp.json, in WorkDir and each folder above it up to the root of the
//     repository (the folder with .git). Outside of a repository, only those in WorkDir: other
//     users may be able to write to a folder above. The user's own files are not those of a
//     project, even if the home folder is the working folder;
//   - Junction's own, junction/mcp.json in $XDG_CONFIG_HOME (by default ~/.config; on
//     Windows %APPDATA%);
//   - the user's files for Claude Code, Claude Desktop, Cursor, VS Code and Windsurf.
func Find(o Options) []string { return hostconfig.FindDirect(o.withDefaults().places()) }

// Own returns the path of the user's own file for Junction, to which commands write. The file may
// be missing. The path is empty without a home folder.
func Own(o Options) string {
	return hostconfig.Default(hostconfig.Junction(), o.withDefaults().places())
}

// places returns the folders with the files of hosts.
func (o Options) places() hostconfig.Options {
	getenv := func(name string) string {
		value, _ := o.Getenv(name)
		return value
	}
	return hostconfig.Options{Getenv: getenv, WorkDir: o.WorkDir, HomeDir: o.HomeDir, GOOS: o.goos}
}
