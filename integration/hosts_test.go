package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A realHost is a program that talks to a model and calls tools, from npm.
type realHost struct {
	name string
	// command is how it is asked one question, in a home of its own, with junction as its only server: an entry as its
	// configuration has it, and tools that it may call unasked.
	command func(t *testing.T, home, model string, entry object, tools []string, question string) (argv, env []string)
	// answer reads what it printed.
	answer func(t *testing.T, stdout string) string
}

var realHosts = []realHost{
	{"Claude Code", claudeCode, func(t *testing.T, stdout string) string {
		var printed struct {
			IsError bool `json:"is_error"`
			Result  string
		}
		if err := json.Unmarshal([]byte(stdout), &printed); err != nil || printed.IsError {
			t.Errorf("it printed %.2000s", stdout)
		}
		return printed.Result
	}},
	{"Codex", codex, func(t *testing.T, stdout string) (answer string) {
		for line := range strings.Lines(stdout) {
			var event struct{ Item struct{ Type, Text string } }
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Errorf("it printed %.2000s", line)
			}
			if event.Item.Type == "agent_message" {
				answer = event.Item.Text
			}
		}
		return answer
	}},
}

// platform is what the npm packages of a host call this system.
func platform() string {
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
}

func claudeCode(t *testing.T, home, model string, entry object, tools []string, question string) (argv, env []string) {
	if _, byURL := entry["url"]; byURL {
		entry["type"] = "http"
	}
	config := filepath.Join(home, "junction.json")
	writeFile(t, config, encode(t, object{"mcpServers": object{"junction": entry}}))
	var allowed []string
	for _, tool := range tools {
		allowed = append(allowed, "mcp__junction__"+tool)
	}
	argv = []string{npm(t, "hosts", "node_modules", "@anthropic-ai", "claude-code-"+platform(), "claude"), "-p", question,
		"--mcp-config", config, "--strict-mcp-config", "--allowedTools", strings.Join(allowed, ","), "--output-format", "json"}
	return argv, []string{"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=none", "ENABLE_TOOL_SEARCH=false", // its own, not Junction's
		"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}

func codex(t *testing.T, home, model string, entry object, tools []string, question string) (argv, env []string) {
	config := fmt.Sprintf(`model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
mcp_oauth_credentials_store = "file"
analytics = {enabled = false}
model_providers.scripted = {name = "scripted", base_url = %q, wire_api = "responses", env_key = "SCRIPTED_KEY"}

[mcp_servers.junction]
`, model+"/v1")
	for name, value := range entry {
		config += name + " = " + encode(t, value) + "\n"
	}
	for _, tool := range tools {
		config += fmt.Sprintf("tools.%s.approval_mode = \"approve\"\n", tool)
	}
	writeFile(t, filepath.Join(home, ".codex", "config.toml"), config)
	found, err := filepath.Glob(npm(t, "hosts", "node_modules", "@openai", "codex-"+platform(), "vendor") + "/*/bin/codex")
	if err != nil || len(found) != 1 {
		missing(t, "codex is not where it was: %v %v", found, err)
	}
	return []string{found[0], "exec", "--skip-git-repo-check", "--json", question}, []string{"SCRIPTED_KEY=none"}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// homeEnv is the environment of a person with that home. Nothing is of this process's own: it may have a host's.
func homeEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_PROXY=127.0.0.1", "HTTPS_PROXY=http://127.0.0.1:9", "JUNCTION_KEYRING=off"}
}

// ask asks a host one question in an empty folder, and returns its answer.
func (h realHost) ask(t *testing.T, home string, model *hostModel, entry object, tools []string, question string) string {
	t.Helper()
	argv, env := h.command(t, home, model.url, entry, tools, question)
	stdout, stderr, err := tryRun(t, append(env, homeEnv(home)...), append([]string{program(t, "env"), "-C", t.TempDir()}, argv...)...)
	if err != nil {
		t.Errorf("%s: %v\nstdout: %.3000s\nstderr: %.3000s", h.name, err, stdout, stderr)
	}
	return h.answer(t, stdout)
}

// aloneEnv is set where a test was started again without a network.
const aloneEnv = "JUNCTION_INTEGRATION_ALONE"

// withoutNetwork runs a test once more where there is no network but a loopback of its own, if this system can do that,
// and reports whether the caller is to go on: there, or where there is no such place.
func withoutNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneEnv) != "" {
		return true
	}
	again := []string{os.Args[0], "-test.v", "-test.run", "^" + t.Name() + "$"}
	argv := alone(t, again)
	if len(argv) == len(again) {
		return true
	}
	stdout, stderr, err := tryRun(t, append(os.Environ(), aloneEnv+"=1", "JUNCTION_BIN="+junction(t)), argv...)
	t.Logf("without a network:\n| %s", strings.ReplaceAll(stdout+stderr, "\n", "\n| ")) // no line may look like a test of this run
	if err != nil {
		t.Error(err)
	}
	return false
}

// notes is a server of this process that writes down what reaches it.
type notes struct {
	mu   sync.Mutex
	kept []string
	url  string
}

func newNotes(t *testing.T) *notes {
	n := &notes{}
	s := mcp.NewServer("notes", "1.0.0")
	mcp.AddTool(s, "keep", func(_ context.Context, in struct {
		Text  string `json:"text"`
		Times int    `json:"times"`
	}) (string, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.kept = append(n.kept, fmt.Sprint(in.Text, " × ", in.Times))
		return fmt.Sprintf("note %d is kept", len(n.kept)), nil
	})
	site := httptest.NewServer(streamable.Handler(s))
	t.Cleanup(site.Close)
	n.url = site.URL
	return n
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.kept)
}

