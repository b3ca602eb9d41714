//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestStatusReportsIgnoredSettings(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(clitest.In(t, "s.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good, err := json.Marshal(map[string]any{"command": argv[0], "args": argv[1:]})
	if err != nil {
		t.Fatal(err)
	}
	write(`{"mcpServers":{"good":` + string(good) + `}}`)
	r := serving(t, "up", "--tools", "auto", "--config", "s.json")
	waitFor(t, "it is connected", func() bool { return firstShown(t).Servers[0].Tools == 25 })
	plain := runs(t, "", "status").stdout
	for _, word := range []string{"Not used", "Withheld", "Clients see", "cannot be used"} {
		if strings.Contains(plain, word) {
			t.Errorf("all is well, and status says: %s", plain)
		}
	}
	if got := firstShown(t); got.Tools != (cli.ToolsShown{Mode: "auto", Listed: 25, Of: 25}) || got.ConfigError != "" || got.Problems != nil {
		t.Errorf("got %+v", got)
	}
	r.stop()

	write(`{"mcpServers":{"good":` + string(good) + `,"wrong":{"command":3}}}`)
	r = serving(t, "up", "--tools", "search", "--pin", "good__ec*", "--review", "all", "--config", "s.json")
	waitFor(t, "its tools are withheld", func() bool { return len(firstShown(t).Servers[0].Withheld) > 0 })
	write(`{"mcpServers":`)
	waitFor(t, "the file is known to be broken", func() bool { return firstShown(t).ConfigError != "" })
	got := firstShown(t)
	if !slices.Contains(got.Servers[0].Withheld, "echo") || got.Tools.Mode != "search" || !got.Tools.Searched || got.Tools.Listed != 3 {
		t.Errorf("got %+v", got)
	}
	approves, isApproval := strings.CutPrefix(got.Servers[0].Approval, "junction server approve good --config ")
	if !isApproval || !filepath.IsAbs(approves) {
		t.Errorf("what approves it is %q", got.Servers[0].Approval)
	}
	shown := runs(t, "", "status").stdout
	for _, want := range []string{
		"The configuration cannot be used, so the earlier servers keep running: " + clitest.In(t, "s.json"),
		"more of good; " + got.Servers[0].Approval + "\n",
		"Clients see 3 tools, and find 0 by search (--tools search)\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
	write(`{"mcpServers":{"good":` + string(good) + `,"wrong":{"command":3}}}`)
	waitFor(t, "the file is read again", func() bool { return firstShown(t).ConfigError == "" })
	runs(t, "", "status").expect(t, cli.ExitOK, "Not used: "+clitest.In(t, "s.json")+`: server "wrong": command: expected a string, got a number`+"\n", "")
	r.stop()

	if err := os.Rename(clitest.In(t, "s.json"), clitest.In(t, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	serving(t, "up")
	runs(t, "", "status").expect(t, cli.ExitOK, `Not used: server "good" of the project's file `, "")
}
