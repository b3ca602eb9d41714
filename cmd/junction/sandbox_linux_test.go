package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/server"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/sandbox"
)

// notes makes a configuration with a server of the files in ~/notes, with settings behind it.
func notes(t *testing.T, settings string) {
	t.Helper()
	clitest.InProcess(t)
	clitest.Write(t, map[string]string{"notes/a.md": "hello\n", "secret.txt": "sesame\n", "work/.git/HEAD": "",
		"mcp.json": `{"mcpServers": {"notes": {"command": ` + quoteJSON(self(t)[0]) + `, "args": ["serve", "filesystem", "--root", "./notes"], "env": {"` + asProgram + `": "1"}},
  "far": {"url": "https://example.com/mcp"}}` + settings + "}\n"})
}

func TestTheSandboxOfAServerIsShown(t *testing.T) {
	notes(t, "")
	runs(t, "", "sandbox", "show", "notes", "--config", "mcp.json").expect(t, cli.ExitOK, "notes is not confined: its program has all of your permissions. junction server sandbox learn notes proposes a profile.\n", "")
	runs(t, "", "sandbox", "show", "far", "--config", "mcp.json").expect(t, cli.ExitConnection, "", `server "far" is not started by a command, so it has no program to confine here`)
	runs(t, "", "sandbox", "show", "nots", "--config", "mcp.json").expect(t, cli.ExitConnection, "", `did you mean "notes"?`)
	notes(t, `, "junction": {"servers": {"notes": {"sandbox": {"read": ["~/notes"], "hosts": ["api.example.com"], "env": ["TOKEN"], "memory": "2GB", "processes": 9, "cpu": 0.5, "files": 64}}}}`)
	got := runs(t, "", "sandbox", "show", "notes", "--config", "mcp.json")
	want := "notes is confined, by junction.servers.notes.sandbox in mcp.json:\n  read   ~/notes\n  host   api.example.com\n  env    TOKEN\n  processes  9\n  memory  2000MB\n  files  64\n  cpu  0.5\n"
	if got.stdout != want || got.code != cli.ExitOK {
		t.Errorf("got %q, want %q", got.stdout, want)
	}
	runs(t, "", "sandbox", "show", "--config", "mcp.json").
		expect(t, cli.ExitOK, "notes is confined, except for read ~/notes, host api.example.com, env TOKEN, processes 9, memory 2000MB, files 64, cpu 0.5\n", "")
	notes(t, "")
	runs(t, "", "sandbox", "show", "--config", "mcp.json").expect(t, cli.ExitOK, "notes is not confined\n", "")
}

func TestAProfileIsChangedWhereItIsWritten(t *testing.T) {
	const settings = ", \"junction\": {\n  // mine\n  \"servers\": {\n    \"notes\": {\n      \"sandbox\": {\n        \"read\": [\"~/notes\"] // why\n      }\n    }\n  }\n}"
	notes(t, settings)
	home, _ := clitest.PlaceOf(t).Getwd()
	runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--read", "work", "--read", filepath.Join(home, "notes"), "--write", "/srv/x", "--host", "api.example.com", "--env", "TOKEN", "--memory", "2GB").
		expect(t, cli.ExitOK, "junction.servers.notes.sandbox in mcp.json:\n  read   ~/notes\n+ read   ~/work\n+ write  /srv/x\n+ host   api.example.com\n+ env    TOKEN\n+ memory  2000MB\n", "")
	changed := func(want string) {
		t.Helper()
		text, err := os.ReadFile(clitest.In(t, "mcp.json"))
		if err != nil || !strings.HasSuffix(string(text), ", \"junction\": {\n  // mine\n  \"servers\": {\n    \"notes\": {\n      \"sandbox\": {\n"+want+"      }\n    }\n  }\n}}\n") {
			t.Errorf("%v: got\n%s\nwant\n%s", err, text, want)
		}
	}
	changed("        \"read\": [\"~/notes\", \"~/work\"], // why\n        \"env\": [\"TOKEN\"],\n        \"hosts\": [\"api.example.com\"],\n        \"memory\": \"2000MB\",\n        \"write\": [\"/srv/x\"]\n")
	runs(t, "", "sandbox", "deny", "notes", "--config", "mcp.json", "--read", "~/work", "--write", "/srv/x", "--host", "api.example.com", "--env", "TOKEN").
		expect(t, cli.ExitOK, "- read   ~/work\n- write  /srv/x\n- host   api.example.com\n- env    TOKEN\n  read   ~/notes\n", "")
	changed("        \"read\": [\"~/notes\"], // why\n        \"memory\": \"2000MB\"\n")
	for _, c := range []struct{ args, want string }{
		{"deny notes --read ~/work", `--read: the profile of notes has no "~/work"; junction server sandbox show notes lists what it has`},
		{"allow notes", "expected a permission to change: --read, --write, --host or --env"},
		{"allow notes --memory much", `--memory: expected a size such as 2GB, got "much"`},
		{"allow", "expected the name of one SERVER, got 0 words"},
	} {
		runs(t, "", append(append([]string{"sandbox"}, strings.Fields(c.args)...), "--config", "mcp.json")...).expect(t, cli.ExitUsage, "", c.want)
	}
	runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--host", "*.com").expect(t, cli.ExitConnection, "", `"*.com": expected at least two labels after the *`)
	// A link to a file that is kept elsewhere, as with others' settings, stays one.
	if err := errors.Join(os.Rename(clitest.In(t, "mcp.json"), clitest.In(t, "kept.json")), os.Symlink("kept.json", clitest.In(t, "mcp.json"))); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--host", "api.example.com").expect(t, cli.ExitOK, "+ host   api.example.com\n", "")
	changed("        \"read\": [\"~/notes\"], // why\n        \"memory\": \"2000MB\",\n        \"hosts\": [\"api.example.com\"]\n")
	if target, err := os.Readlink(clitest.In(t, "mcp.json")); target != "kept.json" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if err := os.Remove(clitest.In(t, "mcp.json")); err != nil {
		t.Fatal(err)
	}
	notes(t, "")
	runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--read", "work").expect(t, cli.ExitConnection, "", `server "notes" is not confined, and has all of your permissions; junction server sandbox learn notes confines it`)
}

