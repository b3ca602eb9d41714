package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestClients connects every client, at every revision it speaks, to a server and to a
// gateway of Junction, over stdio and HTTP.
func TestClients(t *testing.T) {
	binary := junction(t)
	config := upConfig(t, []realServer{
		{name: "legacy", argv: serverNamed(t, "ts-v1").argv},
		{name: "modern", argv: serverNamed(t, "ts-v2").argv},
	})
	t.Run("serve everything", func(t *testing.T) {
		eachClient(t, []string{binary, "serve", "everything"}, useEverything)
	})
	t.Run("up", func(t *testing.T) {
		eachClient(t, []string{binary, "up", "--config", config}, useGateway)
	})
}

// eachClient runs use for each client, revision and transport. One process serves all
// HTTP clients, and so every revision at one endpoint.
func eachClient(t *testing.T, argv []string, use func(t *testing.T, c probeClient, target []string, revision string)) {
	address := freeAddress(t)
	serving(t, isolated(t), address, append(slices.Clone(argv), "--http", address)...)
	targets := map[string][]string{
		"http":  {"--http", "http://" + address + "/mcp"},
		"stdio": append(append([]string{"--stdio"}, argv...), "--stdio"),
	}
	for _, client := range probeClients {
		for _, revision := range client.revisions {
			for _, over := range []string{"stdio", "http"} {
				t.Run(strings.Join([]string{client.name, revision, over}, " "), func(t *testing.T) {
					use(t, client, targets[over], revision)
				})
			}
		}
	}
}

// useEverything lists, and uses the first resource and the ping; what the tools of the
// server do is its own tests' concern.
func useEverything(t *testing.T, client probeClient, target []string, revision string) {
	lines := client.run(t, target, revision, []step{{"op": "list"}, {"op": "ping"}}, willing)
	succeeded(t, lines)
	if lines[0].Revision != revision {
		t.Errorf("negotiated %s", lines[0].Revision)
	}
	listed := lines[1]
	if !slices.Contains(listed.Tools, "echo") || len(listed.Resources) == 0 || len(listed.Prompts) == 0 || len(listed.Templates) == 0 {
		t.Fatalf("listed %+v", listed)
	}
	lines = client.run(t, target, revision, []step{{"op": "read", "uri": listed.Resources[0]}}, willing)
	succeeded(t, lines)
	if lines[1].Text == "" {
		t.Errorf("the resource %s is empty", listed.Resources[0])
	}
}

// useGateway calls a tool of each server behind the gateway, and answers what they ask.
func useGateway(t *testing.T, client probeClient, target []string, revision string) {
	tools := client.run(t, target, revision, []step{{"op": "list"}}, willing)[1].Tools
	var script []step
	var want []string
	for _, server := range []string{"legacy", "modern"} {
		script = append(script, step{"op": "call", "name": prefixed(t, tools, server, "echo"), "arguments": map[string]any{"text": "hé"}})
		want = append(want, "hé")
		if clientCannot(revision) == nil {
			script = append(script, call(prefixed(t, tools, server, "ask_again")))
			want = append(want, "color=red shade=dark")
		}
	}
	lines := client.run(t, target, revision, script, willing)
	if lines[0].Revision != revision {
		t.Errorf("negotiated %s", lines[0].Revision)
	}
	for i, text := range want {
		says(text)(t, lines[i+1:i+2])
	}
}

// The Inspector's command line, as its users type it.
func TestInspector(t *testing.T) {
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

// The Inspector works with a server of its own world, called in the same way.
func TestPeersInspector(t *testing.T) {
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
