//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// What the settings say of prompts, resources, tags and names, each seen by a client, and again when they change.
func TestSettingsSayWhichPromptsAndResourcesThereAre(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.json")
	a, b := written(t, "a", dir), written(t, "b", dir)
	servers := `"servers": {"a": {"hide": ["prompt:PROMPT"],
		"tools": {"add": {"name": "plus", "tags": ["maths"]}},
		"prompts": {"OTHER": {"name": "ask_it", "description": "Another text."}},
		"resources": {"RESOURCE": {"title": "Renamed", "tags": ["maths"]}}}, "b": {"tags": ["rest"]}}`
	prompt, other, uri := "greeting", "travel", "everything://text"
	servers = strings.NewReplacer("PROMPT", prompt, "OTHER", other, "RESOURCE", uri).Replace(servers)
	configure(t, config, a+","+b, servers+`, "tools": "all", "profiles": {"sums": {"only": ["tag:maths"]}, "rest": {"only": ["tag:rest", "prompt:*"], "hide": ["resource:everything:*"]}}`)
	r := serving(t, "up", "--config", config)
	list := func(what, url string) string { return runs(t, "", what, url, "--refresh").stdout }
	waitFor(t, "both are offered", func() bool {
		all := list("tools", r.url)
		return strings.Contains(all, "plus") && strings.Contains(all, "b__echo")
	})
	contains := func(what, text string, wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			not, is := strings.CutPrefix(want, "not ")
			if strings.Contains(text, not) == is {
				t.Errorf("%s: %q in %s", what, want, text)
			}
		}
	}
	contains("prompts", list("prompts", r.url), "ask_it", "Another text.", "b__"+prompt, "not a__"+prompt)
	contains("resources", list("resources", r.url), "Renamed", "junction:b/"+uri)
	runs(t, "", "read", r.url, "junction:b/"+uri).expect(t, cli.ExitOK, "This is the text of a resource.", "")
	runs(t, "", "prompt", r.url, "a__"+prompt).expect(t, cli.ExitProtocol, "", "")
	contains("the tools of maths", list("tools", r.url+"/sums"), "plus", "not echo")
	contains("the resources of maths", list("resources", r.url+"/sums"), uri, "not junction:b/")
	contains("the tools of the rest", list("tools", r.url+"/rest"), "b__add", "not plus", "not a__")
	contains("the resources of the rest", list("resources", r.url+"/rest"), "not "+uri)
	runs(t, "", "read", r.url+"/rest", "junction:b/"+uri).expect(t, cli.ExitProtocol, "", "resource not found")

	configure(t, config, a+","+b, servers+`, "tools": "all", "names": "map"`)
	waitFor(t, "only what has a name is offered", func() bool {
		all := list("tools", r.url)
		return strings.Contains(all, "plus") && !strings.Contains(all, "echo")
	})
	contains("prompts of the map", list("prompts", r.url), "ask_it", "not "+prompt)
	configure(t, config, a+","+b, servers+`, "tools": "all", "names": "none", "conflicts": "priority"`)
	waitFor(t, "names have no prefix", func() bool {
		all := list("tools", r.url)
		return strings.Contains(all, "echo") && !strings.Contains(all, "a__") && !strings.Contains(all, "b__")
	})
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
}

// Only flags can contradict each other: a setting that has nothing to go with is without effect.
func TestASettingThatAFlagSetsAsideIsWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ settings, args string }{
		"pin, where a flag has all tools be listed":      {`"tools":"search","pin":["everything__*"]`, "--tools all"},
		"pin, where a setting has all tools be listed":   {`"tools":"all","pin":["everything__*"]`, ""},
		"--pin, where a setting has all tools be listed": {`"tools":"all"`, "--pin everything__*"},
		"shadow, where there are no rules":               {`"tools":"all","shadow":true`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Alone(t)
			configure(t, "mcp.json", written(t, "a", t.TempDir()), test.settings)
			r := serving(t, append([]string{"up", "--config", "mcp.json"}, strings.Fields(test.args)...)...)
			waitFor(t, "all tools are listed", func() bool { return strings.Contains(toolsAt(t, r.url), "a__echo") })
		})
	}
}