func TestProfilesThatAreChangedAtOnceLoseNothing(t *testing.T) {
	notes(t, `, "junction": {"servers": {"notes": {"sandbox": {"read": ["~/notes"]}}}}`)
	s := newPackageSet(t)
	s.runs(t, "yes\n", "add", "npm:@x/echo@2.0.0").expect(t, cli.ExitOK, `Added "echo"`, "")
	var all sync.WaitGroup
	for i := range 6 {
		host := fmt.Sprintf("h%d.example.com", i)
		all.Go(func() {
			runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--host", host).expect(t, cli.ExitOK, "+ host   "+host, "")
			s.runs(t, "", "sandbox", "allow", "echo", "--host", host).expect(t, cli.ExitOK, "+ host   "+host, "")
		})
	}
	all.Wait()
	for _, got := range []outcome{runs(t, "", "sandbox", "show", "notes", "--config", "mcp.json"), s.runs(t, "", "sandbox", "show", "echo")} {
		if n := strings.Count(got.stdout, "host "); n != 6 {
			t.Errorf("%d of 6 hosts are allowed: %s%s", n, got.stdout, got.stderr)
		}
	}
}

// What was shown next to a profile that is another one by now is not what was agreed to.
func TestLessonsKeepConcurrentChanges(t *testing.T) {
	notes(t, `, "junction": {"servers": {"notes": {"sandbox": {"read": ["~/notes"]}}}}`)
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: terminal.NewScreen(new(clitest.SafeBuffer)), Screen: terminal.NewScreen(new(clitest.SafeBuffer))}})
	a.Launch.Config = []string{"mcp.json"}
	shown, err := server.ReadProfile(a, []string{"notes"})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--host", "a.example").expect(t, cli.ExitOK, "+ host   a.example", "")
	err = server.WriteLearned(t.Context(), a, []string{"notes"}, shown, sandbox.Profile{Read: []string{"~/notes", "~/work"}})
	if err == nil || !strings.Contains(err.Error(), "its profile changed meanwhile, so nothing was written; learn again") {
		t.Errorf("%v", err)
	}
	runs(t, "", "sandbox", "show", "notes", "--config", "mcp.json").expect(t, cli.ExitOK, "a.example", "")
}

