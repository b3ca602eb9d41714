package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClients connects every client, at every revision it speaks, to a server and to a
// gateway of Junction, over stdio and HTTP.
func TestClients(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	config := upConfig(t, []realServer{
		{name: "legacy", argv: serverNamed(t, "ts-v1").argv},
		{name: "modern", argv: serverNamed(t, "ts-v2").argv},
	})
	t.Run("serve everything", func(t *testing.T) {
		eachClient(t, 0, isolated(t), []string{binary, "serve", "everything"}, useEverything)
	})
	t.Run("up", func(t *testing.T) {
		env := isolated(t) // where no other test has an up
		t.Run("learns what its servers offer", func(t *testing.T) { learn(t, env, binary, config) })
		eachClient(t, 1, env, []string{binary, "up", "--config", config}, useGateway)
	})
}

// learn lets junction up remember what its servers offer, as a second start finds it:
// the clients list once, and do not wait for servers that were never seen.
func learn(t *testing.T, env []string, binary, config string) {
	address := freeAddress(t)
	serving(t, env, address, binary, "up", "--config", config, "--http", address)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		states, errors := standing(t, env)
		known := func(state string) bool { return state == "connected" || state == "idle" } // idle: from a run before
		if known(states["legacy"]) && known(states["modern"]) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the servers are %v, %v", states, errors)
		}
	}
}

// eachClient runs use for each client, revision and transport, in the environment env, which is an isolated one. One process serves all
// HTTP clients, and so every revision at one endpoint. On each change it runs half of them, so that every two meet; of two targets, each has
// its turn with the half that the other has not.
//
// A client over HTTP that asks runs before the others: until a server has asked once, Junction does not know that its requests name no
// call, and refuses such a request while calls of several clients run.
func eachClient(t *testing.T, turn int, env, argv []string, use func(t *testing.T, c probeClient, target []string, revision string)) {
	address := freeAddress(t)
	serving(t, env, address, append(slices.Clone(argv), "--http", address)...)
	targets := map[string][]string{
		"http":  {"--http", "http://" + address + "/mcp"},
		"stdio": slices.Concat([]string{"--stdio", program(t, "env")}, env[len(os.Environ()):], argv, []string{"--stdio"}),
	}
	first := true
	for i, client := range probeClients {
		for j, revision := range client.revisions {
			for k, over := range []string{"stdio", "http"} {
				if !matrix() && (i+j+k+turn)%2 != 0 {
					continue
				}
				t.Run(strings.Join([]string{client.name, revision, over}, " "), func(t *testing.T) {
					if first && over == "http" && revision >= "2025-06-18" {
						first = false
					} else {
						t.Parallel()
					}
					use(t, client, targets[over], revision)
				})
			}
		}
	}
}

// useEverything does with the server all that the client can.
func useEverything(t *testing.T, client probeClient, target []string, revision string) {
	cannot := map[string]string{}
	if revision < "2025-06-18" {
		for _, name := range []string{"a form is filled in", "a second question depends on the first answer", "two questions are answered"} {
			cannot[name] = "no elicitation before 2025-06-18"
		}
	}
	runTable(t, everythingCases, obliging, client, target, revision, cannot)
}

// obliging fills in every form of the server called everything.
var obliging = answers{
	Elicit: elicit{Action: "accept", Content: map[string]any{
		"name": "Ada", "age": 36, "height": 1.65, "news": false, "size": "small", "confirm": true, "place": "Oslo",
	}},
	Sample: map[string]any{"text": "canned words"},
	Roots:  []root{{"file:///tmp", "tmp"}},
}

func calling(name string, arguments map[string]any) step {
	return step{"op": "call", "name": name, "arguments": arguments}
}

// tells verifies that the result of the last call has some words.
func tells(want string) func(*testing.T, []line) {
	return func(t *testing.T, lines []line) {
		t.Helper()
		succeeded(t, lines)
		if last := lines[len(lines)-1]; last.IsError || !strings.Contains(last.Text, want) {
			t.Errorf("said %.500q (isError %v), want %q in it", last.Text, last.IsError, want)
		}
	}
}

