package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A realServer is a server that people use, with one call that proves it works.
type realServer struct {
	name      string
	argv      func(t testing.TB) []string // or
	url       func(t testing.TB) string
	tools     int // at least
	tool      string
	arguments func(t testing.TB) map[string]any
	want      string // in the text of the result
	resource  string // to read, or ""
	prompt    string // to get, or ""
	promptArg map[string]string
}

// server returns what a client needs to reach it: a command or a URL.
func (s realServer) target(t testing.TB) (argv []string, url string) {
	t.Helper()
	if s.url != nil {
		return nil, s.url(t)
	}
	return s.argv(t), ""
}

// started is the server with what it needs, such as a database, running once for all
// commands of a test.
func (s realServer) started(t testing.TB) realServer {
	t.Helper()
	argv, url := s.target(t)
	s.argv = func(testing.TB) []string { return argv }
	if url != "" {
		s.url = func(testing.TB) string { return url }
	}
	return s
}

func fixed(arguments map[string]any) func(testing.TB) map[string]any {
	return func(testing.TB) map[string]any { return arguments }
}

// npmServer is a server of an npm package.
func npmServer(script string, arguments ...string) func(testing.TB) []string {
	return func(t testing.TB) []string {
		return append([]string{node(t), npm(t, "servers", "node_modules", filepath.FromSlash(script))}, arguments...)
	}
}