func TestAServerIsLearnedFromAndThenConfined(t *testing.T) {
	notes(t, "")
	args := []string{"sandbox", "learn", "notes", "--config", "mcp.json", "--call", `read-file={"path": "a.md"}`}
	runs(t, "", args...).expect(t, cli.ExitUsage, "", "there is no terminal for questions; --yes writes the profile without a question")
	runs(t, "", append(args, "--yes")...).expect(t, cli.ExitOK, "notes needs:\n+ read   ~/notes\nWith this profile it starts, does the same, and is refused nothing.\nWritten to junction.servers.notes.sandbox in ~/junction.json.", "Called read-file.\n")
	text, err := os.ReadFile(clitest.In(t, "junction.json"))
	if want := "{\n  \"junction\": {\n    \"servers\": {\n      \"notes\": {\n        \"sandbox\": {\n          \"read\": [\"~/notes\"]\n        }\n      }\n    }\n  }\n}\n"; err != nil || string(text) != want {
		t.Errorf("%v: got %s", err, text)
	}
	runs(t, "", append(args, "--yes")...).expect(t, cli.ExitOK, "No changes needed.\n", "")
	runs(t, "", "call", "notes", "read-file", "path=a.md", "--config", "mcp.json").expect(t, cli.ExitOK, "hello", "")
}

// A script sees only the exit code, and the profile that is written may lack what the call needs.
func TestLessonsFailWithTheirCall(t *testing.T) {
	for _, c := range []struct{ name, call, said string }{
		{"a tool that failed", `read-file={"path": "nosuch.md"}`, "Called read-file, which reported a failure: "},
		{"a tool that there is not", "nosuch", "Called nosuch, which failed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			notes(t, "")
			args := []string{"sandbox", "learn", "notes", "--config", "mcp.json", "--yes", "--call", c.call}
			tool, _, _ := strings.Cut(c.call, "=")
			got := runs(t, "", args...)
			got.expect(t, cli.ExitToolFailed, "With this profile it starts, and is refused nothing.\nWritten to junction.servers.notes.sandbox", c.said)
			got.expect(t, cli.ExitToolFailed, "notes needs:", "junction: these calls failed, so permissions for them may be missing: "+tool+"\n")
			again := runs(t, "", args...)
			again.expect(t, cli.ExitToolFailed, "notes needs:", "these calls failed")
			if strings.Contains(again.stdout, "right as it is") {
				t.Errorf("though a call failed: %s", again.stdout)
			}
		})
	}
}

func TestALessonInWhichNoToolIsCalledSaysSo(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"mcp.json": `{"mcpServers": {"web": {"command": ` + quoteJSON(self(t)[0]) + `, "env": {"` + asProgram + `": "1"}, "args": ["serve", "fetch"]}}}`})
	runs(t, "", "sandbox", "learn", "web", "--config", "mcp.json", "--yes").expect(t, cli.ExitOK, "web needs:",
		"No tool was called, because none is marked as read-only without needing arguments: fetch. Their permissions are not learned")
}

