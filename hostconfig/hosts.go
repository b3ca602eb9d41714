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

// A Host is a program with a configuration file that lists servers.
type Host struct {
	ID   string // as users type it, such as "claude-code"
	Name string // name of the product
	// Programs lists the commands that start the host.
	Programs []string
	// Reload tells the user how to make a change take effect.
	Reload string
	// Nowhere is the reason why the host has no file that can be changed. It is empty if the host
	// has one.
	Nowhere string
	// ReadsAll is set if the host uses the servers of all its files.
	ReadsAll bool

	// The patterns of the host's files, in which * matches any name. project files are searched in
	// the current folder and in the folders above it. user files begin with a name in angle
	// brackets: a folder of [userFolder], such as <home> or <apps>, or an environment variable that
	// holds a folder. If the variable is set, the host ignores all later patterns.
	user, project []string
	paths         []string // members that can contain servers; empty means [Places]
	root          string   // member for the first entry; if empty, mcpServers
	names         names
	form          form
	variables     *dialect // nil for Junction's
	milliseconds  bool     // whether "timeout" is in milliseconds instead of seconds
	triesBoth     bool     // whether "http" falls back to HTTP+SSE for older servers
	unsets        bool     // whether null in env removes a variable
	direct        *direct  // nil if its files are imported
	geminis       bool     // whether it uses the format of Gemini CLI: "url" means HTTP+SSE, and "mcp" lists excluded servers
}

// form holds the additional members that the host needs in Junction's entry, with a command or with
// an address. Each is "NAME=VALUE", or "NAME=[VALUE]" for a list.
type form struct {
	command, url []string
	urlName      string // member for the address; empty if the host only starts programs
}

// names holds the names of an entry's members. If args is empty, the command is a list that
// includes the arguments.
type names struct {
	command, args, env string
	urls, headers      []string
}

var defaultNames = names{"command", "args", "env", []string{"url", "serverUrl", "httpUrl", "baseUrl"}, []string{"headers", "requestOptions"}}

// URLMembers returns the names that hosts use for the member with a server's address.
func URLMembers() []string { return slices.Clone(defaultNames.urls) }

// Places returns the members of a file that can contain servers. A dot separates nested names.
func Places() []string {
	return []string{"mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers"}
}

// HasScopes reports whether a file has servers of several projects. The user's file of Claude Code
// is an example.
func HasScopes(path string) bool { return filepath.Base(path) == ".claude.json" }

// Unit returns the unit of the host's timeouts.
func (h Host) Unit() time.Duration {
	if h.milliseconds {
		return time.Millisecond
	}
	return time.Second
}

// Unsets reports whether null in the environment of an entry removes a variable.
func (h Host) Unsets() bool { return h.unsets }

// Transport converts the type that an entry names to stdio, http or sse, or to auto for an address
// whose transport is unknown.
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

// Hosts lists the known hosts. The hosts with a direct must keep their order, because it determines
// the values of config.Format.
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
			Nowhere: "Cherry Studio keeps its servers in its own database: name a JSON file to import there, with --config for junction host tap and --file for other commands, or change its settings by hand",
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

// Options determine where files are searched. The zero Options use the environment and folders of
// this process.
type Options struct {
	Getenv           func(string) string
	WorkDir, HomeDir string

	GOOS string // the default is runtime.GOOS
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

// A File is a file of a host.
type File struct {
	Path    string
	Project string // folder of the file's project; empty for a user's file
}

// Find lists the existing files of a host without duplicates. Files of projects come first. These
// are the files in the current folder and, in a repository, those in the folders above it.
func Find(h Host, o Options) []string {
	var paths []string
	for _, f := range Files(h, o) {
		paths = append(paths, f.Path)
	}
	return paths
}

// Files is like [Find], and also returns the projects of the files.
func Files(h Host, o Options) []File {
	o = o.withDefaults()
	return search(h.project, h.userFiles(o), o)
}

// search lists the existing files with the given names in the project's folders, then the user's
// own.
func search(names, own []string, o Options) (found []File) {
	var files []fs.FileInfo // detects links to a file that was already found
	add := func(pattern, project string) {
		paths, _ := filepath.Glob(pattern) // the pattern is well formed unless the name of a folder contains a bracket
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
				continue // a user's file in the home folder belongs to no project
			}
			add(path, folder)
		}
	}
	for _, pattern := range own {
		add(pattern, "")
	}
	return found
}

// Default returns the path of the user's own file of a host, which may not exist. It returns "" if
// the path is not fixed.
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

// userFiles returns the paths of a user's own files of the host. In some of them * matches any
// name.
func (h Host) userFiles(o Options) (paths []string) {
	for _, name := range h.user {
		where, rest, _ := strings.Cut(strings.TrimPrefix(name, "<"), ">")
		folder := userFolder(where, o)
		if filepath.IsAbs(folder) {
			paths = append(paths, filepath.Join(folder, filepath.FromSlash(rest)))
		}
		if folder != "" && where == strings.ToUpper(where) {
			break // the host then ignores all other places
		}
	}
	return paths
}

// userFolder returns the folder for a name in angle brackets, or "" if this system has none. Any
// name that is not listed is an environment variable that holds the folder.
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

// ProjectFolders returns the current folder and those above it up to the root of its repository.
// Outside of a repository it returns only the current folder, because other users may be able to
// write to the folders above.
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

// syntaxOf returns the syntax for the name of a file.
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
