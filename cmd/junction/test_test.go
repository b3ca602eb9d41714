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
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/servers/everything"
)

const addCase = "server: everything\ncases:\n- {case: adds, tool: add, arguments: {a: 1, b: 2}, expect: {structured: {equals: {sum: 3}}}}\n"

func TestTestOfAProgramAtEachRevisionAndOverEachTransport(t *testing.T) {
	inFolder(t)
	program := strings.Join(self(t, "serve", "filesystem", "--root", "{{dir}}"), "', '")
	clitest.Write(t, map[string]string{"files.txtar": "-- notes/one.txt --\nthe first note\n-- cases.yaml --\nserver: {command: ['" + program + "']}\ncases:\n- {case: a note, tool: read-file, arguments: {path: '{{dir}}/notes/one.txt'}, expect: {text: {contains: the first note}}}\n"})
	got := runs(t, "", "test", "files.txtar", "--revisions", "all", "--transports", "all", "--tap", "--junit", "out.xml")
	got.expect(t, cli.ExitOK, "TAP version 14\n1..15\nok 1 - files.txtar [2026-07-28, stdio] a note\n", "")
	got.expect(t, cli.ExitOK, "ok 3 - files.txtar [2026-07-28, sse] # SKIP 2026-07-28 has no HTTP+SSE\n", "")
	got.expect(t, cli.ExitOK, "ok 15 - files.txtar [2024-11-05, sse] a note\n", "")
	text, err := os.ReadFile(clitest.In(t, "out.xml"))
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
	clitest.Alone(t)
	entry := `{"mcpServers": {"sums": {"command": "` + filepath.ToSlash(self(t)[0]) + `", "args": ["serve", "everything"], "unknownMember": 1}}}`
	files := map[string]string{"junction.json": entry}
	for _, name := range []string{"a", "b", "c", "d"} {
		files["tests/"+name+".yaml"] = strings.Replace(addCase, "everything", "sums\neach: case", 1) + "- {case: again, tool: echo, arguments: {message: hi}, expect: {text: hi}}\n"
	}
	clitest.Write(t, files)
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
	clitest.Write(t, map[string]string{
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
	clitest.Write(t, map[string]string{
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
	clitest.Alone(t)
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
	clitest.Write(t, map[string]string{"session.jsonl": b.String()})
	runs(t, "", "test", "--from", "session.jsonl", "draft.yaml").expect(t, cli.ExitOK, "", "")
	runs(t, "", "test", "draft.yaml", "--update").expect(t, cli.ExitOK, "1 case passed", "")
	runs(t, "", "test", "draft.yaml", "--server", "everything").expect(t, cli.ExitOK, "1 case passed, 0 failed", "")
	text, err := os.ReadFile(clitest.In(t, "draft.yaml"))
	if want := "capabilities:\n  - elicitation\n  - sampling\n  - roots\ncases:\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: the draft lacks %q:\n%s", err, want, text)
	}
}
