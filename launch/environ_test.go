package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

// TestEachProgramThatIsStartedHasItsEnvironment sees that no way to start a server leaves it this process's environment.
func TestEachProgramThatIsStartedHasItsEnvironment(t *testing.T) {
	var l Launcher
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"x": {"command": "sh"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := config.LoadAll([]string{path}, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := set.Servers[0].Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	configured, err := l.Transport(s, set.Servers[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := l.Command("sh", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, transport := range map[string]any{"of a configuration": configured, "of a command line": typed.Transport} {
		if c, is := transport.(*command.Command); !is || c.Environ == nil {
			t.Errorf("the one %s has the whole environment", name)
		}
	}
}

// TestASandboxNamesASecret sees that a profile passes on what it names, also what Junction withholds otherwise.
func TestASandboxNamesASecret(t *testing.T) {
	l := Launcher{SeveralUsers: true}
	name, value, _ := strings.Cut(os.Environ()[0], "=")
	for _, pair := range os.Environ() { // one that is withheld
		if n, v, _ := strings.Cut(pair, "="); l.withholds(n) {
			name, value = n, v
		}
	}
	p := sandbox.Profile{Env: []string{name}}
	got := p.Environ(l.withNamed(l.Environ(os.Environ(), nil), p.Env))
	if !slices.Contains(got, name+"="+value) {
		t.Errorf("%s is missing in %q", name, got)
	}
}

// TestAnEntryAsksForAllVariables sees that a server of several users gets all variables but Junction's secrets if its entry says so.
func TestAnEntryAsksForAllVariables(t *testing.T) {
	for members, want := range map[string][]string{
		``:                        {"PATH=/bin"},
		`"environment": "usual",`: {"PATH=/bin"},
		`"environment": "all",`:   {"PATH=/bin", "NODE_PATH=/app", "DATABASE_URL=x"},
		`"env": {"A": "b"}, "environment":"all",`: {"PATH=/bin", "NODE_PATH=/app", "DATABASE_URL=x"},
	} {
		f, err := config.Parse("mcp.json", []byte(`{"mcpServers": {"x": {`+members+`"command": "sh"}}}`), config.Options{})
		if err != nil || len(f.Problems) > 0 {
			t.Fatal(err, f.Problems)
		}
		l := Launcher{SeveralUsers: true, Place: place.Place{Vars: []string{"PATH=/bin", "NODE_PATH=/app", "DATABASE_URL=x", "JUNCTION_ADMIN_TOKEN=secret", "OTEL_EXPORTER_OTLP_HEADERS=secret"}}}
		s, err := f.Servers[0].Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		transport, err := l.Transport(s, f.Servers[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := transport.(*command.Command).Environ; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", members, got, want)
		}
	}
}
