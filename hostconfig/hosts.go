package hostconfig

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
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
	// ReadsAll: where it has several files, the servers of all of them are its own.
	ReadsAll bool

	// Files, in which * stands for any name: project's are looked for in the folder worked in and above; user's begin with
	// a folder that userFolder knows, such as <home> or <apps>, or with a variable in capital letters that
	// names one; where that is set, the files after it do not count.
	user, project []string
	paths         []string // where entries are in them; the usual five if empty, see Parse
	root          string   // where the first one comes; mcpServers if empty
	names         names
	form          form
	variables     *dialect // nil: Junction's
	milliseconds  bool     // "timeout" is in them, and not in seconds
	triesBoth     bool     // "http" is HTTP+SSE where the server knows nothing newer
	unsets        bool     // null in env takes a variable out of the environment
	direct        *direct  // nil: its files are imported
	geminis       bool     // as Gemini CLI and its forks: "url" is of HTTP+SSE, and "mcp" lists servers that are not used
}

// form is what an entry of Junction has in a host's file in addition to command and args, or has with an address: "NAME=VALUE",
// or "NAME=[VALUE]" for a list.
type form struct {
	command, url []string
	urlName      string // empty: the host only starts programs
}

// names are what the members of an entry are called. Where there is no name for args, the command is a list with them.
type names struct {
	command, args, env string
	urls, headers      []string
}

var defaultNames = names{"command", "args", "env", []string{"url", "serverUrl", "httpUrl", "baseUrl"}, []string{"headers", "requestOptions"}}

// URLMembers are the names that hosts have for the address of a server.
func URLMembers() []string { return slices.Clone(defaultNames.urls) }

// Places are the members of a file in which servers are, with a dot before those of an object in it.
func Places() []string {
	return []string{"mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers"}
}

// HasScopes reports whether a file has servers of several projects, as that of Claude Code's user.
func HasScopes(path string) bool { return filepath.Base(path) == ".claude.json" }

// Unit is that of a number that is a time.
func (h Host) Unit() time.Duration {
	if h.milliseconds {
		return time.Millisecond
	}
	return time.Second
}

// Unsets reports whether null in the environment of an entry takes a variable out.
func (h Host) Unsets() bool { return h.unsets }

// Transport reads the type of an entry: stdio, http, sse, or auto for an address whose transport is to be found out.
func (h Host) Transport(written string) (kind string, ok bool) {
	kind, ok = map[string]string{
		"stdio": "stdio", "local": "stdio",
		"http": "http", "streamablehttp": "http", "sse": "sse", "remote": "auto",
	}[strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(written))]
	if h.triesBoth && strings.EqualFold(written, "http") {
		kind = "auto"
	}
	return kind, ok
}

const (
	bySelf  = "it reads the file again by itself"
	restart = "restart it"
)

