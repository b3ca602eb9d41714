package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person follows calls of clients of both eras through junction up to a server of ours and one from npm, in Chromium.
// CONSOLE_SHOTS is a folder for pictures of what is seen.
func TestTheConsoleShowsTraffic(t *testing.T) {
	t.Parallel()
	bin, browser := junction(t), program(t, "chromium")
	script := nodeScript(t, "page", "page/traffic.mjs")
	memory := npmServer("@modelcontextprotocol/server-memory/dist/index.js")(t)
	env := append(nodeEnv(t), isolated(t)[len(os.Environ()):]...)
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.json")
	text := encode(t, object{"mcpServers": object{
		"every":  object{"command": bin, "args": []string{"serve", "everything"}},
		"memory": object{"command": memory[0], "args": memory[1:], "env": object{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json")}},
	}})
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	call := func(args ...string) []string {
		return append([]string{bin, "call", "http://" + address + "/mcp"}, args...)
	}
	plan := object{"browser": browser, "state": filepath.Join(dir, "state.json"), "link": consoleOf(t, env, "console", "--no-browser"), "part": "nothing", "shots": os.Getenv("CONSOLE_SHOTS"),
		"calls": map[string][]string{
			"echo":    call("every__echo", "message=hello"),
			"numbers": call("every__numbers", "--args", `{"big":12345678901234567890,"exact":1.50}`),
			"chat":    {bin, "chat", "everything", "--no-save", "-p", "add 2 and 40"},
			"hostile": call("every__<img src=x onerror=alert(1)>", `message=<img src=x onerror=alert(1)>`),
		}}
	run(t, env, append(script, encode(t, plan))...)

	serving(t, env, address, bin, "up", "--config", config, "--http", address)
	const older = "2025-06-18"
	for _, args := range [][]string{
		{"every__add", "a=2", "b=3"},
		{"every__add", "a=2", "b=3", "--revision", older},
		{"every__ask-twice", "--elicit", "accept"},
		{"every__ask-twice", "--elicit", "accept", "--revision", older},
		{"every__fail"},
		{"memory__create_entities", `entities=[{"name":"Oslo","entityType":"city","observations":["rain"]}]`},
		{"memory__read_graph", "--revision", older},
	} {
		if _, stderr, err := tryRun(t, env, call(args...)...); (err != nil) != (args[0] == "every__fail") {
			t.Fatalf("%v: %v: %s", args, err, stderr)
		}
	}
	plan["part"] = "drive"
	plan["link"], _, _ = strings.Cut(plan["link"].(string), "?")
	run(t, env, append(script, encode(t, plan))...)
}
