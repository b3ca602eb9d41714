package reach_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/policy"
)

func TestWordsOfACommandLineAreDistinguished(t *testing.T) {
	seen := map[string][]string{}
	for _, typed := range [][]string{{"sh", "-c", "a b"}, {"sh", "-c", "a", "b"}, {"sh", "-c", `"a b"`}, {"sh", "-c", `"a`, `b"`}, {"sh", "-c", "a", "b", ""}, {"sh", "-c", "a ", "b"}} {
		text := strings.Join(reach.CommandLine(clitest.PlaceOf(t), typed), " ")
		if seen[text] != nil {
			t.Errorf("%q and %q are both %s", typed, seen[text], text)
		}
		seen[text] = typed
	}
	if got := reach.CommandLine(clitest.PlaceOf(t), []string{"npx", "-y", "a"}); !slices.Equal(got, []string{"npx", "-y", "a"}) {
		t.Errorf("plain words are %q", got)
	}
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"one/x.js": "", "one/run": "", "two/x.js": "", "two/run": ""})
	for _, typed := range [][]string{{"node", "x.js"}, {"./run"}, {filepath.Join("..", "one", "run"), "(in", "/)"}} {
		clitest.Chdir(t, "one")
		first := reach.CommandLine(clitest.PlaceOf(t), typed)
		clitest.Chdir(t, filepath.Join("..", "two"))
		if second := reach.CommandLine(clitest.PlaceOf(t), typed); policy.OriginOf(first) == policy.OriginOf(second) || strings.Join(first, " ") == strings.Join(second, " ") {
			t.Errorf("in two folders %q is %q", typed, second)
		}
		clitest.Chdir(t, "..")
	}
}
