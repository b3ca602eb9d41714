package config

import (
	"os"
	"path/filepath"
	"slices"
)

// Find lists the configuration files that exist, those that take precedence first:
//
//   - those of the project: in WorkDir and each folder above it up to the root of the
//     repository (the folder with .git), nearest first, junction.json, .mcp.json,
//     .cursor/mcp.json, .vscode/mcp.json and mcp.json. Outside of a repository, in WorkDir only:
//     a folder above may be anybody's to write;
//   - Junction's own, junction/mcp.json in $XDG_CONFIG_HOME (by default ~/.config; on
//     Windows %APPDATA%);
//   - those of the person for Claude Code, Claude Desktop, Cursor, VS Code and Windsurf.
func Find(o Options) []string {
	o = o.withDefaults()
	var candidates []string
	if o.WorkDir != "" {
		for _, folder := range upward(o.WorkDir) {
			for _, name := range []string{"junction.json", ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "mcp.json"} {
				candidates = append(candidates, filepath.Join(folder, filepath.FromSlash(name)))
			}
		}
	}
	candidates = append(candidates, userFiles(o)...)
	var found []string
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

// OwnFile is Junction's own file of the person, which need not be there; empty where there is no home folder.
func OwnFile(o Options) string {
	own, _ := userFolders(o.withDefaults())
	if !filepath.IsAbs(own) {
		return ""
	}
	return filepath.Join(own, "junction", "mcp.json")
}

// upward lists folder and those above it up to the root of its repository; only folder
// when it is in none.
func upward(folder string) []string {
	folder = filepath.Clean(folder)
	list := []string{folder}
	for at := folder; ; at = filepath.Dir(at) {
		if at != folder {
			list = append(list, at)
		}
		// In worktrees and submodules .git is a file.
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return list
		}
		if at == filepath.Dir(at) {
			return list[:1]
		}
	}
}

func userFiles(o Options) []string {
	own, hosts := userFolders(o)
	var files []string
	add := func(folder string, names ...string) {
		if !filepath.IsAbs(folder) {
			return // without a home folder there is nothing to look in
		}
		files = append(files, filepath.Join(append([]string{folder}, names...)...))
	}
	add(own, "junction", "mcp.json")
	add(o.HomeDir, ".claude.json")
	add(hosts, "Claude", "claude_desktop_config.json")
	add(o.HomeDir, ".cursor", "mcp.json")
	add(hosts, "Code", "User", "mcp.json")
	add(o.HomeDir, ".codeium", "windsurf", "mcp_config.json")
	return files
}

// userFolders are where Junction and where graphical programs keep a person's settings.
func userFolders(o Options) (own, hosts string) {
	own = filepath.Join(o.HomeDir, ".config")
	if xdg, ok := o.Getenv("XDG_CONFIG_HOME"); ok && filepath.IsAbs(xdg) {
		own = xdg
	}
	switch o.goos {
	case "darwin":
		return own, filepath.Join(o.HomeDir, "Library", "Application Support")
	case "windows":
		roaming, ok := o.Getenv("APPDATA")
		if !ok {
			roaming = filepath.Join(o.HomeDir, "AppData", "Roaming")
		}
		return roaming, roaming
	}
	return own, own
}
