package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Servers that nobody here wrote are learned from, and then do the same, confined by what was learned.
func TestRealServersWorkInTheirLearnedProfiles(t *testing.T) {
	t.Parallel()
	for _, s := range realServers(t) {
		if !slices.Contains([]string{"everything", "filesystem", "memory", "thinking", "time", "git", "fastmcp"}, s.name) {
			continue // those that reach a service of this machine, which no profile is learned for
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			argv := s.argv(t)
			dir := t.TempDir()
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{s.name: map[string]any{"command": argv[0], "args": argv[1:]}}})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "mcp.json")
			if err := os.WriteFile(file, config, 0o600); err != nil {
				t.Fatal(err)
			}
			arguments, err := json.Marshal(s.arguments(t))
			if err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "JUNCTION_STATE="+filepath.Join(dir, "state"))
			said := run(t, env, junction(t), "sandbox", "learn", s.name, "--config", file, "--yes", "--call", s.tool+"="+string(arguments))
			if !strings.Contains(said, "With this profile it starts, does the same, and is refused nothing.") {
				t.Errorf("it says\n%s", said)
			}
			shown := run(t, env, junction(t), "sandbox", "show", s.name, "--config", file)
			t.Log(shown)
			for _, wide := range []string{" /\n", " ~\n", " ~/.cache\n", " /tmp\n", " ~/.config\n"} {
				if strings.Contains(shown, wide) {
					t.Errorf("the profile has %q:\n%s", wide, shown)
				}
			}
			tool, given := s.tool, string(arguments)
			if s.name == "memory" { // what is there already is not created again
				tool, given = "read_graph", "{}"
			}
			if text := run(t, env, junction(t), "call", s.name, tool, given, "--config", file); !strings.Contains(text, s.want) {
				t.Errorf("confined, %s says %q, want %q in it", tool, text, s.want)
			}
		})
	}
}
