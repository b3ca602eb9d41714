package cli_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/policy"
)

// The same words with another PATH start another program.
func TestTheEnvironmentIsPartOfAServersIdentity(t *testing.T) {
	command := func(env string) []string {
		t.Helper()
		f, err := config.Parse("servers.json", []byte(`{"mcpServers":{"files":{"command":"npx","args":["a"],"env":`+env+`}}}`), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return launch.Entry{Name: "files", Definition: f.Servers[0]}.Command()
	}
	one := command(`{"PATH":"/usr/bin","TOKEN":"sesame"}`)
	if text := strings.Join(one, " "); strings.Contains(text, "sesame") || strings.Contains(text, "/usr/bin") || !strings.Contains(text, "(hash ") {
		t.Errorf("the command is %q", text)
	}
	for _, test := range []struct {
		env  string
		same bool
	}{
		{`{"TOKEN":"sesame","PATH":"/usr/bin"}`, true},
		{`{"PATH":"/tmp/evil","TOKEN":"sesame"}`, false},
		{`{"PATH":"/usr/bin"}`, false},
		{`{}`, false},
	} {
		if got := command(test.env); (policy.OriginOf(got) == policy.OriginOf(one)) != test.same {
			t.Errorf("%s: the command is %q", test.env, got)
		}
	}
	clitest.Setenv(t, "TOKEN", "first")
	before := command(`{"TOKEN":"${TOKEN}"}`)
	clitest.Setenv(t, "TOKEN", "second")
	if got := command(`{"TOKEN":"${TOKEN}"}`); !slices.Equal(got, before) {
		t.Errorf("a token that was renewed makes another server: %q, %q", before, got)
	}
}

func TestCommandsAreShownWithoutSecrets(t *testing.T) {
	f, err := config.Parse("servers.json", []byte(`{"mcpServers":{
		"files":{"command":"npx","args":["-y","a b","--token","hunter2"],"env":{"API_KEY":"hunter2"},"cwd":"/srv"},
		"far":{"url":"https://me:hunter2@example.com/mcp?key=hunter2"}}}`), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"shipped": launch.Entry{Name: "everything"}.CommandText()}
	for _, d := range f.Servers {
		got[d.Name] = launch.Entry{Name: d.Name, Definition: d}.CommandText()
	}
	want := map[string]string{"shipped": "", "files": `npx -y "a b" --token *** API_KEY=*** (cwd /srv)`, "far": "https://***@example.com/mcp?key=***"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
