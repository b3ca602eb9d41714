package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Format is the host whose conventions a configuration file follows. It decides which
// variables the file can use, and nothing else: members are read the same way in all.
type Format int

// The formats. The zero Format is Junction's own, which every unknown file is read as.
const (
	Junction Format = iota
	ClaudeDesktop
	ClaudeCode
	Cursor
	VSCode
	Windsurf
	Zed
)

// String is the product's name, such as "Claude Code".
func (f Format) String() string {
	names := [...]string{"Junction", "Claude Desktop", "Claude Code", "Cursor", "VS Code", "Windsurf", "Zed"}
	if f < 0 || int(f) >= len(names) {
		return "unknown format"
	}
	return names[f]
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
	folder, name := filepath.Dir(path), filepath.Base(path)
	above, parent := filepath.Dir(folder), filepath.Base(folder)
	user := func(f Format) place { return place{f, true, folder, ""} }
	project := func(f Format, workspace string) place { return place{f, true, workspace, workspace} }
	switch {
	case name == ".mcp.json":
		return project(ClaudeCode, folder)
	case name == "junction.json":
		return project(Junction, folder)
	case name == ".claude.json":
		return user(ClaudeCode)
	case name == "claude_desktop_config.json":
		return user(ClaudeDesktop)
	case name == "mcp_config.json":
		return user(Windsurf)
	case name != "mcp.json":
		return place{folder: folder}
	case parent == ".cursor" && above == o.HomeDir:
		return user(Cursor)
	case parent == ".cursor":
		return project(Cursor, above)
	case parent == ".vscode":
		return project(VSCode, above)
	case parent == "junction":
		return user(Junction)
	case parent == "User" && strings.HasPrefix(filepath.Base(above), "Code"), filepath.Base(above) == "profiles":
		return user(VSCode)
	case slices.Contains(upward(o.WorkDir), folder):
		return place{folder: folder, workspace: folder} // whose format it is, its members say
	}
	return place{folder: folder}
}

// guessFormat judges a file whose path says nothing by its members.
func guessFormat(root []member) Format {
	format := Junction
	for _, m := range root {
		switch m.name {
		case "mcpServers":
			return Junction
		case "servers", "inputs":
			format = VSCode
		case "context_servers":
			format = Zed
		}
	}
	return format
}