// realServers shares one sandbox folder with a file, a Git repository and a page.
func realServers(t testing.TB) []realServer {
	t.Helper()
	dir := sandbox(t)
	page := pageServer(t)
	echo := fixed(map[string]any{"text": "hé"})
	fastmcp := serverByTransport("python")
	return []realServer{
		{name: "everything", argv: npmServer("@modelcontextprotocol/server-everything/dist/index.js", "stdio"),
			tools: 8, tool: "echo", arguments: fixed(map[string]any{"message": "hi"}), want: "Echo: hi",
			resource: "demo://resource/static/document/features.md",
			prompt:   "args-prompt", promptArg: map[string]string{"city": "Oslo"}},
		{name: "filesystem", argv: npmServer("@modelcontextprotocol/server-filesystem/dist/index.js", dir),
			tools: 8, tool: "read_text_file", arguments: fixed(map[string]any{"path": filepath.Join(dir, "hello.txt")}), want: "hello from a file"},
		{name: "memory", argv: func(t testing.TB) []string {
			argv := npmServer("@modelcontextprotocol/server-memory/dist/index.js")(t)
			return append([]string{program(t, "env"), "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}, argv...)
		},
			tools: 8, tool: "create_entities", arguments: fixed(map[string]any{"entities": []any{
				map[string]any{"name": "Ada", "entityType": "person", "observations": []any{"wrote programs"}}}}), want: "Ada"},
		{name: "thinking", argv: npmServer("@modelcontextprotocol/server-sequential-thinking/dist/index.js"),
			tools: 1, tool: "sequentialthinking", arguments: fixed(map[string]any{
				"thought": "one", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}), want: "thoughtNumber"},
		{name: "commander", argv: func(t testing.TB) []string {
			argv := npmServer("@wonderwhy-er/desktop-commander/dist/index.js", "--no-onboarding")(t)
			return append([]string{program(t, "env"), "HOME=" + t.TempDir()}, argv...)
		},
			tools: 10, tool: "read_file", arguments: fixed(map[string]any{"path": filepath.Join(dir, "hello.txt")}), want: "hello from a file"},
		{name: "playwright", argv: func(t testing.TB) []string {
			return npmServer("@playwright/mcp/cli.js", "--headless", "--no-sandbox", "--isolated",
				"--executable-path", program(t, "chromium"), "--output-dir", t.TempDir())(t)
		},
			tools: 10, tool: "browser_navigate", arguments: fixed(map[string]any{"url": page}), want: "Junction test page"},
		{name: "mysql", argv: func(t testing.TB) []string {
			return append(mariaDB(t), npmServer("mysql-mcp-server/build/index.js")(t)...)
		},
			tools: 1, tool: "execute_query", arguments: fixed(map[string]any{
				"database": "shop", "query": "SELECT name FROM fruit ORDER BY name"}), want: "quince"},
		{name: "time", argv: func(t testing.TB) []string {
			return []string{python(t, "mcp-server-time"), "--local-timezone", "Europe/Oslo"}
		},
			tools: 2, tool: "convert_time", arguments: fixed(map[string]any{
				"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}), want: "+9.0h"},
		{name: "git", argv: func(t testing.TB) []string {
			return []string{python(t, "mcp-server-git"), "--repository", filepath.Join(dir, "repo")}
		},
			tools: 8, tool: "git_log", arguments: fixed(map[string]any{"repo_path": filepath.Join(dir, "repo"), "max_count": 1}), want: "first commit"},
		{name: "fastmcp", argv: func(t testing.TB) []string { return serverNamed(t, "python").argv(t) },
			tools: 12, tool: "echo", arguments: echo, want: "hé", resource: "test://static",
			prompt: "greet", promptArg: map[string]string{"name": "Ada"}},
		{name: "fastmcphttp", url: fastmcp("http"), tools: 12, tool: "echo", arguments: echo, want: "hé", resource: "test://static"},
		{name: "fastmcpsse", url: fastmcp("sse"), tools: 12, tool: "echo", arguments: echo, want: "hé", resource: "test://static"},
	}
}

func serverByTransport(name string) func(over string) func(testing.TB) string {
	return func(over string) func(testing.TB) string {
		return func(t testing.TB) string { return serverNamed(t, name).target(t, over, "")[1] }
	}
}

// sandbox makes a folder with a file and a Git repository.
func sandbox(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello from a file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git := program(t, "git")
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	run(t, env, git, "init", "-q", repo)
	run(t, env, git, "-C", repo, "-c", "user.name=Ada", "-c", "user.email=ada@example.com",
		"commit", "-q", "--allow-empty", "-m", "first commit")
	return dir
}

// pageServer serves one page.
func pageServer(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>Junction test page</title><h1>Junction test page</h1><p>A page to read.</p>")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The servers work with the clients of their own world, called as the tests below call
// them through Junction.
func TestPeersReachTheRealServers(t *testing.T) {
	t.Parallel()
	for _, server := range realServers(t) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			argv, url := server.target(t)
			target := append([]string{"--stdio"}, argv...)
			if url != "" {
				target = []string{"--" + strings.TrimPrefix(filepath.Base(url), "/"), url}
				target[0] = map[string]string{"--mcp": "--http", "--sse": "--sse"}[target[0]]
			}
			script := []step{{"op": "list"}, {"op": "call", "name": server.tool, "arguments": server.arguments(t)}}
			if server.resource != "" {
				script = append(script, step{"op": "read", "uri": server.resource})
			}
			lines := clientNamed(t, "gosdk").run(t, target, legacyNewest, script, willing)
			server.verify(t, lines[1].Tools, lines[2].Text, lines[2].IsError)
			if server.resource != "" && lines[3].Text == "" {
				t.Errorf("read nothing: %+v", lines[3])
			}
		})
	}
}

func (s realServer) verify(t *testing.T, tools []string, text string, isError bool) {
	t.Helper()
	if len(tools) < s.tools || !slices.Contains(tools, s.tool) {
		t.Errorf("tools are %q, want at least %d and %s", tools, s.tools, s.tool)
	}
	if isError || !strings.Contains(text, s.want) {
		t.Errorf("%s said %.1000q (isError %v), want %q in it", s.tool, text, isError, s.want)
	}
}

// What `junction … --json` prints: the result object of the specification.
type listToolsResult struct {
	Tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
}

type callToolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	IsError bool `json:"isError"`
}

func (r callToolResult) text() string {
	var texts []string
	for _, c := range r.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// command runs junction with the server named as the command line does: a URL is the
// first argument, a command follows "--". It decodes what --json prints.
func command(t *testing.T, server realServer, result any, verb string, arguments ...string) {
	t.Helper()
	argv, url := server.target(t)
	line := []string{junction(t), verb}
	if url != "" {
		line = append(line, url)
	}
	line = append(append(line, arguments...), "--json")
	if url == "" {
		line = append(append(line, "--"), argv...)
	}
	out := run(t, isolated(t), line...)
	if err := json.Unmarshal([]byte(out), result); err != nil {
		t.Fatalf("junction %s printed %.500q: %v", verb, out, err)
	}
}

// isolated is an environment without the user's own Junction settings.
func isolated(t testing.TB) []string {
	t.Helper()
	home := t.TempDir()
	return append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "JUNCTION_KEYRING=off")
}

func TestRealServersFromTheCommandLine(t *testing.T) {
	t.Parallel()
	junction(t)
	for _, server := range realServers(t) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			server := server.started(t)
			var listed listToolsResult
			command(t, server, &listed, "tools")
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
				if !strings.HasPrefix(strings.TrimSpace(string(tool.InputSchema)), "{") {
					t.Errorf("the schema of %s is %.100s", tool.Name, tool.InputSchema)
				}
			}
			var called callToolResult
			command(t, server, &called, "call", server.tool, "--args", encode(t, server.arguments(t)))
			server.verify(t, names, called.text(), called.IsError)
			server.readAndPrompt(t)
		})
	}
}