var everythingCases = []bridgeCase{
	{"the server is listed whole", []step{{"op": "list"}}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		for what, found := range map[string]bool{
			"tool echo":     slices.Contains(lines[0].Tools, "echo"),
			"resource":      slices.Contains(lines[0].Resources, "everything://counter"),
			"template":      slices.Contains(lines[0].Templates, "everything://planets/{name}"),
			"prompt travel": slices.Contains(lines[0].Prompts, "travel"),
		} {
			if !found {
				t.Errorf("no %s in %+v", what, lines[0])
			}
		}
	}},
	{"the connection is alive", []step{{"op": "ping"}}, succeeded},
	{"text survives", []step{calling("echo", map[string]any{"message": "hé ✓ \u2028 \"\\"})}, says("hé ✓ \u2028 \"\\")},
	{"numbers are added", []step{calling("add", map[string]any{"a": 2, "b": 3})}, func(t *testing.T, lines []line) {
		tells("5")(t, lines)
		if !strings.Contains(string(lines[0].Structured), "5") {
			t.Errorf("the structured content is %s", lines[0].Structured)
		}
	}},
	{"a failure of a tool is a result", []step{call("fail")}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		if !lines[0].IsError || !strings.Contains(lines[0].Text, "always fails") {
			t.Errorf("got %+v", lines[0])
		}
	}},
	{"a large text arrives whole", []step{calling("big-text", map[string]any{"size": 300000})}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		if len(lines[0].Text) < 1000 {
			t.Errorf("the text has %d bytes", len(lines[0].Text))
		}
	}},
	{"a form is filled in", []step{call("ask")}, tells(`"name":"Ada"`)},
	{"a second question depends on the first answer", []step{call("ask-twice")}, tells("small pizza for 8 euros")},
	{"two questions are answered", []step{call("ask-two-at-once")}, says("Ada is in Oslo.")},
	{"the model of the client is asked", []step{calling("sample", map[string]any{"prompt": "Say something."})}, tells("canned words")},
	{"the roots of the client are reported", []step{call("list-roots")}, tells("file:///tmp")},
	// The TypeScript clients drop progress that is read together with the result, so one of five may lack.
	{"progress arrives", []step{{"op": "call", "name": "count-slowly", "progress": true, "arguments": map[string]any{"steps": 5}}, wait("progress", 4)}, succeeded},
	{"log messages from info upward arrive", []step{{"op": "setLevel", "level": "info"}, call("log"), wait("message", 7)}, succeeded},
	{"a change of the tools is reported", []step{call("toggle-tool"), wait("tools/list_changed", 1)}, succeeded},
	{"an update of a resource is reported", []step{
		{"op": "subscribe", "uri": "everything://counter"}, call("update-resource"), wait("resources/updated", 1),
	}, succeeded},
	{"a call is cancelled and the connection lives", []step{
		{"op": "cancelCall", "name": "wait", "arguments": map[string]any{"milliseconds": 20000}, "afterMs": 300},
		calling("echo", map[string]any{"message": "still here"}),
	}, says("still here")},
	{"a resource of a template is read", []step{{"op": "read", "uri": "everything://planets/mars"}}, tells("mars")},
	{"a prompt is got", []step{{"op": "prompt", "name": "travel", "arguments": map[string]any{"country": "Norway", "city": "Oslo"}}}, tells("Oslo, Norway")},
	{"an argument is completed", []step{{"op": "complete", "ref": step{"type": "ref/prompt", "name": "travel"},
		"argument": step{"name": "country", "value": "No"}}}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		if !slices.Equal(lines[0].Values, []string{"Norway"}) {
			t.Errorf("completed to %q", lines[0].Values)
		}
	}},
	{"an unknown resource is an error with a code", []step{{"op": "read", "uri": "everything://nothing"}}, func(t *testing.T, lines []line) {
		if code := lines[0].Error.Code; lines[0].OK || (code != -32602 && code != -32002) {
			t.Errorf("got %+v", lines[0])
		}
	}},
}

// useGateway lists what is behind the gateway, calls a tool of each server, and answers
// what they ask.
func useGateway(t *testing.T, client probeClient, target []string, revision string) {
	script := []step{{"op": "list"}}
	want := []string{}
	for _, server := range []string{"legacy", "modern"} {
		script = append(script, step{"op": "call", "name": server + "__echo", "arguments": map[string]any{"text": "hé"}})
		want = append(want, "hé")
		if revision >= "2025-06-18" {
			script = append(script, call(server+"__ask_again"))
			want = append(want, "color=red shade=dark")
		}
	}
	lines := client.run(t, target, revision, script, willing)
	if lines[0].Revision != revision {
		t.Errorf("negotiated %s", lines[0].Revision)
	}
	for _, name := range []string{"legacy__echo", "modern__echo"} {
		if !slices.Contains(lines[1].Tools, name) {
			t.Errorf("tools are %q, want %s", lines[1].Tools, name)
		}
	}
	for i, text := range want {
		says(text)(t, lines[i+2:i+3])
	}
}

