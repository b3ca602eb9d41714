package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/console/live"
	"github.com/junction-mcp/junction/traffic"
)

// All that the traffic shows has room, is in the language that was chosen, and can be used by everybody, however one looks at it.
func TestTheTrafficIsSoundAtEveryWidthInEveryThemeAndLanguage(t *testing.T) {
	t.Parallel()
	browser := program(t, "chromium")
	script := nodeScript(t, "page", "page/traffic.mjs", "page/console.mjs")
	const parts = 6
	for n := range parts {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			ring, link := consoleWithRing(t)
			messagesOfAllKinds(t, ring)
			said := run(t, nodeEnv(t), append(script, encode(t, object{"browser": browser, "state": filepath.Join(t.TempDir(), "state.json"), "link": link, "part": "rooms",
				"parts": parts, "nth": n, "shots": os.Getenv("CONSOLE_SHOTS")}))...)
			t.Log(said)
		})
	}
}

// messagesOfAllKinds adds messages of every kind.
func messagesOfAllKinds(t *testing.T, ring *live.Ring) {
	t.Helper()
	const client, far = traffic.Client, traffic.Server
	began := time.Now().Add(-time.Minute)
	for call := range uint64(40) {
		at := began.Add(time.Duration(call) * 900 * time.Millisecond)
		id := json.RawMessage(fmt.Sprint(call))
		whole := func(name string, value any) json.RawMessage {
			return json.RawMessage(encode(t, object{"jsonrpc": "2.0", "id": call, name: value}))
		}
		params := object{"name": "weather__forecast", "arguments": object{"city": "Oslo", "days": 3, "note": strings.Repeat("a long text ", 40)}}
		note := func(kind string, value any) traffic.Event {
			return traffic.Event{Kind: traffic.Note, Hop: client, Note: kind, Message: json.RawMessage(encode(t, value))}
		}
		for n, e := range []traffic.Event{
			{Kind: traffic.Request, Hop: client, ToServer: true, Message: whole("params", params)},
			note("http", object{"method": "POST", "url": "http://127.0.0.1:7717/mcp", "requestHeaders": object{"Content-Type": []string{"application/json"}, "Authorization": []string{"***"}}, "status": 200, "responseHeaders": object{"Content-Type": []string{"application/json"}}}),
			note("labels", object{"of": "call", "labels": "private+untrusted", "sources": []string{"files/read_text_file", "web: https://example.com/a/long/address/that/has/no/end"}, "more": 3}),
			note("policy", object{"server": "weather", "effect": []string{"allow", "ask", "deny"}[call%3], "said": "ask", "rule": "policy.json:12", "reason": "it is far away"}),
			{Kind: traffic.Request, Hop: far, ToServer: true, Message: whole("params", params)},
			{Kind: traffic.Notification, Hop: far, Message: json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)},
			{Kind: traffic.Response, Hop: far, Took: 20 * time.Millisecond, Message: whole("result", object{"content": []object{{"type": "text", "text": "rain"}}, "isError": call%5 == 1})},
			{Kind: traffic.Response, Hop: client, Took: 2 * time.Second, Message: whole("result", object{"content": []object{{"type": "text", "text": "rain"}}, "isError": call%5 == 1})},
			{Kind: traffic.Request, Hop: far, ToServer: true, Method: "ping"},
			{Kind: traffic.Failure, Hop: far, Method: "resources/read", Took: 12 * time.Second, Fault: "connection refused"},
			{Kind: traffic.Dropped, Count: int(call) + 1},
		} {
			e.Time, e.Size, e.Revision, e.Transport = at.Add(time.Duration(n)*10*time.Millisecond), len(e.Message), modern, "http"
			if e.Kind != traffic.Dropped && e.Method == "" {
				e.ID, e.Call, e.Method, e.Name = id, call+1, "tools/call", "weather__forecast"
			}
			if e.Hop == client {
				e.Client = "A desktop assistant with a long name/1.0"
			} else if e.Hop == far {
				e.Server = []string{"weather", "a-server-with-a-very-long-name"}[call%2]
			}
			ring.Add(4711, &e)
		}
	}
}

// A person follows calls of clients of both eras through junction up to a server of ours and one from npm, in Chromium.
// CONSOLE_SHOTS is a folder for pictures of what is seen.
func TestTheConsoleShowsTraffic(t *testing.T) {
	t.Parallel()
	bin, browser := junction(t), program(t, "chromium")
	script := nodeScript(t, "page", "page/traffic.mjs", "page/console.mjs")
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
