package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An addedServer is a package that junction add installs, and a call of one of its tools.
type addedServer struct {
	name, spec string
	args       []string // of its own
	tool       string
	arguments  []string
	want       string // in the result; empty where the tool needs more than is here, and any answer will do
	inCI       bool
}

func addedServers(folder string) []addedServer {
	return []addedServer{
		{"everything", "npm:@modelcontextprotocol/server-everything@2026.8.31", nil, "get-sum", []string{"a=40", "b=2"}, "42", true},
		{"memory", "npm:@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", nil, "entities", true},
		{"filesystem", "npm:@modelcontextprotocol/server-filesystem@2026.8.31", []string{folder}, "list_directory", []string{"path=" + folder}, "added.txt", true},
		{"time", "pypi:mcp-server-time@2026.10.19", nil, "get_current_time", []string{"timezone=UTC"}, "UTC", true},
		{"git", "pypi:mcp-server-git@2026.10.19", nil, "git_status", []string{"repo_path=" + folder}, "", true},

		{"thinking", "npm:@modelcontextprotocol/server-sequential-thinking@2026.8.31", nil, "sequentialthinking", []string{"thought=a", "nextThoughtNeeded=false", "thoughtNumber=1", "totalThoughts=1"}, "thoughtNumber", false},
		{"hello", "npm:mcp-hello-world@1.1.2", nil, "add", []string{"a=40", "b=2"}, "42", false},
		{"clock", "npm:time-mcp@1.0.6", nil, "current_time", []string{"format=YYYY-MM-DD"}, "20", false},
		{"runner", "npm:mcp-server-code-runner@0.1.8", nil, "run-code", []string{"code=console.log(6*7)", "languageId=javascript"}, "42", false},
		{"pages", "npm:mcp-fetch-server@1.1.2", nil, "fetch_html", []string{"url=https://example.com"}, "", false},
		{"calc", "npm:@coo-quack/calc-mcp@2.1.1", nil, "random", []string{"type=uuid"}, "-", false},
		{"files", "npm:@j0hanz/filesystem-mcp@2.5.0", []string{folder}, "roots", nil, "", false},
		{"commander", "npm:@wonderwhy-er/desktop-commander@0.2.52", nil, "get_config", nil, "blockedCommands", false},
		{"playwright", "npm:@playwright/mcp@0.0.83", nil, "browser_close", nil, "", false},
		{"mermaid", "npm:mcp-mermaid@0.4.1", nil, "generate_mermaid_diagram", []string{"mermaid=graph TD; A-->B"}, "", false},
		{"shrimp", "npm:mcp-shrimp-task-manager@1.0.21", nil, "list_tasks", []string{"status=all"}, "split_tasks", false},
		{"deepwiki", "npm:mcp-deepwiki@0.0.10", nil, "deepwiki_fetch", []string{"url=a/b"}, "", false},
		{"devtools", "npm:chrome-devtools-mcp", nil, "list_pages", nil, "", false},
		{"flowbite", "npm:flowbite-mcp@1.1.5", nil, "convert-figma-to-code", []string{"figmaNodeUrl=https://www.figma.com/design/a/b?node-id=1-1"}, "", false},
		{"drawio", "npm:@next-ai-drawio/mcp-server@0.2.3", nil, "get_diagram", nil, "", false},
		{"advisor", "npm:llm-advisor-mcp@0.4.5", nil, "get_model_info", []string{"model=a"}, "", false},
		{"debugger", "npm:@hyperdrive-eng/mcp-nodejs-debugger@0.2.2", nil, "nodejs_inspect", []string{"js_code=1"}, "debugger", false},

		{"fetch", "pypi:mcp-server-fetch@2026.10.24", nil, "fetch", []string{"url=https://example.com"}, "", false},
		{"markitdown", "pypi:markitdown-mcp", nil, "convert_to_markdown", []string{"uri=data:text/plain,hello"}, "hello", false},
		{"duckduckgo", "pypi:duckduckgo-mcp-server", nil, "search", []string{"query=a"}, "", false},
	}
}

// addEnv is an environment in which nothing is added yet.
func addEnv(t *testing.T) (env []string, configuration string) {
	dir := t.TempDir()
	return append(os.Environ(), "JUNCTION_STATE="+filepath.Join(dir, "state"), "JUNCTION_KEYRING=off", "XDG_CACHE_HOME="+filepath.Join(dir, "cache")), filepath.Join(dir, "mcp.json")
}

