package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/servers/everything"
)

// writeCases writes files into the current folder.
func writeCases(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(in(t, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(t, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const addCase = "server: everything\ncases:\n- {case: adds, tool: add, arguments: {a: 1, b: 2}, expect: {structured: {equals: {sum: 3}}}}\n"

func TestTestExitsByWhatBecameOfTheCases(t *testing.T) {
	inFolder(t)
	writeCases(t, map[string]string{
		"good/add.yaml":    addCase,
		"bad/add.yaml":     strings.Replace(addCase, "sum: 3", "sum: 4", 1),
		"wrong/add.yaml":   strings.Replace(addCase, "arguments", "args", 1),
		"wrong/b.yaml":     "server: x\n",
		"broken/add.yaml":  strings.Replace(addCase, "everything", "{command: [./nothing-here]}", 1),
		"nowhere/add.yaml": strings.Replace(addCase, "everything", "nobody", 1),
	})
	runs(t, "", "test", "good").expect(t, cli.ExitOK, "ok    good/add.yaml [2026-07-28, stdio]: 1 case passed\n1 case passed, 0 failed, 0 skipped; ", "")
	runs(t, "", "test", "good", "--all").expect(t, cli.ExitOK, "  ok    adds (", "")
	runs(t, "", "test", "bad").expect(t, cli.ExitToolFailed, "FAIL  bad/add.yaml [2026-07-28, stdio]: 1 of 1 cases failed\n  FAIL  adds (line 3)\n        tool add: structured: expected {\"sum\":4}, got {\"sum\":3}\n0 cases passed, 1 failed, 0 skipped; ", "")
	got := runs(t, "", "test", "wrong")
	got.expect(t, cli.ExitUsage, "", `wrong/add.yaml: line 3: the case has no member "args"`)
	got.expect(t, cli.ExitUsage, "", "wrong/b.yaml: cases: expected a list")
	runs(t, "", "test", "broken", "good").expect(t, cli.ExitConnection, "FAIL  broken/add.yaml\nok    good/add.yaml", "nothing-here")
	runs(t, "", "test", "nowhere").expect(t, cli.ExitConnection, "FAIL  nowhere/add.yaml\n", `no server is called "nobody"`)
	runs(t, "", "test", "nowhere", "--server", "everything").expect(t, cli.ExitOK, "1 case passed", "")
	runs(t, "", append([]string{"test", "nowhere", "--"}, self(t, "serve", "everything")...)...).expect(t, cli.ExitOK, "1 case passed", "")
	runs(t, "", "test", "good", "--run", "nothing").expect(t, cli.ExitUsage, "", `no case was run whose name matches "nothing"`)
	runs(t, "", "test", "bad", "--revisions", "2026-07-28,2025-11-25,2025-06-18").expect(t, cli.ExitToolFailed, "FAIL  bad/add.yaml [2026-07-28, stdio]: 1 of 1 cases failed\n  FAIL  adds (line 3; the same in 3 runs)\n        tool add: structured: expected {\"sum\":4}, got {\"sum\":3}\nFAIL  bad/add.yaml [2025-11-25, stdio]: 1 of 1 cases failed\nFAIL  bad/add.yaml [2025-06-18, stdio]: 1 of 1 cases failed\n0 cases passed, 3 failed", "")
}

func TestWhatIsWrongOnTheCommandLineOfTest(t *testing.T) {
	inFolder(t)
	writeCases(t, map[string]string{"good/add.yaml": addCase})
	for _, test := range []struct {
		want string
		args []string
	}{
		{"expected files of cases", nil},
		{"no such file or folder: nothing\n", []string{"nothing"}},
		{`there is no revision "2020"`, []string{"good", "--revisions", "2020"}},
		{`there is no transport "tcp"`, []string{"good", "--transports", "stdio,tcp"}},
		{"--run: ", []string{"good", "--run", "("}},
		{"--parallel: ", []string{"good", "--parallel", "0"}},
		{"give a server either", []string{"good", "--server", "x", "--", "y"}},
		{"--env is for servers that are started", []string{"good", "--server", "http://127.0.0.1:1/mcp", "--env", "A=b"}},
	} {
		got := runs(t, "", append([]string{"test"}, test.args...)...)
		if !strings.Contains(got.stderr, test.want) || got.code != cli.ExitUsage {
			t.Errorf("%q: %+v, want %s", test.args, got, test.want)
		}
	}
}

func TestTestOfAProgramAtEachRevisionAndOverEachTransport(t *testing.T) {
	inFolder(t)
	program := strings.Join(self(t, "serve", "filesystem", "--root", "{{dir}}"), "', '")
	writeCases(t, map[string]string{"files.txtar": "-- notes/one.txt --\nthe first note\n-- cases.yaml --\nserver: {command: ['" + program + "']}\ncases:\n- {case: a note, tool: read-file, arguments: {path: '{{dir}}/notes/one.txt'}, expect: {text: {contains: the first note}}}\n"})
	got := runs(t, "", "test", "files.txtar", "--revisions", "all", "--transports", "all", "--tap", "--junit", "out.xml")
	got.expect(t, cli.ExitOK, "TAP version 14\n1..15\nok 1 - files.txtar [2026-07-28, stdio] a note\n", "")
	got.expect(t, cli.ExitOK, "ok 3 - files.txtar [2026-07-28, sse] # SKIP 2026-07-28 has no HTTP+SSE\n", "")
	got.expect(t, cli.ExitOK, "ok 15 - files.txtar [2024-11-05, sse] a note\n", "")
	text, err := os.ReadFile(in(t, "out.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil || suites.Tests != 15 || suites.Failures != 0 || suites.Skipped != 1 {
		t.Errorf("%v: %+v in %s", err, suites, text)
	}
}

func TestFilesThatRunInParallelShareAConfiguration(t *testing.T) {
	alone(t)
	entry := `{"mcpServers": {"sums": {"command": "` + filepath.ToSlash(self(t)[0]) + `", "args": ["serve", "everything"], "unknownMember": 1}}}`
	files := map[string]string{"junction.json": entry}
	for _, name := range []string{"a", "b", "c", "d"} {
		files["tests/"+name+".yaml"] = strings.Replace(addCase, "everything", "sums\neach: case", 1) + "- {case: again, tool: echo, arguments: {message: hi}, expect: {text: hi}}\n"
	}
	writeCases(t, files)
	got := runs(t, "", "test", "tests", "--config", "junction.json", "--parallel", "4", "--transports", "all")
	got.expect(t, cli.ExitOK, "24 cases passed, 0 failed, 0 skipped; ", "")
	if n := strings.Count(got.stderr, "unknownMember"); n > 1 {
		t.Errorf("the same is said %d times:\n%s", n, got.stderr)
	}
}

// A server is reached by its URL, by an entry with one of both transports, and in a recording of several.
func TestTestOfServersThatAreNoPrograms(t *testing.T) {
	inFolder(t)
	s := mcp.NewServer("sums", "1")
	mcp.AddTool(s, "add", func(_ context.Context, in struct{ A, B int }) (struct {
		Sum int `json:"sum"`
	}, error) {
		return struct {
			Sum int `json:"sum"`
		}{in.A + in.B}, nil
	})
	newer, older := httptest.NewServer(streamable.Handler(s)), httptest.NewServer(httpsse.Handler(s))
	t.Cleanup(newer.Close)
	t.Cleanup(older.Close)
	text := strings.Replace(addCase, "{a: 1, b: 2}", "{A: 1, B: 2}", 1)
	writeCases(t, map[string]string{
		"tests/add.yaml": text,
		"junction.json":  `{"mcpServers": {"newer": {"url": "` + newer.URL + `"}, "older": {"type": "sse", "url": "` + older.URL + `"}}}`,
	})
	runs(t, "", "test", "tests", "--server", newer.URL, "--transports", "all").expect(t, cli.ExitOK, "ok    tests/add.yaml [2026-07-28, http]: 1 case passed\n1 case passed", "")
	runs(t, "", "test", "tests", "--", newer.URL).expect(t, cli.ExitOK, "[2026-07-28, http]: 1 case passed", "")
	if got := runs(t, "", "test", "tests", "--server", newer.URL, "--transports", "stdio"); got.code != cli.ExitUsage || got.stdout != "skip  tests/add.yaml [stdio]: the server is reached by http\n" || !strings.Contains(got.stderr, "no case was run") {
		t.Errorf("%+v", got)
	}
	runs(t, "", "test", "tests", "--config", "junction.json", "--server", "newer", "--revisions", "2025-06-18").expect(t, cli.ExitOK, "[2025-06-18, http]: 1 case passed", "")
	runs(t, "", "test", "tests", "--config", "junction.json", "--server", "older").expect(t, cli.ExitOK, ", sse]: 1 case passed", "")
	recorded := strings.Replace(text, "everything", "{recording: ../two.jsonl, recorded: b}", 1)
	writeCases(t, map[string]string{
		"tests/add.yaml": recorded,
		"none.yaml":      strings.Replace(recorded, "..", "nowhere", 1),
		"two.jsonl": `{"recording":1,"program":"test","began":"2026-11-25T10:00:00Z"}
{"ms":1,"event":"request","call":1,"server":"a","method":"tools/list"}
{"ms":2,"event":"request","call":2,"server":"b","method":"tools/call","params":{"name":"add","arguments":{"A":1,"B":2}}}
{"ms":3,"event":"result","call":2,"result":{"content":[],"structuredContent":{"sum":3}}}
{"ms":4,"event":"request","call":3,"server":"b","method":"server/discover"}
{"ms":5,"event":"result","call":3,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
`,
	})
	runs(t, "", "test", "tests", "--transports", "all").expect(t, cli.ExitOK, "3 cases passed, 0 failed, 0 skipped", "")
	runs(t, "", "test", "none.yaml").expect(t, cli.ExitConnection, "FAIL  none.yaml\n", "two.jsonl")
	runs(t, "", "test", "--from", "two.jsonl").expect(t, cli.ExitUsage, "", `name one of ["a" "b"] by --server`)
	if out, _ := exits(t, cli.ExitOK, "test", "--from", "two.jsonl", "--server", "b"); !strings.Contains(out, "  recording: two.jsonl\n  recorded: b\n") {
		t.Errorf("the draft is\n%s", out)
	}
}

// A server lists more tools to a client that can be asked; the draft declares what the one declared that was recorded.
func TestADraftPassesAgainstTheServerThatWasRecorded(t *testing.T) {
	alone(t)
	var b bytes.Buffer
	recorder, err := recording.New(&b, recording.Options{Through: true})
	if err != nil {
		t.Fatal(err)
	}
	s := everything.New()
	c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Middleware: []mcp.Middleware{recorder.Middleware("everything")},
		OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, mcp.ErrClosed },
		OnSample: func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return nil, mcp.ErrClosed
		},
		OnRoots: func(context.Context) ([]mcp.Root, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	writeCases(t, map[string]string{"session.jsonl": b.String()})
	runs(t, "", "test", "--from", "session.jsonl", "draft.yaml").expect(t, cli.ExitOK, "", "")
	runs(t, "", "test", "draft.yaml", "--update").expect(t, cli.ExitOK, "1 case passed", "")
	runs(t, "", "test", "draft.yaml", "--server", "everything").expect(t, cli.ExitOK, "1 case passed, 0 failed", "")
	text, err := os.ReadFile(in(t, "draft.yaml"))
	if want := "capabilities:\n  - elicitation\n  - sampling\n  - roots\ncases:\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: the draft lacks %q:\n%s", err, want, text)
	}
}

func TestADraftIsMadeOfARecording(t *testing.T) {
	inFolder(t)
	exits(t, cli.ExitOK, "call", "everything", "add", "a=2", "b=40", "--record", "session.jsonl")
	if err := os.Mkdir(in(t, "tests"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, _ := exits(t, cli.ExitOK, "test", "--from", "session.jsonl")
	if !strings.Contains(out, "    expect:\n      structured:\n        equals:\n          sum: 42\n") {
		t.Errorf("the draft is\n%s", out)
	}
	exits(t, cli.ExitOK, "test", "--from", "session.jsonl", "tests/add.yaml")
	runs(t, "", "test", "tests").expect(t, cli.ExitToolFailed, "snapshot: there is no ", "")
	runs(t, "", "test", "tests", "--update").expect(t, cli.ExitOK, "wrote "+filepath.Join("tests", "add.snapshots", "list-tools.yaml"), "")
	runs(t, "", "test", "tests").expect(t, cli.ExitOK, "2 cases passed", "")
	runs(t, "", "test", "tests", "--server", "everything").expect(t, cli.ExitOK, "2 cases passed", "")
	runs(t, "", "test", "--from", "session.jsonl", "tests/add.yaml").expect(t, cli.ExitUsage, "", "is there already; a draft replaces nothing")
	runs(t, "", "test", "--from", "nothing.jsonl").expect(t, cli.ExitConnection, "", "nothing.jsonl")
	runs(t, "", "test", "--from", "session.jsonl", "--server", "other").expect(t, cli.ExitUsage, "", `no server "other"`)
}
