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

// formatRules are what a format has of variables, and what to say about it.
type formatRules struct {
	name            string   // the product's
	bare, env       bool     // ${NAME}, ${env:NAME}
	defaults        bool     // ${NAME:-default}, and the same with env:
	inputs, folders bool     // ${input:id}, ${workspaceFolder} and its like
	secrets, files  bool     // ${secret:NAME}, ${file:PATH}
	host            []string // what the variables begin with that only the host knows
	hint            string   // how the format writes variables
}

var formats = [...]formatRules{
	Junction:      {name: "Junction", bare: true, env: true, defaults: true, inputs: true, folders: true, secrets: true, files: true},
	ClaudeDesktop: {name: "Claude Desktop", hint: "a Claude Desktop file has no variables"},
	ClaudeCode:    {name: "Claude Code", bare: true, defaults: true, hint: "a Claude Code file writes ${NAME} or ${NAME:-default}"},
	Cursor:        {name: "Cursor", env: true, folders: true, hint: "a Cursor file writes ${env:NAME}"},
	VSCode: {name: "VS Code", env: true, inputs: true, folders: true, host: []string{"command:", "config:", "workspaceFolder:"},
		hint: "a VS Code file writes ${env:NAME} or ${input:id}"},
	Windsurf: {name: "Windsurf", env: true, files: true, hint: "a Windsurf file writes ${env:NAME} or ${file:PATH}"},
	Zed:      {name: "Zed", hint: "a Zed file has no variables"},
}

func (f Format) rules() *formatRules {
	if f < 0 || int(f) >= len(formats) {
		return &formatRules{name: "unknown format"}
	}
	return &formats[f]
}

// String is the product's name, such as "Claude Code".
func (f Format) String() string { return f.rules().name }

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
