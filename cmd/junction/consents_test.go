package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

// Who looks at a gateway sees why it serves nothing, and one reason once.
func TestServersThatAreNotAgreedToAreSaidToBe(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{".git/HEAD": "", ".mcp.json": `{"mcpServers":{"a":{"command":"run-a"},"b":{"command":"run-b"},"c":{"command":"run-c"}}}`})
	for _, test := range []struct {
		typed string // none: nobody is there
		want  []string
	}{
		{"", []string{"3 servers of the project's file FILE are not started: there is no terminal for questions; to use its definitions without a question, name it: --config FILE (\"a\", \"b\", \"c\")"}},
		{"\n", []string{"3 servers of the project's file FILE are not started: there was no answer; the next start asks again (\"a\", \"b\", \"c\")"}},
		{"2\n", []string{"2 servers of the project's file FILE are not started: refused (\"a\", \"c\")"}},
		{"none\n", []string{"2 servers of the project's file FILE are not started: refused before; name the server to be asked again (\"a\", \"c\")"}},
	} {
		a, seen := clitest.Asking(t, test.typed)
		if test.typed == "" {
			a.Person = nil
		}
		set, entries, err := reach.ConfiguredServers(a)
		if err != nil {
			t.Fatal(err)
		}
		v := &up.Served{App: a}
		v.Admit(t.Context(), set, entries, false)
		lines := strings.Split(strings.ReplaceAll(strings.Join(*v.Refused.Load(), "\n"), set.Files[0].Path, "FILE"), "\n")
		if !slices.Equal(lines, test.want) || !strings.Contains(seen.String(), "junction: "+(*v.Refused.Load())[0]+"\n") {
			t.Errorf("%q: got %q\n%s", test.typed, lines, seen)
		}
	}
	got := runs(t, "", "list")
	got.expect(t, cli.ExitConnection, "not agreed to)\n", `junction: 2 servers of the project's file `)
	if strings.Count(got.stderr, `"c"`) != 1 {
		t.Errorf("a server is named twice: %s", got.stderr)
	}
}
