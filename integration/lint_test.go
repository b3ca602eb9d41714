package integration

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What lint finds in real servers, as severity, rule, kind and name; it was looked at by hand, and is true
// of the pinned versions. Servers that are not here have nothing.
var lintFindings = map[string][]string{
	"filesystem": {"note no-argument-description server"},
	"commander":  {"note no-argument-description server"},
	"git":        {"note no-argument-description server"},
	"noisy":      {"error protocol server"},
}

// lintCalls are the tools that lint calls there, as the servers say that they only read.
var lintCalls = map[string][]string{
	"everything": {"get-env", "get-resource-links", "get-resource-reference", "get-tiny-image", "trigger-long-running-operation"},
	"filesystem": {"list_allowed_directories"},
	"memory":     {"read_graph"},
	"commander":  {"get_config", "list_searches", "list_sessions", "list_processes", "get_usage_stats", "get_recent_tool_calls"},
}

// lintServers are those of the integration layer that need no database and no browser.
func lintServers(t testing.TB) []realServer {
	t.Helper()
	var servers []realServer
	for _, s := range realServers(t) {
		if slices.Contains([]string{"everything", "filesystem", "memory", "thinking", "commander", "time", "git"}, s.name) {
			servers = append(servers, s)
		}
	}
	for _, name := range []string{"basic-preact", "system-monitor"} {
		servers = append(servers, realServer{name: name, argv: func(t testing.TB) []string { return []string{node(t), appServer(t, name), "--stdio"} }})
	}
	return append(servers,
		realServer{name: "noisy", argv: func(t testing.TB) []string { return noisy(t) }})
}

// noisy is the server for time, begun by a script that writes a line where only messages may stand.
func noisy(t testing.TB) []string {
	script := filepath.Join(t.TempDir(), "noisy.sh")
	if err := os.WriteFile(script, []byte("echo Starting…\nexec \"$@\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{program(t, "sh"), script, python(t, "mcp-server-time"), "--local-timezone", "Europe/Oslo"}
}

func TestLintOfRealServers(t *testing.T) {
	t.Parallel()
	junction(t)
	for _, server := range lintServers(t) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(junction(t), append([]string{"lint", "--json", "--fail-on", "note", "--"}, server.argv(t)...)...)
			cmd.Env = isolated(t)
			out, err := cmd.Output()
			exit, _ := errors.AsType[*exec.ExitError](err)
			if err != nil && exit == nil {
				t.Fatal(err)
			}
			var all struct {
				Servers []struct {
					Findings []struct{ Severity, Rule, Kind, Name, What, Remedy string }
					Called   []string
					Error    *struct{ Message string }
				}
			}
			if err := json.Unmarshal(out, &all); err != nil || len(all.Servers) != 1 || all.Servers[0].Error != nil {
				t.Fatalf("%v: %.500s", err, out)
			}
			found := []string{}
			for _, f := range all.Servers[0].Findings {
				found = append(found, strings.TrimSpace(strings.Join([]string{f.Severity, f.Rule, f.Kind, f.Name}, " ")))
				if f.What == "" || f.Remedy == "" {
					t.Errorf("a finding says nothing: %+v", f)
				}
			}
			if want := lintFindings[server.name]; !slices.Equal(found, want) && len(found)+len(want) > 0 {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
			}
			// The server registers this tool some time after the handshake, so a list may come before it.
			all.Servers[0].Called = slices.DeleteFunc(all.Servers[0].Called, func(tool string) bool { return tool == "get-roots-list" })
			if want := lintCalls[server.name]; !slices.Equal(all.Servers[0].Called, want) && len(all.Servers[0].Called)+len(want) > 0 {
				t.Errorf("called %q, want %q", all.Servers[0].Called, want)
			}
			code := 0
			if exit != nil {
				code = exit.ExitCode()
			}
			if want := min(1, len(found)); code != want {
				t.Errorf("the exit code is %d, want %d", code, want)
			}
		})
	}
}
