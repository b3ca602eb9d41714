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

func TestAServerWithASandboxIsConfinedByEveryCommand(t *testing.T) {
	clitest.InProcess(t)
	home, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ssh/id_ed25519", "notes/today.md", "secret.txt"} {
		writeBelow(t, home, name, name)
	}
	configure := func(sandbox string) {
		t.Helper()
		argv := self(t, "serve", "filesystem", "--root", home, "--write")
		args, err := json.Marshal(argv[1:])
		if err != nil {
			t.Fatal(err)
		}
		entry := `{"command": ` + quoteJSON(argv[0]) + `, "args": ` + string(args) + `, "env": {"` + asProgram + `": "1"}}`
		writeBelow(t, home, "mcp.json", `{"mcpServers": {"files": `+entry+`}, "junction": {"servers": {"files": {"sandbox": `+sandbox+`}}}}`)
	}
	call := func(args ...string) outcome {
		t.Helper()
		return runs(t, "", append([]string{"call", "--config", "mcp.json", "files"}, args...)...)
	}

	configure(`{"read": ["~/notes"]}`)
	got := call("list-folder", "path=.")
	got.expect(t, cli.ExitOK, "notes", "")
	for _, hidden := range []string{".ssh", "secret.txt", "mcp.json"} {
		if strings.Contains(got.stdout, hidden) {
			t.Errorf("it sees %s", got.stdout)
		}
	}
	call("read-file", "path=notes/today.md").expect(t, cli.ExitOK, "notes/today.md", "")
	call("read-file", "path=.ssh/id_ed25519").expect(t, cli.ExitToolFailed, "no such file or directory", "")
	call("write-file", "path=notes/new.md", "content=x").expect(t, cli.ExitToolFailed, "read-only file system", "")

	configure(`{"write": ["~/notes"]}`)
	call("write-file", "path=notes/new.md", "content=x").expect(t, cli.ExitOK, "new.md", "")
	if text, err := os.ReadFile(filepath.Join(home, "notes/new.md")); string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}

	for sandbox, want := range map[string]string{
		`{"write": ["/"]}`:             `server "files": junction.servers.files.sandbox: write: "/": this is the whole file system; name the folders that the program needs, such as /srv`,
		`{"read": ["notes"]}`:          `server "files": junction.servers.files.sandbox: read: "notes": expected an absolute path, or one that begins with ~/`,
		`{"hosts": ["https://a.org"]}`: `hosts: "https://a.org": expected a host name without a scheme or a path`,
		`{"processes": -1}`:            "processes",
		`{"reads": []}`:                "reads",
	} {
		configure(sandbox)
		call("list-folder", "path=.").expect(t, cli.ExitConnection, "", want)
	}
}

// The folder of a project is not shown because the file stands there; one that the entry names is.
func TestProfilesLeaveOutTheFolderOfAProject(t *testing.T) {
	clitest.Alone(t)
	project := t.TempDir()
	writeBelow(t, project, ".env", "TOKEN=made-up")
	if err := os.Mkdir(filepath.Join(project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.Chdir(t, project)
	argv := self(t, "serve", "filesystem", "--root", project)
	args, err := json.Marshal(argv[1:])
	if err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]int{"": cli.ExitConnection, `"cwd": ` + quoteJSON(project) + `, `: cli.ExitOK} {
		entry := `{` + cwd + `"command": ` + quoteJSON(argv[0]) + `, "args": ` + string(args) + `, "env": {"` + asProgram + `": "1"}}`
		writeBelow(t, project, "junction.json", `{"mcpServers": {"files": `+entry+`}, "junction": {"servers": {"files": {"sandbox": {"read": ["~/notes"]}}}}}`)
		got := runs(t, "", "call", "--config", "junction.json", "files", "read-file", "path=.env")
		if got.code != want || strings.Contains(got.stdout, "made-up") != (want == cli.ExitOK) {
			t.Errorf("with %q: exit code %d, it says %s%s", cwd, got.code, got.stdout, got.stderr)
		}
	}
}

// To a program that writes into a home folder that ends with it, all is well: who looks at the status has to learn of it.
func TestStatusReportsDiscardedWrites(t *testing.T) {
	clitest.InProcess(t)
	home, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	script := `cat "$HOME/.apprc"; echo x >"$HOME/memory.jsonl"; exec '` + self(t)[0] + `' serve everything`
	configure(t, "mcp.json", `"notes":{"command":"/bin/sh","args":["-c",`+quoteJSON(script)+`],"start":"eager"}`, `"servers":{"notes":{"sandbox":{}}}`)
	writeBelow(t, home, ".apprc", "")
	ask := consoleServed(t)
	serving(t, "up", "--config", "mcp.json")
	const want = "its output is deleted when it ends: server notes: was refused to keep what it writes to "
	waitFor(t, "both to say what is lost", func() bool {
		status := strings.Join(strings.Fields(runs(t, "", "status").stdout), " ")
		_, page := ask("GET", "instances", "")
		return strings.Contains(status, "Careful, notes: "+want+home+"/memory.jsonl; to allow it: junction server sandbox allow notes --write") && strings.Contains(page, `"careful":"`+want)
	})
}
