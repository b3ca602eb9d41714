package hostconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Host is a program whose configuration names servers.
type Host struct {
	ID   string // as people type it, such as "claude-code"
	Name string // the product's
	// Programs are the commands that start it.
	Programs []string
	// Reload says what the person does for a change to count.
	Reload string
	// Nowhere says why it has no file that could be changed; empty if it has.
	Nowhere string

	// Files, in which * stands for any name: project's are looked for in the folder worked in and above; user's begin with
	// a folder that userFolder knows, <home>, <apps>, <zed>, <goose> or <copilot>, or with a variable in capital letters that
	// names one; where that is set, the files after it do not count.
	user, project []string
	paths         []string // where entries are in them; the usual five if empty, see Parse
	names         names
}

// names are what the members of an entry are called.
type names struct {
	command, args, env string
	urls, headers      []string
}

var defaultNames = names{"command", "args", "env", []string{"url", "serverUrl", "httpUrl", "baseUrl"}, []string{"headers", "requestOptions"}}

const (
	bySelf  = "it reads the file again by itself"
	restart = "restart it"
)

// Hosts lists the hosts that are known.
func Hosts() []Host {
	return []Host{
		{ID: "claude-desktop", Name: "Claude Desktop", Reload: restart, user: []string{"<apps>/Claude/claude_desktop_config.json"}},
		{ID: "claude-code", Name: "Claude Code", Programs: []string{"claude"}, Reload: restart,
			user: []string{"<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"}, project: []string{".mcp.json"}},
		{ID: "cursor", Name: "Cursor", Programs: []string{"cursor", "cursor-agent"}, Reload: "switch the server off and on in its settings, or restart it",
			user: []string{"<home>/.cursor/mcp.json"}, project: []string{".cursor/mcp.json"}},
		{ID: "vscode", Name: "VS Code", Programs: []string{"code", "code-insiders"}, Reload: "restart the server there (MCP: List Servers)",
			user:    []string{"<apps>/Code/User/mcp.json", "<apps>/Code/User/profiles/*/mcp.json", "<apps>/Code - Insiders/User/mcp.json", "<apps>/VSCodium/User/mcp.json"},
			project: []string{".vscode/mcp.json"}},
		{ID: "windsurf", Name: "Windsurf", Programs: []string{"windsurf"}, Reload: "refresh the servers in its settings, or restart it",
			user: []string{"<home>/.codeium/windsurf/mcp_config.json"}},
		{ID: "zed", Name: "Zed", Programs: []string{"zed", "zeditor"}, Reload: bySelf,
			user: []string{"<zed>/settings.json"}, project: []string{".zed/settings.json"}},
		{ID: "cline", Name: "Cline", Programs: []string{"cline"}, Reload: bySelf,
			user: []string{"<apps>/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "<home>/.cline/data/settings/cline_mcp_settings.json"}},
		{ID: "roo", Name: "Roo Code", Reload: bySelf,
			user: []string{"<apps>/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"}, project: []string{".roo/mcp.json"}},
		{ID: "continue", Name: "Continue", Programs: []string{"cn"}, Reload: bySelf,
			user:    []string{"<home>/.continue/config.yaml", "<home>/.continue/mcpServers/*"},
			project: []string{".continue/mcpServers/*"}},
		{ID: "codex", Name: "Codex", Programs: []string{"codex"}, Reload: restart,
			user: []string{"<CODEX_HOME>/config.toml", "<home>/.codex/config.toml"}, project: []string{".codex/config.toml"},
			names: names{"command", "args", "env", []string{"url"}, []string{"bearer_token_env_var", "http_headers", "env_http_headers", "oauth_resource"}}},
		{ID: "gemini", Name: "Gemini CLI", Programs: []string{"gemini"}, Reload: restart,
			user: []string{"<home>/.gemini/settings.json"}, project: []string{".gemini/settings.json"}},
		{ID: "goose", Name: "Goose", Programs: []string{"goose"}, Reload: "start a new session",
			user:  []string{"<goose>/config.yaml"},
			paths: []string{"extensions"}, names: names{"cmd", "args", "envs", []string{"uri"}, []string{"headers"}}},
		{ID: "lmstudio", Name: "LM Studio", Programs: []string{"lms"}, Reload: bySelf,
			user: []string{"<home>/.lmstudio/mcp.json", "<home>/.cache/lm-studio/mcp.json"}},
		{ID: "cherry-studio", Name: "Cherry Studio", Reload: "import the file again",
			Nowhere: "Cherry Studio keeps its servers in a database of its own; with --config FILE junction changes JSON that is imported there, or take the entry out of its settings by hand"},
		{ID: "jetbrains", Name: "JetBrains (Junie and Copilot)", Programs: []string{"junie"}, Reload: "restart the IDE",
			user:    []string{"<home>/.junie/mcp/mcp.json", "<copilot>/intellij/mcp.json"},
			project: []string{".junie/mcp/mcp.json"}},
	}
}

// LookupHost finds a host by its ID, or by a program that starts it.
func LookupHost(name string) (h Host, byProgram, ok bool) {
	program := strings.TrimSuffix(filepath.Base(name), ".exe")
	for _, h := range Hosts() {
		if h.ID == name {
			return h, false, true
		}
	}
	for _, h := range Hosts() {
		if slices.Contains(h.Programs, program) {
			return h, true, true
		}
	}
	return Host{}, false, false
}

// Options say where files are looked for. The zero Options use the process's own environment and folders.
type Options struct {
	Getenv           func(string) string
	WorkDir, HomeDir string

	goos string // for tests
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.WorkDir == "" {
		o.WorkDir, _ = os.Getwd()
	}
	if o.HomeDir == "" {
		o.HomeDir, _ = os.UserHomeDir()
	}
	if o.goos == "" {
		o.goos = runtime.GOOS
	}
	return o
}

// Find lists the files of a host that exist, each once, those of the project first: in the folder worked in and, in a repository, those
// above it.
func Find(h Host, o Options) []string {
	o = o.withDefaults()
	var found []string
	var files []fs.FileInfo // a link may lead to one that another name had
	add := func(pattern string) {
		paths, _ := filepath.Glob(pattern) // the patterns are well formed, but for folders with brackets in their names
		if !strings.Contains(filepath.Base(pattern), "*") && !strings.Contains(pattern, string(filepath.Separator)+"*") {
			paths = []string{pattern}
		}
		for _, path := range paths {
			_, isKnown := syntaxOf(path)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && isKnown &&
				!slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
				found, files = append(found, path), append(files, info)
			}
		}
	}
	for _, folder := range projectFolders(o) {
		for _, name := range h.project {
			add(filepath.Join(folder, filepath.FromSlash(name)))
		}
	}
	for _, name := range h.user {
		where, rest, _ := strings.Cut(strings.TrimPrefix(name, "<"), ">")
		folder := userFolder(where, o)
		if filepath.IsAbs(folder) {
			add(filepath.Join(folder, filepath.FromSlash(rest)))
		}
		if folder != "" && where == strings.ToUpper(where) {
			break // the host looks nowhere else then
		}
	}
	return found
}

// userFolder is where a host keeps a person's settings; empty where the system has no such place.
func userFolder(name string, o Options) string {
	settings := o.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(settings) {
		settings = filepath.Join(o.HomeDir, ".config")
	}
	roaming, local := o.Getenv("APPDATA"), o.Getenv("LOCALAPPDATA")
	if roaming == "" {
		roaming = filepath.Join(o.HomeDir, "AppData", "Roaming")
	}
	if local == "" {
		local = filepath.Join(o.HomeDir, "AppData", "Local")
	}
	windows := o.goos == "windows"
	switch {
	case name == "home":
		return o.HomeDir
	case name == "apps" && o.goos == "darwin":
		return filepath.Join(o.HomeDir, "Library", "Application Support")
	case name == "apps" && windows:
		return roaming
	case name == "apps":
		return settings
	case name == "zed" && windows:
		return filepath.Join(roaming, "Zed")
	case name == "goose" && windows:
		return filepath.Join(roaming, "Block", "goose", "config")
	case name == "copilot" && windows:
		return filepath.Join(local, "github-copilot")
	case name == "zed", name == "goose":
		if o.goos == "darwin" {
			settings = filepath.Join(o.HomeDir, ".config")
		}
		return filepath.Join(settings, name)
	case name == "copilot":
		return filepath.Join(settings, "github-copilot")
	}
	return o.Getenv(name) // of a variable that says where
}

// projectFolders are the folder worked in and those above it up to the root of its repository; only the first when it is in
// none, as a folder above may be anybody's to write.
func projectFolders(o Options) []string {
	if o.WorkDir == "" {
		return nil
	}
	var list []string
	for at := filepath.Clean(o.WorkDir); ; at = filepath.Dir(at) {
		list = append(list, at)
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return list
		}
		if at == filepath.Dir(at) {
			return list[:1]
		}
	}
}

// syntaxOf judges a file by its name.
func syntaxOf(path string) (s syntax, ok bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".jsonc":
		return inJSON, true
	case ".yaml", ".yml":
		return inYAML, true
	case ".toml":
		return inTOML, true
	}
	return inJSON, false
}