func (s realServer) readAndPrompt(t *testing.T) {
	t.Helper()
	if s.resource != "" {
		var read struct {
			Contents []struct{ URI, Text string } `json:"contents"`
		}
		command(t, s, &read, "read", s.resource)
		if len(read.Contents) == 0 || read.Contents[0].URI != s.resource || read.Contents[0].Text == "" {
			t.Errorf("read %+v", read)
		}
	}
	if s.prompt != "" {
		var got struct {
			Messages []json.RawMessage `json:"messages"`
		}
		arguments := []string{s.prompt}
		for name, value := range s.promptArg {
			arguments = append(arguments, name+"="+value)
		}
		command(t, s, &got, "prompt", arguments...)
		if len(got.Messages) == 0 {
			t.Error("the prompt has no messages")
		}
	}
}

// upConfig writes a configuration file in the mcpServers format.
func upConfig(t testing.TB, servers []realServer) string {
	t.Helper()
	entries := map[string]any{}
	for _, s := range servers {
		argv, url := s.target(t)
		if url != "" {
			entries[s.name] = map[string]any{"url": url}
			continue
		}
		entries[s.name] = map[string]any{"command": argv[0], "args": argv[1:]}
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(encode(t, map[string]any{"mcpServers": entries})), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// All servers work at the same time behind one endpoint. A part that is not installed
// skips the test: then TestRealServersFromTheCommandLine says which.
func TestRealServersBehindOneEndpoint(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	servers := realServers(t)
	config := upConfig(t, servers)
	address := freeAddress(t)
	serving(t, isolated(t), address, binary, "up", "--tools", "all", "--config", config, "--http", address)
	target := []string{"--http", "http://" + address + "/mcp"}
	client := clientNamed(t, "ts-v2")

	tools := listedOf(t, client, target, servers)
	var script []step
	for _, s := range servers {
		script = append(script, step{"op": "call", "name": prefixed(t, tools, s.name, s.tool), "arguments": s.arguments(t), "timeoutMs": 60000})
	}
	lines := client.run(t, target, "", script, willing)
	for i, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			if l := lines[i+1]; !l.OK || l.IsError || !strings.Contains(l.Text, s.want) {
				t.Errorf("%s said %.1000q (error %+v), want %q in it", s.tool, l.Text, l.Error, s.want)
			}
		})
	}
}

// listedOf lists the tools until every server has some: those that are slow to start come
// later than the first list.
func listedOf(t *testing.T, client probeClient, target []string, servers []realServer) (tools []string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		tools = client.run(t, target, "", []step{{"op": "list"}}, willing)[1].Tools
		if !slices.ContainsFunc(servers, func(s realServer) bool {
			return !slices.ContainsFunc(tools, func(tool string) bool { return strings.HasPrefix(tool, s.name+"__") })
		}) {
			break
		}
	}
	return tools
}

// prefixed finds the name that a gateway gives to the tool of a server: the server's
// name, something between, the tool's name.
func prefixed(t testing.TB, tools []string, server, tool string) string {
	t.Helper()
	for _, name := range tools {
		between, found := strings.CutPrefix(name, server)
		between, ends := strings.CutSuffix(between, tool)
		if found && ends && len(between) > 0 && len(between) <= 2 {
			return name
		}
	}
	t.Errorf("no tool for %s of %s among %q", tool, server, tools)
	return server + "_" + tool
}