// The Inspector's command line, as its users type it.
func TestInspector(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	inspector := []string{node(t), npm(t, "inspector", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli"}
	address := freeAddress(t)
	serving(t, isolated(t), address, binary, "serve", "everything", "--http", address)
	for over, target := range map[string][]string{
		"stdio": {binary, "serve", "everything", "--stdio"},
		"http":  {"http://" + address + "/mcp", "--transport", "http"},
	} {
		t.Run(over, func(t *testing.T) {
			var listed listToolsResult
			inspect(t, inspector, target, &listed, "--method", "tools/list")
			if len(listed.Tools) == 0 {
				t.Error("no tools")
			}
			var resources struct {
				Resources []struct{ URI string } `json:"resources"`
			}
			inspect(t, inspector, target, &resources, "--method", "resources/list")
			if len(resources.Resources) == 0 {
				t.Error("no resources")
			}
		})
	}
}

// The Inspector calls tools of two servers behind one junction up, by the names that it lists: at its endpoint, and as a
// program that the Inspector starts by the entry that people paste.
func TestInspectorCallsThroughUp(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	inspector := []string{node(t), npm(t, "inspector", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli"}
	config := upConfig(t, []realServer{
		{name: "legacy", argv: serverNamed(t, "ts-v1").argv},
		{name: "modern", argv: serverNamed(t, "ts-v2").argv},
	})
	address, env := freeAddress(t), isolated(t)
	serving(t, env, address, binary, "up", "--config", config, "--http", address)
	known(t, env, "legacy", "modern") // so that the other lists both at once: the Inspector lists once
	entry := filepath.Join(t.TempDir(), "mcp.json")
	pasted := encode(t, object{"mcpServers": object{"junction": object{"command": program(t, "env"), "args": append(env[len(os.Environ()):], binary, "up", "--stdio", "--config", config)}}})
	if err := os.WriteFile(entry, []byte(pasted), 0o600); err != nil {
		t.Fatal(err)
	}
	for over, target := range map[string][]string{
		"stdio": {"--config", entry, "--server", "junction"},
		"http":  {"http://" + address + "/mcp", "--transport", "http"},
	} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			var listed listToolsResult
			inspect(t, inspector, target, &listed, "--method", "tools/list")
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
			}
			for _, name := range []string{"legacy__echo", "modern__echo"} {
				if !slices.Contains(names, name) {
					t.Errorf("the Inspector lists %q, want %s", names, name)
				}
				var called callToolResult
				inspect(t, inspector, target, &called, "--method", "tools/call", "--tool-name", name, "--tool-arg", "text=hé from "+over)
				if called.IsError || called.text() != "hé from "+over {
					t.Errorf("%s: %+v", name, called)
				}
			}
		})
	}
}

// The Inspector works with a server of its own world, called in the same way.
func TestPeersInspector(t *testing.T) {
	t.Parallel()
	inspector := []string{node(t), npm(t, "inspector", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli"}
	server := serverNamed(t, "ts-v1")
	for over, target := range map[string][]string{
		"stdio": server.argv(t),
		"http":  {server.target(t, "http", "")[1], "--transport", "http"},
	} {
		t.Run(over, func(t *testing.T) {
			var called callToolResult
			inspect(t, inspector, target, &called, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hi")
			if called.text() != "hi" {
				t.Errorf("called: %+v", called)
			}
		})
	}
}

// inspect runs the Inspector and decodes what it prints.
func inspect(t *testing.T, inspector, target []string, result any, flags ...string) {
	t.Helper()
	env := append(nodeEnv(t), "HOME="+t.TempDir())
	out := run(t, env, slices.Concat(inspector, target, flags)...)
	if err := json.Unmarshal([]byte(out), result); err != nil {
		t.Fatalf("the Inspector printed %.1000q: %v", out, err)
	}
}
