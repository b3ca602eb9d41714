package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/replay"
)

// An addedServer is a package that junction server add installs, and a call of one of its tools.
type addedServer struct {
	name, spec string
	args       []string // of its own
	tool       string
	arguments  string // in JSON; DIR stands for the folder of the test
	want       string // in the result; empty where the tool needs more than is here, and any answer will do
	learns     bool   // the call needs what no argument of the server says, and so what is only learned
	search     string // what a model looks for, which cannot be offered all of its tools: chat completions takes 128
	inCI       bool
}

func addedServers() []addedServer {
	return []addedServer{
		{name: "everything", spec: "npm:@modelcontextprotocol/server-everything@2026.8.31", tool: "get-sum", arguments: `{"a": 40, "b": 2}`, want: "42", inCI: true},
		{name: "memory", spec: "npm:@modelcontextprotocol/server-memory@2026.8.31", tool: "read_graph", want: "entities", inCI: true},
		{name: "filesystem", spec: "npm:@modelcontextprotocol/server-filesystem@2026.8.31", args: []string{"DIR"}, tool: "list_directory", arguments: `{"path": "DIR"}`, want: "added.txt", inCI: true},
		{name: "time", spec: "pypi:mcp-server-time@2026.10.19", tool: "get_current_time", arguments: `{"timezone": "UTC"}`, want: "UTC", inCI: true},
		{name: "git", spec: "pypi:mcp-server-git@2026.10.19", tool: "git_status", arguments: `{"repo_path": "DIR"}`, want: "added.txt", learns: true, inCI: true},

		{name: "thinking", spec: "npm:@modelcontextprotocol/server-sequential-thinking@2026.8.31", tool: "sequentialthinking", arguments: `{"thought": "a", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}`, want: "thoughtNumber"},
		{name: "hello", spec: "npm:mcp-hello-world@1.1.2", tool: "add", arguments: `{"a": 40, "b": 2}`, want: "42"},
		{name: "clock", spec: "npm:time-mcp@1.0.6", tool: "current_time", arguments: `{"format": "YYYY-MM-DD"}`, want: "20"},
		{name: "runner", spec: "npm:mcp-server-code-runner@0.1.8", tool: "run-code", arguments: `{"code": "console.log(6*7)", "languageId": "javascript"}`, want: "42"},
		{name: "pages", spec: "npm:mcp-fetch-server@1.1.2", tool: "fetch_html", arguments: `{"url": "https://example.com"}`},
		{name: "calc", spec: "npm:@coo-quack/calc-mcp@2.1.1", tool: "random", arguments: `{"type": "uuid"}`, want: "-"},
		{name: "commits", spec: "npm:@cyanheads/git-mcp-server@2.15.3", tool: "git_status", arguments: `{"path": "DIR"}`, want: "added.txt", learns: true},
		{name: "commander", spec: "npm:@wonderwhy-er/desktop-commander@0.2.52", tool: "get_config", want: "blockedCommands"},
		{name: "playwright", spec: "npm:@playwright/mcp@0.0.83", tool: "browser_close"},
		{name: "mermaid", spec: "npm:mcp-mermaid@0.4.1", tool: "generate_mermaid_diagram", arguments: `{"mermaid": "graph TD; A-->B"}`},
		{name: "shrimp", spec: "npm:mcp-shrimp-task-manager@1.0.21", tool: "list_tasks", arguments: `{"status": "all"}`, want: "split_tasks", learns: true},
		{name: "deepwiki", spec: "npm:mcp-deepwiki@0.0.10", tool: "deepwiki_fetch", arguments: `{"url": "a/b"}`},
		{name: "devtools", spec: "npm:chrome-devtools-mcp@1.11.0", tool: "list_pages"},
		{name: "flowbite", spec: "npm:flowbite-mcp@1.1.5", tool: "convert-figma-to-code", arguments: `{"figmaNodeUrl": "https://www.figma.com/design/a/b?node-id=1-1"}`},
		{name: "drawio", spec: "npm:@next-ai-drawio/mcp-server@0.2.3", tool: "get_diagram"},
		{name: "context7", spec: "npm:@upstash/context7-mcp@4.1.1", tool: "resolve-library-id", arguments: `{"query": "a", "libraryName": "a"}`},
		{name: "advisor", spec: "npm:llm-advisor-mcp@0.4.5", tool: "get_model_info", arguments: `{"model": "a"}`},
		{name: "debugger", spec: "npm:@hyperdrive-eng/mcp-nodejs-debugger@0.2.2", tool: "nodejs_inspect", arguments: `{"js_code": "1"}`, want: "debugger"},

		{name: "fetch", spec: "pypi:mcp-server-fetch@2026.10.24", tool: "fetch", arguments: `{"url": "https://example.com"}`},
		{name: "markitdown", spec: "pypi:markitdown-mcp@0.0.1a8", tool: "convert_to_markdown", arguments: `{"uri": "data:text/plain,hello"}`, want: "hello"},
		{name: "duckduckgo", spec: "pypi:duckduckgo-mcp-server@0.7.0", tool: "search", arguments: `{"query": "a"}`},
		{name: "calculator", spec: "pypi:mcp-server-calculator@0.2.1", tool: "calculate", arguments: `{"expression": "6*7"}`, want: "42"},
		{name: "sympy", spec: "pypi:mcp-sympy@0.1.0", tool: "sympy_factor", arguments: `{"expr": "x**2-1"}`, want: "(x - 1)*(x + 1)", search: "factor an expression"},
		{name: "wikipedia", spec: "pypi:wikipedia-mcp@2.0.1", tool: "search_wikipedia", arguments: `{"query": "a"}`},
		{name: "excel", spec: "pypi:excel-mcp-server@2.2.2", args: []string{"stdio", "--allow-dir", "DIR"}, tool: "create_workbook", arguments: `{"path": "DIR/a.xlsx", "overwrite": true}`, want: "a.xlsx"},
		{name: "sqlite", spec: "pypi:mcp-server-sqlite@2025.4.25", args: []string{"--db-path", "DIR/a.db"}, tool: "create_table", arguments: `{"query": "create table if not exists t (a)"}`, want: "created successfully", learns: true},
		{name: "papers", spec: "pypi:arxiv-mcp-server@0.8.2", tool: "list_papers", want: "total_papers"},
		{name: "word", spec: "pypi:office-word-mcp-server@1.1.11", tool: "create_document", arguments: `{"filename": "DIR/a.docx"}`, want: "created successfully", learns: true},
	}
}