// Hosts lists the hosts that are known. Those that package config reads as they are stay at their places: a Format is its number.
func Hosts() []Host {
	return []Host{
		{ID: "claude-desktop", Name: "Claude Desktop", Reload: restart, user: []string{"<apps>/Claude/claude_desktop_config.json"},
			variables: plainText, direct: &direct{rank: 3, tails: []string{"claude_desktop_config.json"}}},
		{ID: "claude-code", Name: "Claude Code", Programs: []string{"claude"}, Reload: restart,
			user: []string{"<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"}, project: []string{".mcp.json"},
			form: form{[]string{"type=stdio"}, []string{"type=http"}, "url"}, variables: bareBraces, milliseconds: true, direct: &direct{rank: 2, tails: []string{".claude.json"}}},
		{ID: "cursor", Name: "Cursor", Programs: []string{"cursor", "cursor-agent"}, Reload: "switch the server off and on in its settings, or restart it",
			user: []string{"<home>/.cursor/mcp.json"}, project: []string{".cursor/mcp.json"},
			form: form{urlName: "url"}, variables: cursors, direct: &direct{rank: 4}},
		{ID: "vscode", Name: "VS Code", Programs: []string{"code", "code-insiders"}, Reload: "restart the server there (MCP: List Servers)",
			user:    []string{"<apps>/Code/User/mcp.json", "<apps>/Code/User/profiles/*/mcp.json", "<apps>/Code - Insiders/User/mcp.json", "<apps>/VSCodium/User/mcp.json"},
			project: []string{".vscode/mcp.json"}, root: "servers",
			form: form{[]string{"type=stdio"}, []string{"type=http"}, "url"}, variables: inputBraces, triesBoth: true, unsets: true,
			direct: &direct{rank: 5, tails: []string{"Code*/User/mcp.json", "profiles/*/mcp.json"}, marks: []string{"servers", "inputs"}}},
		{ID: "windsurf", Name: "Windsurf", Programs: []string{"windsurf"}, Reload: "refresh the servers in its settings, or restart it",
			user: []string{"<home>/.codeium/windsurf/mcp_config.json"}, form: form{urlName: "serverUrl"},
			variables: windsurfs, direct: &direct{rank: 6, tails: []string{"mcp_config.json"}}},
		{ID: "zed", Name: "Zed", Programs: []string{"zed", "zeditor"}, Reload: bySelf,
			user: []string{"<zed>/settings.json"}, project: []string{".zed/settings.json"}, root: "context_servers",
			form: form{[]string{"source=custom"}, []string{"source=custom"}, "url"}, variables: plainText, direct: &direct{marks: []string{"context_servers"}}},
		{ID: "cline", Name: "Cline", Programs: []string{"cline"}, Reload: bySelf,
			user: []string{"<apps>/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "<home>/.cline/data/settings/cline_mcp_settings.json"},
			form: form{nil, []string{"type=streamableHttp"}, "url"}, variables: envBraces},
		{ID: "roo", Name: "Roo Code", Reload: bySelf,
			user: []string{"<apps>/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"}, project: []string{".roo/mcp.json"},
			form: form{nil, []string{"type=streamable-http"}, "url"}, variables: envBraces},
		{ID: "continue", Name: "Continue", Programs: []string{"cn"}, Reload: bySelf, ReadsAll: true,
			user:    []string{"<home>/.continue/config.yaml", "<home>/.continue/mcpServers/*"},
			project: []string{".continue/mcpServers/*"},
			form:    form{[]string{"name=junction"}, []string{"name=junction", "type=streamable-http"}, "url"}, variables: templates},
		{ID: "codex", Name: "Codex", Programs: []string{"codex"}, Reload: restart,
			user: []string{"<CODEX_HOME>/config.toml", "<home>/.codex/config.toml"}, project: []string{".codex/config.toml"},
			root: "mcp_servers", form: form{urlName: "url"}, variables: plainText,
			names: names{"command", "args", "env", []string{"url"}, []string{"bearer_token_env_var", "http_headers", "env_http_headers", "oauth_resource"}}},
		{ID: "gemini", Name: "Gemini CLI", Programs: []string{"gemini"}, Reload: restart,
			user: []string{"<home>/.gemini/settings.json"}, project: []string{".gemini/settings.json"},
			form: form{urlName: "httpUrl"}, variables: dollars, milliseconds: true, geminis: true},
		{ID: "qwen", Name: "Qwen Code", Programs: []string{"qwen"}, Reload: restart,
			user: []string{"<home>/.qwen/settings.json"}, project: []string{".qwen/settings.json"},
			form: form{urlName: "httpUrl"}, variables: dollars, milliseconds: true, geminis: true},
		{ID: "copilot", Name: "Copilot CLI", Programs: []string{"copilot"}, Reload: restart,
			user: []string{"<COPILOT_HOME>/mcp-config.json", "<home>/.copilot/mcp-config.json"},
			form: form{[]string{"type=local", "tools=[*]"}, []string{"type=http", "tools=[*]"}, "url"}, variables: bareBraces, milliseconds: true},
		{ID: "opencode", Name: "opencode", Programs: []string{"opencode"}, Reload: restart,
			user:    []string{"<config>/opencode/opencode.json", "<config>/opencode/opencode.jsonc", "<config>/opencode/config.json"},
			project: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
			paths:   []string{"mcp"}, root: "mcp", names: names{"command", "", "environment", []string{"url"}, []string{"headers"}},
			form: form{[]string{"type=local", "enabled=true"}, []string{"type=remote", "enabled=true"}, "url"}, variables: braces, milliseconds: true},
		{ID: "amp", Name: "Amp", Programs: []string{"amp"}, Reload: restart,
			user: []string{"<config>/amp/settings.json"}, project: []string{".amp/settings.json"},
			paths: []string{"amp.mcpServers"}, root: "amp.mcpServers", form: form{urlName: "url"}, variables: bareBraces},
		{ID: "crush", Name: "Crush", Programs: []string{"crush"}, Reload: restart,
			user: []string{"<crush>/crush.json"}, project: []string{"crush.json", ".crush.json"},
			paths: []string{"mcp"}, root: "mcp", form: form{[]string{"type=stdio"}, []string{"type=http"}, "url"}, variables: shells},
		{ID: "goose", Name: "Goose", Programs: []string{"goose"}, Reload: "start a new session",
			user:  []string{"<goose>/config.yaml"},
			paths: []string{"extensions"}, root: "extensions", names: names{"cmd", "args", "envs", []string{"uri"}, []string{"headers"}},
			form: form{[]string{"name=junction", "description=Junction", "type=stdio", "enabled=true"}, []string{"name=junction", "description=Junction", "type=streamable_http", "enabled=true"}, "uri"}, variables: keyring},
		{ID: "lmstudio", Name: "LM Studio", Programs: []string{"lms"}, Reload: bySelf,
			user: []string{"<home>/.lmstudio/mcp.json", "<home>/.cache/lm-studio/mcp.json"},
			form: form{urlName: "url"}, variables: plainText, milliseconds: true},
		{ID: "cherry-studio", Name: "Cherry Studio", Reload: "import the file again",
			Nowhere: "Cherry Studio keeps its servers in a database of its own: name a file of JSON that is imported there, with --config for junction host tap and --file for others, or change its settings by hand",
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

	GOOS string // by default, runtime.GOOS
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
	o.GOOS = cmp.Or(o.GOOS, runtime.GOOS)
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
	return search(h.project, h.userFiles(o), o)
}

// search lists the files that exist of those that a project's folders have by these names, and of the user's own.
func search(names, own []string, o Options) (found []File) {
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
	for _, folder := range ProjectFolders(o) {
		for _, name := range names {
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

// userFolder returns where a host keeps a user's settings; empty where the system has no such place. A name that is not
// listed is that of a variable that holds the folder.
func userFolder(name string, o Options) string {
	dotConfig := filepath.Join(o.HomeDir, ".config")
	settings := o.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(settings) {
		settings = dotConfig
	}
	roaming := cmp.Or(o.Getenv("APPDATA"), filepath.Join(o.HomeDir, "AppData", "Roaming"))
	local := cmp.Or(o.Getenv("LOCALAPPDATA"), filepath.Join(o.HomeDir, "AppData", "Local"))
	folders, known := map[string]struct{ usual, macOS, windows string }{
		"home":    {o.HomeDir, o.HomeDir, o.HomeDir},
		"own":     {settings, settings, roaming},
		"apps":    {settings, filepath.Join(o.HomeDir, "Library", "Application Support"), roaming},
		"config":  {settings, settings, settings},
		"zed":     {filepath.Join(settings, "zed"), filepath.Join(dotConfig, "zed"), filepath.Join(roaming, "Zed")},
		"goose":   {filepath.Join(settings, "goose"), filepath.Join(dotConfig, "goose"), filepath.Join(roaming, "Block", "goose", "config")},
		"crush":   {filepath.Join(settings, "crush"), filepath.Join(settings, "crush"), filepath.Join(local, "crush")},
		"copilot": {filepath.Join(settings, "github-copilot"), filepath.Join(settings, "github-copilot"), filepath.Join(local, "github-copilot")},
	}[name]
	switch {
	case !known:
		return o.Getenv(name)
	case o.GOOS == "darwin":
		return folders.macOS
	case o.GOOS == "windows":
		return folders.windows
	}
	return folders.usual
}

// ProjectFolders are the folder worked in and those above it up to the root of its repository; only the first when it is in
// none, as a folder above may be anybody's to write.
func ProjectFolders(o Options) []string {
	o = o.withDefaults()
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
