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
	root          string   // where the first one comes; mcpServers if empty
	names         names
	form          form
	variables     dialect
	milliseconds  bool // "timeout" is in them, and not in seconds
}

// form is what an entry of Junction has in a host's file in addition to command and args, or has with an address: "NAME=VALUE".
type form struct {
	command, url []string
	urlName      string // empty: the host only starts programs
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
		{ID: "claude-desktop", Name: "Claude Desktop", Reload: restart, user: []string{"<apps>/Claude/claude_desktop_config.json"}, variables: plainText},
		{ID: "claude-code", Name: "Claude Code", Programs: []string{"claude"}, Reload: restart,
			user: []string{"<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"}, project: []string{".mcp.json"},
			form: form{[]string{"type=stdio"}, []string{"type=http"}, "url"}, variables: bareBraces, milliseconds: true},
		{ID: "cursor", Name: "Cursor", Programs: []string{"cursor", "cursor-agent"}, Reload: "switch the server off and on in its settings, or restart it",
			user: []string{"<home>/.cursor/mcp.json"}, project: []string{".cursor/mcp.json"},
			form: form{urlName: "url"}, variables: envBraces},
		{ID: "vscode", Name: "VS Code", Programs: []string{"code", "code-insiders"}, Reload: "restart the server there (MCP: List Servers)",
			user:    []string{"<apps>/Code/User/mcp.json", "<apps>/Code/User/profiles/*/mcp.json", "<apps>/Code - Insiders/User/mcp.json", "<apps>/VSCodium/User/mcp.json"},
			project: []string{".vscode/mcp.json"}, root: "servers",
			form: form{[]string{"type=stdio"}, []string{"type=http"}, "url"}, variables: inputBraces},
		{ID: "windsurf", Name: "Windsurf", Programs: []string{"windsurf"}, Reload: "refresh the servers in its settings, or restart it",
			user: []string{"<home>/.codeium/windsurf/mcp_config.json"}, form: form{urlName: "serverUrl"}, variables: envBraces},
		{ID: "zed", Name: "Zed", Programs: []string{"zed", "zeditor"}, Reload: bySelf,
			user: []string{"<zed>/settings.json"}, project: []string{".zed/settings.json"}, root: "context_servers",
			form: form{[]string{"source=custom"}, []string{"source=custom"}, "url"}, variables: plainText},
		{ID: "cline", Name: "Cline", Programs: []string{"cline"}, Reload: bySelf,
			user: []string{"<apps>/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "<home>/.cline/data/settings/cline_mcp_settings.json"},
			form: form{nil, []string{"type=streamableHttp"}, "url"}, variables: envBraces},
		{ID: "roo", Name: "Roo Code", Reload: bySelf,
			user: []string{"<apps>/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"}, project: []string{".roo/mcp.json"},
			form: form{nil, []string{"type=streamable-http"}, "url"}, variables: envBraces},
		{ID: "continue", Name: "Continue", Programs: []string{"cn"}, Reload: bySelf,
			user:    []string{"<home>/.continue/config.yaml", "<home>/.continue/mcpServers/*"},
			project: []string{".continue/mcpServers/*"},
			form:    form{[]string{"name=junction"}, []string{"name=junction", "type=streamable-http"}, "url"}, variables: templates},
		{ID: "codex", Name: "Codex", Programs: []string{"codex"}, Reload: restart,
			user: []string{"<CODEX_HOME>/config.toml", "<home>/.codex/config.toml"}, project: []string{".codex/config.toml"},
			root: "mcp_servers", form: form{urlName: "url"}, variables: plainText,
			names: names{"command", "args", "env", []string{"url"}, []string{"bearer_token_env_var", "http_headers", "env_http_headers", "oauth_resource"}}},
		{ID: "gemini", Name: "Gemini CLI", Programs: []string{"gemini"}, Reload: restart,
			user: []string{"<home>/.gemini/settings.json"}, project: []string{".gemini/settings.json"},
			form: form{urlName: "httpUrl"}, variables: dollars, milliseconds: true},
		{ID: "goose", Name: "Goose", Programs: []string{"goose"}, Reload: "start a new session",
			user:  []string{"<goose>/config.yaml"},
			paths: []string{"extensions"}, root: "extensions", names: names{"cmd", "args", "envs", []string{"uri"}, []string{"headers"}},
			form: form{[]string{"name=junction", "description=Junction", "type=stdio", "enabled=true"}, []string{"name=junction", "description=Junction", "type=streamable_http", "enabled=true"}, "uri"}, variables: keyring},
		{ID: "lmstudio", Name: "LM Studio", Programs: []string{"lms"}, Reload: bySelf,
			user: []string{"<home>/.lmstudio/mcp.json", "<home>/.cache/lm-studio/mcp.json"},
			form: form{urlName: "url"}, variables: plainText, milliseconds: true},
		{ID: "cherry-studio", Name: "Cherry Studio", Reload: "import the file again",
			Nowhere: "Cherry Studio keeps its servers in a database of its own: name a file of JSON that is imported there, with --config for junction tap and --file for others, or change its settings by hand",
			form:    form{[]string{"type=stdio", "isActive=true"}, []string{"type=streamableHttp", "isActive=true"}, "baseUrl"}, variables: plainText},
		{ID: "jetbrains", Name: "JetBrains (Junie and Copilot)", Programs: []string{"junie"}, Reload: "restart the IDE",
			user:    []string{"<home>/.junie/mcp/mcp.json", "<copilot>/intellij/mcp.json"},
			project: []string{".junie/mcp/mcp.json"}, form: form{urlName: "url"}, variables: inputBraces},
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

// A File is one of a host.
type File struct {
	Path    string
	Project string // the folder that it is for; empty for a person's own
}

// Find lists the files of a host that exist, each once, those of the project first: in the folder worked in and, in a repository, those
// above it.
func Find(h Host, o Options) []string {
	var paths []string
	for _, f := range Files(h, o) {
		paths = append(paths, f.Path)
	}
	return paths
}

// Files is [Find] with what the files are for.
func Files(h Host, o Options) []File {
	o = o.withDefaults()
	var found []File
	var files []fs.FileInfo // a link may lead to one that another name had
	add := func(pattern, project string) {
		paths, _ := filepath.Glob(pattern) // the patterns are well formed, but for folders with brackets in their names
		if !isPattern(pattern) {
			paths = []string{pattern}
		}
		for _, path := range paths {
			_, isKnown := syntaxOf(path)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && isKnown &&
				!slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
				found, files = append(found, File{path, project}), append(files, info)
			}
		}
	}
	own := h.userFiles(o)
	for _, folder := range projectFolders(o) {
		for _, name := range h.project {
			path := filepath.Join(folder, filepath.FromSlash(name))
			if slices.ContainsFunc(own, func(pattern string) bool { is, _ := filepath.Match(pattern, path); return is || pattern == path }) {
				continue // the home folder is no project
			}
			add(path, folder)
		}
	}
	for _, pattern := range own {
		add(pattern, "")
	}
	return found
}

// Default is where a host looks for a person's own file, which need not be there; empty where there is no such place.
func Default(h Host, o Options) string {
	for _, path := range h.userFiles(o.withDefaults()) {
		if !isPattern(path) {
			return path
		}
	}
	return ""
}

func isPattern(path string) bool {
	return strings.Contains(filepath.Base(path), "*") || strings.Contains(path, string(filepath.Separator)+"*")
}

// userFiles are where a host looks for a person's own files, in some with * for any name.
func (h Host) userFiles(o Options) (paths []string) {
	for _, name := range h.user {
		where, rest, _ := strings.Cut(strings.TrimPrefix(name, "<"), ">")
		folder := userFolder(where, o)
		if filepath.IsAbs(folder) {
			paths = append(paths, filepath.Join(folder, filepath.FromSlash(rest)))
		}
		if folder != "" && where == strings.ToUpper(where) {
			break // the host looks nowhere else then
		}
	}
	return paths
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