// In is the server in a folder.
func (s addedServer) in(folder string) addedServer {
	fill := strings.NewReplacer("DIR", folder).Replace
	var args []string
	for _, word := range s.args {
		args = append(args, fill(word))
	}
	s.args, s.arguments = args, fill(s.arguments)
	if s.arguments == "" {
		s.arguments = "{}"
	}
	return s
}

// An addedWorld is where servers are added and used.
type addedWorld struct {
	env           []string
	configuration string
	junction      string
	offline       []string // begins the command line of what has no network
	rows          []string // of the table of what came of them
}

// What is added is behind junction up, starts a second time where there is no network, answers in a chat, and does the same in the profile that
// is learned of it. ADD_ALL=1 takes all servers, and not five; ADD_ALL=hello,clock takes these.
func TestServersThatAreAddedStartWithoutANetwork(t *testing.T) {
	t.Parallel()
	folder := folderAtHome(t)
	if err := os.WriteFile(filepath.Join(folder, "added.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "npm")
	program(t, "unshare")
	run(t, os.Environ(), program(t, "git"), "-C", folder, "init", "-q")
	w := addedWorld{junction: junction(t), offline: []string{"unshare", "--map-root-user", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}}
	w.env, w.configuration = addEnv(t)
	var added []addedServer
	took := map[string]time.Duration{}
	for _, s := range addedServers() {
		if all := os.Getenv("ADD_ALL"); all == "" && !s.inCI || all != "" && all != "1" && !slices.Contains(strings.Split(all, ","), s.name) {
			continue
		}
		s = s.in(folder)
		words := append([]string{w.junction, "add", s.spec, "--name", s.name, "--config", w.configuration, "--yes", "--sure", "--"}, s.args...)
		began := time.Now()
		if out, err := addWithin(t, 6*time.Minute, w.env, words); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, out)
			continue
		}
		took[s.name] = time.Since(began)
		added = append(added, s)
	}
	if _, stderr, err := tryRun(t, w.env, append(w.offline, "true")...); err != nil {
		t.Skipf("skip: this system lets nobody be without a network: %s", stderr)
	}
	up := append(append([]string{}, w.offline...), w.junction, "up", "--stdio", "--frozen", "--tools", "all", "--config", w.configuration)
	listed := run(t, w.env, append([]string{w.junction, "tools", "--"}, up...)...)
	for _, s := range added {
		t.Run(s.name, func(t *testing.T) {
			if !strings.Contains(listed, s.name+"__"+s.tool) {
				t.Errorf("junction up does not list %s__%s", s.name, s.tool)
			}
			w.answers(t, s, w.env, "behind up", !s.learns, append([]string{w.junction, "call", s.name + "__" + s.tool, s.arguments, "--"}, up...))
			began := time.Now()
			if _, stderr, err := tryRun(t, w.env, append(append([]string{}, w.offline...), w.junction, "ping", s.name, "--config", w.configuration)...); err != nil {
				t.Errorf("%v: %.500s", err, stderr)
			}
			start := time.Since(began)
			unlocked, code := w.unlocked(t, s)
			w.chats(t, s)
			w.learns(t, s, code)
			load, err := os.ReadFile("/proc/loadavg")
			if err != nil {
				t.Fatal(err)
			}
			w.rows = append(w.rows, fmt.Sprintf("%-11s %-66s %6.1f %9d %9s   %-5v %.4s", s.name, s.spec, took[s.name].Seconds(), start.Milliseconds(), unlocked, !t.Failed(), load))
		})
	}
	t.Logf("\n%-11s %-66s %6s %9s %9s   %-5s %s\n%s", "server", "package", "add s", "start ms", "npx ms", "good", "load", strings.Join(w.rows, "\n"))
}