func TestAServerIsLearnedFromWhereTemporaryFilesAre(t *testing.T) {
	clitest.Alone(t)
	project := t.TempDir()
	elsewhere, err := os.MkdirTemp("/tmp", "junction-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(elsewhere)
	loose := elsewhere + ".jsonl"
	defer os.Remove(loose)
	clitest.Write(t, map[string]string{filepath.Join(project, "a.md"): "hello\n"})
	program := `{"command": ` + quoteJSON(self(t)[0]) + `, "env": {"` + asProgram + `": "1"}, "args": ["serve", `
	clitest.Write(t, map[string]string{"mcp.json": `{"mcpServers": {
  "files": ` + program + `"filesystem", "--root", ` + quoteJSON(project) + `]},
  "all": ` + program + `"filesystem", "--root", "/"]},
  "memory": ` + program + `"memory", "--file", ` + quoteJSON(elsewhere+"/memory.jsonl") + `]},
  "loose": ` + program + `"memory", "--file", ` + quoteJSON(loose) + `]}}}`})
	const ada = `create_entities={"entities": [{"name": "Ada", "entityType": "person", "observations": []}]}`
	const nothing = "With this profile it starts, does the same, and is refused nothing.\n"
	missing := "Not proposed: " + loose + ": the file does not exist yet, and files that are created in this folder are deleted when the program ends; create the file, or name one in a folder of its own, and learn again.\n"
	for _, c := range []struct{ server, call, want string }{
		{"files", `read-file={"path": "a.md"}`, "files needs:\n+ read   " + project + "\n" + nothing},
		{"all", `read-file={"path": ` + quoteJSON(project+"/a.md") + `}`, "all needs:\n+ read   " + project + "\nNot proposed: /: it contains files of all programs. If it needs that: junction server sandbox allow all --read /\n" + nothing},
		{"memory", ada, "memory needs:\n+ write  " + elsewhere + "\n" + nothing},
		{"loose", ada, "loose needs:\n  nothing beyond the system's programs and its own package, and no host\n" + missing + nothing},
	} {
		runs(t, "", "sandbox", "learn", c.server, "--config", "mcp.json", "--yes", "--call", c.call).expect(t, cli.ExitOK, c.want, "Called "+strings.SplitN(c.call, "=", 2)[0]+".\n")
	}
	if text, err := os.ReadFile(clitest.In(t, "junction.json")); err != nil || strings.Count(string(text), "sandbox") != 4 {
		t.Errorf("%v: got %s", err, text)
	}
	runs(t, "", "call", "files", "read-file", "path=a.md", "--config", "mcp.json").expect(t, cli.ExitOK, "hello", "")
	runs(t, "", "call", "memory", "read_graph", "--config", "mcp.json").expect(t, cli.ExitOK, "Ada", "")
	// What is there can be allowed.
	clitest.Write(t, map[string]string{loose: ""})
	runs(t, "", "sandbox", "learn", "loose", "--config", "mcp.json", "--yes", "--call", ada).expect(t, cli.ExitOK, "+ write  "+loose+"\n"+nothing, "")
	runs(t, "", "call", "loose", "read_graph", "--config", "mcp.json").expect(t, cli.ExitOK, "Ada", "")
}

// A server chooses whom it asks for, and --yes writes what is proposed.
func TestNoAddressOfThisMachinesNetworksIsLearned(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "memory")
	args, err := json.Marshal(append([]string{"-c", `(exec 3<>/dev/tcp/169.254.169.254/80) 2>/dev/null; exec "$@"`, "bash"}, argv...))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, map[string]string{"mcp.json": `{"mcpServers": {"memory": {"command": "bash", "env": {"` + asProgram + `": "1"}, "args": ` + string(args) + `}}}`})
	runs(t, "", "sandbox", "learn", "memory", "--config", "mcp.json", "--yes").expect(t, cli.ExitOK,
		"Not proposed: 169.254.169.254: it is an address of this machine or its networks. If it needs that: junction server sandbox allow memory --host 169.254.169.254\n", "")
	if text, err := os.ReadFile(clitest.In(t, "junction.json")); err != nil || strings.Contains(string(text), "169.254") {
		t.Errorf("%v: got %s", err, text)
	}
}

func TestFailedLessonsNameTheRemedy(t *testing.T) {
	clitest.InProcess(t)
	argv := self(t, "serve", "memory")
	args, err := json.Marshal(append([]string{"-c", `(exec 3<>/dev/tcp/169.254.169.254/80) 2>/dev/null; exec "$@"`, "bash"}, argv...))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, map[string]string{"mcp.json": `{"mcpServers": {"memory": {"command": "bash", "env": {"` + asProgram + `": "1"}, "args": ` + string(args) + `}}}`})
	runs(t, "", "sandbox", "learn", "memory", "--config", "mcp.json", "--yes", "--call", "nosuch").expect(t, cli.ExitToolFailed, "memory needs:",
		"junction: these calls failed, so permissions for them may be missing: nosuch\njunction: it used things that are not proposed; the lines above have the commands that allow them\n")
	clitest.Write(t, map[string]string{"mcp.json": strings.Replace(`{"mcpServers": {"memory": {"command": "bash", "env": {"`+asProgram+`": "1"}, "args": `+string(args)+`}}}`, `"memory"]`, `"time"]`, 1)})
	runs(t, "", "sandbox", "learn", "memory", "--config", "mcp.json", "--yes", "--forget", "--call", "nosuch").expect(t, cli.ExitToolFailed, "memory needs:",
		"junction: it used something that is not proposed; to allow that: junction server sandbox allow memory --host 169.254.169.254\n")
}

// What --yes agrees to is a profile that was seen to do.
func TestFailingProfilesAreNotWrittenWithoutConsent(t *testing.T) {
	notes(t, "")
	if err := os.Link(self(t)[0], clitest.In(t, "server")); err != nil { // the sandbox has a /tmp of its own
		t.Skip(err)
	}
	command := `test ! -e notes/ran && echo > notes/ran && exec ./server serve filesystem --root ./notes` // it starts once
	clitest.Write(t, map[string]string{"mcp.json": `{"mcpServers": {"notes": {"command": "sh", "args": ["-c", ` + quoteJSON(command) + `], "env": {"` + asProgram + `": "1"}}}}`})
	args := []string{"sandbox", "learn", "notes", "--config", "mcp.json"}
	runs(t, "", append(args, "--yes")...).expect(t, cli.ExitConnection, "With this profile it does not start", `server "notes" does not start with this profile, so nothing was written; without --yes you are asked`)
	if text, err := os.ReadFile(clitest.In(t, "junction.json")); err == nil {
		t.Errorf("written is %s", text)
	}
}