// What is added is behind junction up, and starts a second time where there is no network. ADD_ALL=1 takes all servers, and not five.
func TestServersThatAreAddedStartWithoutANetwork(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "added.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "npm")
	program(t, "unshare")
	env, configuration := addEnv(t)
	path := junction(t)
	var added []addedServer
	for _, s := range addedServers(folder) {
		if !s.inCI && os.Getenv("ADD_ALL") == "" {
			continue
		}
		words := append([]string{path, "add", s.spec, "--name", s.name, "--config", configuration, "--yes", "--sure", "--"}, s.args...)
		began := time.Now()
		if out, err := addWithin(t, 6*time.Minute, env, words); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, out)
			continue
		}
		t.Logf("%s was added in %v", s.name, time.Since(began).Round(time.Millisecond))
		added = append(added, s)
	}
	offline := []string{"unshare", "--map-root-user", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if _, stderr, err := tryRun(t, env, append(offline, "true")...); err != nil {
		t.Skipf("skip: this system lets nobody be without a network: %s", stderr)
	}
	up := append(append([]string{}, offline...), path, "up", "--stdio", "--frozen", "--tools", "all", "--config", configuration)
	listed := run(t, env, append([]string{path, "tools", "--"}, up...)...)
	for _, s := range added {
		if !strings.Contains(listed, s.name+"__"+s.tool) {
			t.Errorf("junction up does not list %s__%s", s.name, s.tool)
		}
		words := append(append([]string{path, "call", s.name + "__" + s.tool}, s.arguments...), append([]string{"--"}, up...)...)
		stdout, stderr, err := tryRun(t, env, words...)
		code := 0
		if exit, is := errors.AsType[*exec.ExitError](err); is {
			code = exit.ExitCode()
		}
		switch answered := code == 0 || code == 1 || code == 4; {
		case s.want == "" && answered:
		case s.want != "" && code == 0 && strings.Contains(stdout, s.want):
		default:
			t.Errorf("%s: exit code %d, want %q\n%.500s%.1500s", s.name, code, s.want, stdout, stderr)
		}
		began := time.Now()
		if _, stderr, err := tryRun(t, env, append(append([]string{}, offline...), path, "ping", s.name, "--config", configuration)...); err != nil {
			t.Errorf("%s: %v: %.500s", s.name, err, stderr)
		}
		t.Logf("%s: %v from the start to its first answer, without a network; by its package manager, with one: %s", s.name, time.Since(began).Round(time.Millisecond), byPackageManager(t, env, path, s))
	}
}

// addWithin runs a command that may have much to download.
func addWithin(t *testing.T, limit time.Duration, env, words []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	inGroup(command)
	command.Env = env
	return command.CombinedOutput()
}

// byPackageManager is how long npx or uvx takes where all is in its cache, if it is there.
func byPackageManager(t *testing.T, env []string, path string, s addedServer) string {
	kind, name, _ := strings.Cut(s.spec, ":")
	words := []string{"npx", "-y", name}
	if kind == "pypi" {
		words = []string{filepath.Join(cache(t, "python"), "bin", "uvx"), strings.Replace(name, "@", "==", 1)}
	}
	if _, err := exec.LookPath(words[0]); err != nil || os.Getenv("ADD_ALL") == "" {
		return "not measured"
	}
	words = append(append([]string{path, "ping", "--"}, words...), s.args...)
	var last time.Duration
	for range 2 { // the first one fills the cache
		began := time.Now()
		if _, _, err := tryRun(t, env, words...); err != nil {
			return "it does not start"
		}
		last = time.Since(began)
	}
	return fmt.Sprint(last.Round(time.Millisecond))
}

// Whoever is killed while it adds a server leaves the configuration and the lock of before, or those of after.
func TestAddThatIsKilledLeavesTheOldOrTheNewState(t *testing.T) {
	path := junction(t)
	address := freeAddress(t)
	serving(t, nil, address, path, "serve", "everything", "--http", address)
	const old = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"url\": \"http://127.0.0.1:1/mcp\"}\n  }\n}\n"
	add := func(env []string, configuration string) *exec.Cmd {
		command := exec.Command(path, "add", "http://"+address+"/mcp", "--name", "everything", "--config", configuration, "--yes")
		command.Env = env
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return command
	}
	write := func(configuration string) {
		if err := os.WriteFile(configuration, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env, configuration := addEnv(t)
	write(configuration)
	began := time.Now()
	if out, err := add(env, configuration).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(began)
	now, err := os.ReadFile(configuration)
	if err != nil {
		t.Fatal(err)
	}
	const kills = 30
	before, after := 0, 0
	for i := range kills {
		env, configuration := addEnv(t)
		write(configuration)
		command := add(env, configuration)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(whole*time.Duration(i)/(kills-4), func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
		_ = command.Wait() // it was killed, or was faster
		timer.Stop()
		got, err := os.ReadFile(configuration)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(got, []byte(old)):
			before++
			if out := run(t, env, path, "install", "--config", configuration); !strings.Contains(out, "No server here has a locked package") {
				t.Errorf("after the kill %d: %s", i, out)
			}
			run(t, env, path, "add", "http://"+address+"/mcp", "--name", "everything", "--config", configuration, "--yes")
			if got, err := os.ReadFile(configuration); err != nil || !bytes.Equal(got, now) {
				t.Errorf("added again after the kill %d: %v, %s", i, err, got)
			}
		case bytes.Equal(got, now):
			after++
		default:
			t.Errorf("the kill %d left %s", i, got)
		}
		if out := run(t, env, path, "call", "everything", "add", "a=40", "b=2", "--config", configuration); !strings.Contains(out, "42") {
			t.Errorf("after the kill %d: %s", i, out)
		}
	}
	if before == 0 || after == 0 {
		t.Errorf("of %d kills %d left the old state and %d the new one: none was near", kills, before, after)
	}
	t.Logf("of %d kills within %v, %d left the old state and %d the new one", kills, whole, before, after)
}