// folderAtHome is a folder as that of a person's project: of what is temporary a confined program has its own, and learns nothing.
func folderAtHome(t *testing.T) string {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(home, "junction-added-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// answers calls a tool, without a network where the words say so, and returns the exit code: 0, or 1 where the tool itself failed.
func (w *addedWorld) answers(t *testing.T, s addedServer, env []string, how string, isWanted bool, words []string) (code int) {
	stdout, stderr, err := tryRun(t, env, words...)
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code = exit.ExitCode()
	}
	switch answered := code == 0 || code == 1 || code == 4; {
	case (s.want == "" || !isWanted) && answered:
	case s.want != "" && code == 0 && strings.Contains(stdout, s.want):
	default:
		t.Errorf("%s: exit code %d, want %q\n%.500s%.1500s", how, code, s.want, stdout, stderr)
	}
	return code
}

// chats has a model call the tool in a chat, and say what it returned.
func (w *addedWorld) chats(t *testing.T, s addedServer) {
	var arguments object
	if err := json.Unmarshal([]byte(s.arguments), &arguments); err != nil {
		t.Fatal(err)
	}
	turns := []replay.Turn{
		{Expect: replay.Expect{Tools: []string{s.tool}}, Calls: callOf(s.tool, arguments)},
		{Expect: returned(), Then: func(results []string) replay.Turn { return replay.Turn{Text: "It said: " + results[len(results)-1]} }},
	}
	if s.search != "" {
		turns = append([]replay.Turn{{Expect: asked("Try it"), Calls: callOf("search_tools", object{"queries": []string{s.search}})}}, turns...)
	}
	url := modelEndpoint(t, turns)
	words := []string{w.junction, "chat", s.name, "--config", w.configuration, "--frozen", "--base-url", url + "/v1", "--model", "recorded", "--tool-budget", "-1",
		"--allow", s.name + "/" + s.tool, "-p", "Try it."}
	stdout, stderr, err := tryRun(t, append(slices.Clone(w.env), "JUNCTION_MODEL="), words...)
	if err != nil || !strings.Contains(stdout, "It said: ") || !s.learns && !strings.Contains(stdout, s.want) {
		t.Errorf("in a chat: %v, want %q\n%.1000s%.2000s", err, s.want, stdout, stderr)
	}
}

// learns learns a profile, and uses the server in it, without a network where it does not ask for one. As the package manager starts it, the
// call ended with the exit code; -1 is unknown.
func (w *addedWorld) learns(t *testing.T, s addedServer, unlocked int) {
	said := run(t, w.env, w.junction, "sandbox", "learn", s.name, "--config", w.configuration, "--yes", "--call", s.tool+"="+s.arguments)
	for line := range strings.Lines(said) { // of what is temporary it has its own, where what others left there is not
		if refused, is := strings.CutPrefix(line, "With this profile: "); is && !strings.Contains(refused, " /tmp/") || strings.HasPrefix(line, "With this profile it does not start") {
			t.Errorf("learned:\n%s", said)
		}
	}
	shown := run(t, w.env, w.junction, "sandbox", "show", s.name, "--config", w.configuration)
	t.Logf("%s%s", said, shown)
	for _, wide := range []string{" /\n", " ~\n", " ~/.cache\n", " /tmp\n", " ~/.config\n"} {
		if strings.Contains(shown, wide) {
			t.Errorf("the profile has %q:\n%s", wide, shown)
		}
	}
	call := []string{w.junction, "call", s.name, s.tool, s.arguments, "--frozen", "--config", w.configuration}
	if s.want != "" {
		call = append(append([]string{}, w.offline...), call...)
	}
	if code := w.answers(t, s, w.env, "in its learned profile", true, call); unlocked >= 0 && code != unlocked {
		t.Errorf("in its learned profile the call ends with exit code %d, and as its package manager starts it with %d", code, unlocked)
	}
}

// unlocked is how long npx or uvx takes where all is in its cache, if it is there, and the exit code of the call then; -1 if it is unknown.
func (w *addedWorld) unlocked(t *testing.T, s addedServer) (ms string, code int) {
	kind, _, _ := strings.Cut(s.spec, ":")
	text, err := os.ReadFile(w.configuration)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	entry := file.Servers[s.name]
	words := append([]string{entry.Command}, entry.Args...)
	if kind == "pypi" {
		words[0] = filepath.Join(cache(t, "python"), "bin", "uvx")
	}
	if _, err := exec.LookPath(words[0]); err != nil || os.Getenv("ADD_ALL") == "" {
		return "-", -1
	}
	env := append(slices.Clone(w.env), "npm_config_ignore_scripts=true")              // as add does: some get a browser from where nobody here comes to
	_, _, _ = tryRun(t, env, append([]string{w.junction, "ping", "--"}, words...)...) // fills the cache, which may take longer than a start may
	code = w.answers(t, s, env, "as any other host starts it", true, append([]string{w.junction, "call", s.tool, s.arguments, "--"}, words...))
	began := time.Now()
	if _, stderr, err := tryRun(t, env, append([]string{w.junction, "ping", "--"}, words...)...); err != nil {
		t.Errorf("as any other host starts it: %v: %.1000s", err, stderr)
		return "-", code
	}
	return fmt.Sprint(time.Since(began).Milliseconds()), code
}
