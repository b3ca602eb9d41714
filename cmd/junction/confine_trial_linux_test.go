package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestReadsAreWatchedUntilTheProfileFits(t *testing.T) {
	clitest.InProcess(t)
	home, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	writeBelow(t, home, "notes/today.md", "today")
	late := home + "/late.txt"
	configure := func(more string) {
		t.Helper()
		argv := self(t, "serve", "filesystem", "--root", home)
		args, err := json.Marshal([]string{"-c", `cat ~/late.txt >/dev/null 2>&1; exec "$@"`, "sh", argv[0], argv[1], argv[2], argv[3], argv[4]})
		if err != nil {
			t.Fatal(err)
		}
		writeBelow(t, home, "mcp.json", `{"mcpServers": {"files": {"command": "sh", "args": `+string(args)+`, "env": {"`+asProgram+`": "1"}}},
			"junction": {"servers": {"files": {"sandbox": {"read": ["~/notes", `+quoteJSON(filepath.Dir(argv[0]))+`]`+more+`}}}}}`)
	}
	call := func(path string, code int, verb string) {
		t.Helper()
		got := runs(t, "", "call", "--config", "mcp.json", "files", "read-file", "path="+path)
		_, named, _ := strings.Cut(got.stderr, "was refused to ")
		named, _, _ = strings.Cut(named, "\n") // what the tool says may come before it or after
		want := ""
		if verb != "" {
			want = verb + " " + late + "; to allow it: junction server sandbox allow files --read " + late
		}
		if got.code != code || named != want {
			t.Errorf("%s: exit code %d, refused %q, want %q; stderr:\n%s", path, got.code, named, want, got.stderr)
		}
	}
	const there = "notes/today.md"
	for i, step := range []func(){
		func() { configure("") },
		func() { call(there, cli.ExitOK, "") }, // it fits
		func() { writeBelow(t, home, "late.txt", "late") },
		func() { call(there, cli.ExitOK, "") },           // and is watched no more
		func() { call(late, cli.ExitToolFailed, "see") }, // but for what a failed request names
		func() { call(there, cli.ExitOK, "read") },       // so it is watched again
		func() { call(there, cli.ExitOK, "read") },       // for as long as it does not fit
		func() { os.Remove(late) },                       // it wants nothing of it any more
		func() { call("none", cli.ExitToolFailed, "") },  // and has not shown that it works
		func() { writeBelow(t, home, "late.txt", "x") },
		func() { call(there, cli.ExitOK, "read") },
		func() { os.Remove(late) },
		func() { call(there, cli.ExitOK, "") }, // it fits
		func() { writeBelow(t, home, "late.txt", "x") },
		func() { call(there, cli.ExitOK, "") },
		func() { configure(`, "memory": "2GB"`) },
		func() { call(there, cli.ExitOK, "read") }, // another profile is another trial
		func() { configure(`, "watch": true`) },
		func() { call(there, cli.ExitOK, "read") }, // watched in any case
		func() { configure("") },
		func() { call(there, cli.ExitOK, "read") }, // as that refused it something
	} {
		if step(); t.Failed() {
			t.Fatalf("in step %d", i)
		}
	}
}