func TestRefusalsAreLoggedWithTheRemedy(t *testing.T) {
	notes(t, `, "junction": {"servers": {"notes": {"sandbox": {}}}}`)
	home, _ := clitest.PlaceOf(t).Getwd()
	runs(t, "", "tools", "notes", "--config", "mcp.json").expect(t, cli.ExitConnection, "",
		"junction: server notes: was refused to read "+home+"/notes; to allow it: junction server sandbox allow notes --read "+home+"/notes\n")
	runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", "--read", home+"/notes").expect(t, cli.ExitOK, "+ read   ~/notes\n", "")
	runs(t, "", "call", "notes", "read-file", "path=a.md", "--config", "mcp.json").expect(t, cli.ExitOK, "hello", "")
}

func TestAProfileInTheLockIsShownAndChanged(t *testing.T) {
	clitest.InProcess(t)
	clitest.Write(t, map[string]string{
		"mcp.json": `{"mcpServers": {"echo": {"command": "npx", "args": ["-y", "echo@1.0.0", "--loud"]}}}`,
		"junction.lock": `{"version": 1, "servers": {"echo": {"replaces": ["npx", "-y", "echo@1.0.0"],
  "package": {"type": "npm", "name": "echo", "version": "1.0.0", "integrity": "sha512-x", "program": ["node", "echo.js"]}, "sandbox": {"read": ["~/notes"]}}}}`,
	})
	runs(t, "", "sandbox", "show", "echo", "--config", "mcp.json").expect(t, cli.ExitOK, "echo is confined, by ~/junction.lock:\n  read   ~/notes\n", "")
	runs(t, "", "sandbox", "allow", "echo", "--config", "mcp.json", "--host", "api.example.com").expect(t, cli.ExitOK, "junction.lock:\n  read   ~/notes\n+ host   api.example.com\n", "")
	lock, err := install.ReadLock(clitest.In(t, "junction.lock"))
	if err != nil {
		t.Fatal(err)
	}
	want := &sandbox.Profile{Read: []string{"~/notes"}, Hosts: []string{"api.example.com"}}
	if got := lock.Servers["echo"]; !reflect.DeepEqual(got.Sandbox, want) || got.Package.Version != "1.0.0" || got.Next != nil {
		t.Errorf("the lock has %+v with %+v", got, got.Sandbox)
	}
	// Settings come first.
	clitest.Write(t, map[string]string{"junction.json": `{"junction": {"servers": {"echo": {"sandbox": {"write": ["~/out"]}}}}}`})
	runs(t, "", "sandbox", "show", "echo", "--config", "mcp.json").expect(t, cli.ExitOK, "echo is confined, by junction.servers.echo.sandbox in junction.json:\n  write  ~/out\n", "")
}

// Who allows a path that is not there, or a file alone, should know what the server cannot do with it.
func TestAllowReportsUnusablePaths(t *testing.T) {
	clitest.InProcess(t)
	home, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	writeBelow(t, home, "data/notes.db", "")
	configure(t, "mcp.json", `"notes":{"command":"notes-server"}`, `"servers":{"notes":{"sandbox":{}}}`)
	const replaced = " can be written, but not replaced. A program that replaces it by a new file needs access to the folder, "
	for _, c := range []struct{ flag, path, want string }{
		{"--read", "~/typo", "~/typo does not exist now: the program sees it once it exists and the program starts again."},
		{"--read", "~/data", ""},
		{"--read", "data/notes.db", ""},
		{"--write", "~/data/notes.db", "~/data/notes.db" + replaced + "with --write " + home + "/data."},
		{"--write", "~/new.jsonl", "~/new.jsonl" + replaced + "which other programs use, too: move the file to a folder of its own."},
		{"--write", "~/data", ""},
		{"--write", "~/new", ""},
	} {
		got := runs(t, "", "sandbox", "allow", "notes", "--config", "mcp.json", c.flag, c.path)
		lines := strings.SplitAfter(strings.TrimSpace(got.stdout), "\n")
		said := strings.Join(slices.DeleteFunc(lines[1:], func(l string) bool { return strings.HasPrefix(l, "+ ") || strings.HasPrefix(l, "  ") }), "")
		if said != c.want || got.code != cli.ExitOK {
			t.Errorf("%s %s: %q, want %q; %+v", c.flag, c.path, said, c.want, got)
		}
	}
}