// behindHosts is a configuration with notes, a real server that keeps entities in a file, and some 25 tools that nobody needs.
func behindHosts(t *testing.T) (config string, n *notes, file string) {
	t.Helper()
	n, file = newNotes(t), filepath.Join(t.TempDir(), "memory.jsonl")
	memory := npmServer("@modelcontextprotocol/server-memory/dist/index.js")(t)
	config = filepath.Join(t.TempDir(), "mcp.json")
	writeFile(t, config, encode(t, object{"mcpServers": object{
		"notes":  object{"url": n.url},
		"memory": object{"command": memory[0], "args": memory[1:], "env": object{"MEMORY_FILE_PATH": file}},
		"others": object{"command": junction(t), "args": []string{"serve", "everything"}},
	}}))
	return config, n, file
}

// entryFor is junction up as a host's configuration names it: as a program, or as one that runs already. It remembers what
// its servers offer: these hosts list once, and do not wait for servers that were never seen.
func entryFor(t *testing.T, home, over, config string, flags ...string) object {
	t.Helper()
	for _, server := range []string{"notes", "memory", "others"} {
		run(t, homeEnv(home), junction(t), "tools", server, "--config", config)
	}
	if over == "stdio" {
		return object{"command": junction(t), "args": append([]string{"up", "--stdio", "--config", config}, flags...)}
	}
	address := freeAddress(t)
	serving(t, homeEnv(home), address, append([]string{junction(t), "up", "--config", config, "--http", address}, flags...)...)
	return object{"url": "http://" + address + "/mcp"}
}

func given(arguments any) func([]string) any { return func([]string) any { return arguments } }

// Real hosts, whose model is scripted, call tools of two servers through junction up: the host offers them to the model
// by the names that Junction gave, the calls reach the servers, and the results come back to the model.
func TestRealHostsCallToolsThroughUp(t *testing.T) {
	t.Parallel()
	junction(t)
	npm(t, "hosts")
	npm(t, "servers")
	if !withoutNetwork(t) {
		return
	}
	for _, host := range realHosts {
		for _, over := range []string{"http", "stdio"} {
			t.Run(host.name+" over "+over, func(t *testing.T) {
				home := t.TempDir()
				config, notes, file := behindHosts(t)
				model := newHostModel(t,
					hostCall{"notes__keep", given(object{"text": "hé ✓ \"quoted\"", "times": 3})},
					hostCall{"memory__create_entities", given(object{"entities": []object{{"name": "Ada", "entityType": "person", "observations": []string{"met " + host.name}}}})},
				)
				answer := host.ask(t, home, model, entryFor(t, home, over, config), []string{"notes__keep", "memory__create_entities"}, "Keep a note, and remember Ada.")
				if kept := notes.all(); !slices.Equal(kept, []string{`hé ✓ "quoted" × 3`}) {
					t.Errorf("the server was called with %q", kept)
				}
				if entities, err := os.ReadFile(file); err != nil || !strings.Contains(string(entities), "met "+host.name) {
					t.Errorf("the real server keeps %q, %v", entities, err)
				}
				requests := model.seen(t)
				if len(requests) != 3 {
					t.Fatalf("the model was asked %d times, want 3: %+v", len(requests), requests)
				}
				results := requests[2].results
				if len(results) != 2 || !strings.Contains(results[0], "note 1 is kept") || !strings.Contains(results[1], "Ada") {
					t.Errorf("the model got the results %q", results)
				}
				if !strings.Contains(answer, "The tool said: ") || !strings.Contains(answer, "Ada") {
					t.Errorf("the host answered %q", answer)
				}
			})
		}
	}
}

// namedInResult finds the first tool that search_tools names.
var namedInResult = regexp.MustCompile(`notes__\w+`)

// With the tools of all servers behind a search, a host's model finds one by what it does, and calls it.
func TestRealHostsFindAToolBySearching(t *testing.T) {
	t.Parallel()
	junction(t)
	npm(t, "hosts")
	npm(t, "servers")
	if !withoutNetwork(t) {
		return
	}
	for _, host := range realHosts {
		t.Run(host.name, func(t *testing.T) {
			home := t.TempDir()
			config, notes, _ := behindHosts(t)
			model := newHostModel(t,
				hostCall{"search_tools", given(object{"queries": []string{"write down a note"}})},
				hostCall{"call_tool", func(results []string) any {
					return object{"name": namedInResult.FindString(results[0]), "arguments": object{"text": "found", "times": 1}}
				}},
			)
			answer := host.ask(t, home, model, entryFor(t, home, "http", config, "--tools", "search"), []string{"search_tools", "call_tool"}, "Keep a note.")
			if kept := notes.all(); !slices.Equal(kept, []string{"found × 1"}) {
				t.Errorf("the server was called with %q", kept)
			}
			requests := model.seen(t)
			if len(requests) != 3 {
				t.Fatalf("the model was asked %d times, want 3: %+v", len(requests), requests)
			}
			if offered := requests[0].tools; len(offered) != 3 {
				t.Errorf("the host offers %v, want search_tools, describe_tool and call_tool", offered)
			}
			if !strings.Contains(answer, "note 1 is kept") {
				t.Errorf("the host answered %q; the model got %q", answer, requests[2].results)
			}
		})
	}
}
