package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Real hosts read what junction host connect writes, start junction, and have their own servers again when they are disconnected,
// whatever they wrote into the file meanwhile.
func TestRealHostsAreConnectedAndDisconnected(t *testing.T) {
	t.Parallel()
	junction(t)
	npm(t, "hosts")
	npm(t, "servers")
	if !withoutNetwork(t) {
		return
	}
	memory := npmServer("@modelcontextprotocol/server-memory/dist/index.js")(t)
	entry := object{"command": memory[0], "args": memory[1:]}
	codexProgram, err := filepath.Glob(npm(t, "hosts", "node_modules", "@openai", "codex-"+platform(), "vendor") + "/*/bin/codex")
	if err != nil || len(codexProgram) != 1 {
		missing(t, "codex is not where it was: %v %v", codexProgram, err)
	}
	for _, host := range []struct {
		id, file, before, program string
		connected                 []string
	}{
		{"claude-code", ".claude.json", encode(t, object{"mcpServers": object{"memory": entry}}),
			npm(t, "hosts", "node_modules", "@anthropic-ai", "claude-code-"+platform(), "claude"), []string{"junction: ", "up --stdio --config", "Connected"}},
		{"codex", ".codex/config.toml", "# what I use\nmodel = \"x\"\n\n[mcp_servers.memory] # of npm\ncommand = " + encode(t, memory[0]) + "\nargs = " + encode(t, memory[1:]) + "\n",
			codexProgram[0], []string{"junction ", "up --stdio --config", "enabled"}},
	} {
		t.Run(host.id, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(host.file))
			writeFile(t, path, host.before)
			env := append(homeEnv(home), "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
			runs := func(argv ...string) string {
				t.Helper()
				stdout, stderr, err := tryRun(t, env, append([]string{program(t, "env"), "-C", home}, argv...)...)
				if err != nil {
					t.Fatalf("%q: %v\nstdout: %.3000s\nstderr: %.3000s", argv, err, stdout, stderr)
				}
				return stdout
			}
			runs(junction(t), "connect", host.id, "--yes")
			listed := runs(host.program, "mcp", "list")
			for _, word := range host.connected {
				if !strings.Contains(listed, word) {
					t.Errorf("%q is missing: %s", word, listed)
				}
			}
			if strings.Contains(listed, "memory") {
				t.Errorf("it has the server itself still: %s", listed)
			}
			if doctor := runs(junction(t), "doctor"); !strings.Contains(doctor, "host "+host.id+"\n") || !strings.Contains(doctor, "1 server, 1 host, 0 broken.") {
				t.Errorf("doctor says %s", doctor)
			}
			runs(junction(t), "disconnect", host.id)
			if listed := runs(host.program, "mcp", "list"); !strings.Contains(listed, "memory") || strings.Contains(listed, "junction ") {
				t.Errorf("then it has %s", listed)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if host.id == "codex" { // which only reads it
				if string(after) != host.before {
					t.Errorf("the file is\n%s", after)
				}
				return
			}
			var now struct{ McpServers map[string]json.RawMessage }
			if err := json.Unmarshal(after, &now); err != nil || len(now.McpServers) != 1 || !strings.Contains(string(now.McpServers["memory"]), memory[0]) {
				t.Errorf("the file is %v\n%s", err, after)
			}
		})
	}
}
