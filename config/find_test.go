//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindListsFilesByPrecedence(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{
		"repo/.git/HEAD", "repo/.mcp.json", "repo/junction.json", "repo/sub/deep/.vscode/mcp.json", "repo/sub/deep/.cursor/mcp.json", "repo/sub/deep/mcp.json",
		".mcp.json", ".claude.json", "claude/.claude.json", ".cursor/mcp.json", ".codeium/windsurf/mcp_config.json",
		".config/junction/mcp.json", ".config/Claude/claude_desktop_config.json", ".config/Code/User/mcp.json",
		"Library/Application Support/Claude/claude_desktop_config.json", "Library/Application Support/Code/User/mcp.json",
		"roaming/junction/mcp.json", "roaming/Claude/claude_desktop_config.json", "xdg/junction/mcp.json",
	} {
		write(t, filepath.Join(home, name), "{}")
	}
	if err := os.MkdirAll(filepath.Join(home, "repo/sub/junction.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	const project = "repo/sub/deep/.cursor/mcp.json repo/sub/deep/.vscode/mcp.json repo/sub/deep/mcp.json repo/junction.json repo/.mcp.json "
	for _, c := range []struct {
		about, work, goos, want string
		env                     map[string]string
	}{
		{"linux", "repo/sub/deep", "linux", project + ".config/junction/mcp.json .claude.json .config/Claude/claude_desktop_config.json .cursor/mcp.json .config/Code/User/mcp.json .codeium/windsurf/mcp_config.json", nil},
		{"linux with XDG_CONFIG_HOME", "repo", "linux", "repo/junction.json repo/.mcp.json xdg/junction/mcp.json .claude.json .cursor/mcp.json .codeium/windsurf/mcp_config.json",
			map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, "xdg")}},
		{"another folder of Claude Code", "roaming", "linux", ".config/junction/mcp.json claude/.claude.json .config/Claude/claude_desktop_config.json .cursor/mcp.json .config/Code/User/mcp.json .codeium/windsurf/mcp_config.json",
			map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(home, "claude")}},
		{"mac", "repo", "darwin", "repo/junction.json repo/.mcp.json .config/junction/mcp.json .claude.json Library/Application Support/Claude/claude_desktop_config.json .cursor/mcp.json Library/Application Support/Code/User/mcp.json .codeium/windsurf/mcp_config.json", nil},
		{"windows", "repo", "windows", "repo/junction.json repo/.mcp.json roaming/junction/mcp.json .claude.json roaming/Claude/claude_desktop_config.json .cursor/mcp.json .codeium/windsurf/mcp_config.json",
			map[string]string{"APPDATA": filepath.Join(home, "roaming")}},
		{"outside of a repository", "roaming", "windows", ".claude.json .cursor/mcp.json .codeium/windsurf/mcp_config.json", nil},
		{"at home, where the user's own files are not a project's", ".", "windows", ".mcp.json .claude.json .cursor/mcp.json .codeium/windsurf/mcp_config.json", nil},
		{"in the folder of the own file", ".config/junction", "linux", ".config/junction/mcp.json .claude.json .config/Claude/claude_desktop_config.json .cursor/mcp.json .config/Code/User/mcp.json .codeium/windsurf/mcp_config.json", nil},
	} {
		t.Run(c.about, func(t *testing.T) {
			found := Find(Options{WorkDir: filepath.Join(home, c.work), HomeDir: home, Getenv: variables(c.env), goos: c.goos})
			for i, path := range found {
				found[i], _ = filepath.Rel(home, path)
			}
			same(t, "found", strings.Join(found, " "), c.want)
		})
	}
}

func TestLoadAllKeepsTheFirstDefinitionOfAName(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, ".mcp.json"), filepath.Join(folder, "second.json")
	broken, missing := filepath.Join(folder, "broken.json"), filepath.Join(folder, "missing.json")
	write(t, first, `{"mcpServers":{"a":{"command":"first"},"bad":{"command":7},"off":{"command":"x","disabled":true}}}`)
	write(t, second, `{"mcpServers":{"b":{"command":"second"},"a":{"command":"second"},"bad":{"command":"second"},"off":{"command":"y"},"c":{"command":"z","Url":""}}}`)
	write(t, broken, `{`)
	set, err := LoadAll([]string{first, broken, missing, second}, Options{HomeDir: folder})
	var p *Problem
	if !errors.As(err, &p) || p.Source != broken || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	var got, shadowed []string
	for _, d := range set.Servers {
		got = append(got, d.String()+" from "+filepath.Base(d.Source))
	}
	for _, s := range set.Shadowed {
		shadowed = append(shadowed, s.Name+" of "+filepath.Base(s.Source)+" by "+filepath.Base(s.By))
	}
	same(t, "servers", got, []string{"a (stdio): first from .mcp.json", "off (stdio): x from .mcp.json", "b (stdio): second from second.json", "c (stdio): z from second.json"})
	same(t, "shadowed", shadowed, []string{"a of second.json by .mcp.json", "bad of second.json by .mcp.json", "off of second.json by .mcp.json"})
	same(t, "problems", texts(set.Problems()), []string{first + `: server "bad": command: expected a string, got a number`})
	same(t, "warnings", texts(set.Warnings()), []string{second + `: server "c": Url: is ignored; did you mean "url"?`})

	third := filepath.Join(folder, "third.json")
	write(t, third, `{"mcpServers":{"a":{"command":7,"Args":[]},"d":{"command":7,"Args":[]}}}`)
	set, err = LoadAll([]string{first, third}, Options{HomeDir: folder})
	same(t, "error", err, nil)
	same(t, "problems of what counts", texts(set.Problems()), []string{first + `: server "bad": command: expected a string, got a number`, third + `: server "d": command: expected a string, got a number`})
	same(t, "warnings of what counts", texts(set.Warnings()), []string{third + `: server "d": Args: is ignored; did you mean "args"?`})

	set, err = LoadAll(make([]string, 257), Options{})
	same(t, "too many", errors.Is(err, ErrLimit), true)
	same(t, "never nil", len(set.Servers), 0)
}

func TestAPlainFileOfAProjectNeedsConsent(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	for content, format := range map[string]Format{
		`{"mcpServers":{"a":{"command":"./x","cwd":"."}}}`: Junction,
		`{"servers":{"a":{"command":"./x","cwd":"."}}}`:    VSCode,
	} {
		path := filepath.Join(folder, "mcp.json")
		write(t, path, content)
		for work, project := range map[string]bool{folder: true, elsewhere: false} {
			file, err := Load(path, Options{WorkDir: work, HomeDir: elsewhere})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "project", file.Project, project)
			same(t, "of its servers", file.Servers[0].Project, project)
			same(t, "format", file.Format, format)
		}
	}
}
