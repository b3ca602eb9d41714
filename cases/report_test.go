package cases

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/recording"
)

// reports has one report of each kind.
var reports = []*FileReport{
	{Path: "a.yaml", Cells: []Cell{
		{Revision: "2026-07-28", Transport: "stdio", Cases: []CaseReport{
			{Name: "one # \\", Line: 3, Took: 1500 * time.Millisecond},
			{Name: "two", Line: 4, Failures: []string{"tool x: text: it is not as expected\n-a <b>\n+\x1b[31mc", "more"}},
			{Name: "three", Line: 5, Skipped: "not for stdio"},
		}},
		{Revision: "2025-06-18", Transport: "sse", Skipped: "the server does not support 2025-06-18"},
	}},
	{Path: "b.yaml", Err: errors.New("it does not start")},
}

func TestACellThatIsSkippedCountsAsInJUnitAndTAP(t *testing.T) {
	if got, want := Count(reports), (Counts{Passed: 1, Failed: 1, Skipped: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTAP(t *testing.T) {
	const want = `TAP version 14
1..5
ok 1 - a.yaml [2026-07-28, stdio] one \# \\
not ok 2 - a.yaml [2026-07-28, stdio] two
  ---
  failures:
    - |-
      tool x: text: it is not as expected
      -a <b>
      +\x1b[31mc
    - more
  ...
ok 3 - a.yaml [2026-07-28, stdio] three # SKIP not for stdio
ok 4 - a.yaml [2025-06-18, sse] # SKIP the server does not support 2025-06-18
not ok 5 - b.yaml
  ---
  failures:
    - it does not start
  ...
`
	var b bytes.Buffer
	if err := WriteTAP(&b, reports); err != nil || b.String() != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, b.String(), want)
	}
}

func TestJUnit(t *testing.T) {
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" errors="1" skipped="2">
  <testsuite name="a.yaml [2026-07-28, stdio]" tests="3" failures="1" errors="0" skipped="1" time="1.5">
    <testcase classname="a.yaml [2026-07-28, stdio]" name="one # \" file="a.yaml" line="3" time="1.5"></testcase>
    <testcase classname="a.yaml [2026-07-28, stdio]" name="two" file="a.yaml" line="4" time="0">
      <failure message="tool x: text: it is not as expected">tool x: text: it is not as expected&#xA;-a &lt;b&gt;&#xA;+\x1b[31mc&#xA;more</failure>
    </testcase>
    <testcase classname="a.yaml [2026-07-28, stdio]" name="three" file="a.yaml" line="5" time="0">
      <skipped message="not for stdio"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="a.yaml [2025-06-18, sse]" tests="1" failures="0" errors="0" skipped="1" time="0">
    <testcase classname="a.yaml [2025-06-18, sse]" name="all cases" file="a.yaml" time="0">
      <skipped message="the server does not support 2025-06-18"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="b.yaml" tests="1" failures="0" errors="1" skipped="0" time="0">
    <testcase classname="b.yaml" name="connect" file="b.yaml" time="0">
      <error message="it does not start">it does not start</error>
    </testcase>
  </testsuite>
</testsuites>
`
	var b bytes.Buffer
	if err := WriteJUnit(&b, reports); err != nil || b.String() != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, b.String(), want)
	}
	if err := xml.Unmarshal(b.Bytes(), new(junitSuites)); err != nil {
		t.Error(err)
	}
}

func TestASnapshotIsWrittenComparedAndWrittenAgain(t *testing.T) {
	const text = "server: x\nmask: [/structuredContent/id, '\"id\":\\d+']\ncases:\n- {case: Make it!, tool: create, arguments: {name: Ada}, expect: snapshot}\n- case: list\n  steps:\n  - {tool: work, expect: {snapshot: true, text: done}}\n  - {list: tools, expect: snapshot}\n"
	f := write(t, "x.yaml", text)
	dir := filepath.Dir(f.Path)
	if got := failures(run(t, f, Options{})); len(got) != 2 || !strings.HasSuffix(got[0], "tool create: snapshot: there is no "+filepath.Join("x.snapshots", "make-it.yaml")+"; --update writes it") {
		t.Errorf("without snapshots: %q", got)
	}
	var wrote []string
	update := func(o Options) []string {
		o.Update = true
		r := run(t, f, o)
		if got := failures(r); len(got) > 0 {
			t.Errorf("update: %q", got)
		}
		wrote = nil
		for _, name := range r.Wrote {
			name, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			wrote = append(wrote, filepath.ToSlash(name))
		}
		return wrote
	}
	if got := update(Options{}); !slices.Equal(got, []string{"x.snapshots/make-it.yaml", "x.snapshots/list.1.yaml", "x.snapshots/list.2.yaml"}) {
		t.Errorf("wrote %q", got)
	}
	snapshot, err := os.ReadFile(filepath.Join(dir, "x.snapshots", "make-it.yaml"))
	if want := "content:\n  - text: '{{{masked}},\"name\":\"Ada\"}'\n    type: text\nstructuredContent:\n  id: '{{masked}}'\n  name: Ada\n"; err != nil || string(snapshot) != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, snapshot, want)
	}
	if got := update(Options{}); len(got) > 0 {
		t.Errorf("wrote again what was right: %q", got)
	}
	all := Options{Revisions: []string{"2026-07-28", "2025-06-18", "2024-11-05"}, Transports: []string{All}}
	if got := failures(run(t, f, all)); len(got) == 0 || !strings.Contains(got[0], "list.2.yaml: it is not as expected") {
		t.Errorf("a list of an older revision is the same: %q", got)
	}
	if got := update(all); !slices.Equal(got, []string{"x.snapshots/list.2.2025-06-18.yaml", "x.snapshots/list.2.2024-11-05.yaml"}) {
		t.Errorf("wrote %q", got)
	}
	if got := failures(run(t, f, all)); len(got) > 0 {
		t.Errorf("each revision has its snapshot: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.snapshots", "make-it.yaml"), []byte("content: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := failures(run(t, f, Options{})); len(got) != 1 || !strings.HasSuffix(got[0], "; --update writes it again") {
		t.Errorf("a broken snapshot: %q", got)
	}
	if got := update(Options{}); !slices.Equal(got, []string{"x.snapshots/make-it.yaml"}) {
		t.Errorf("wrote %q", got)
	}
}

func TestUpdateRemovesTheSnapshotsOfCasesThatAreGone(t *testing.T) {
	f := write(t, "x.yaml", "server: x\ncases:\n- {case: list, list: tools, expect: snapshot}\n- {case: plain, list: tools}\n")
	dir := filepath.Dir(f.Path)
	folder := filepath.Join(dir, "x.snapshots")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	place := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := []string{"gone.2024-11-05.yaml", "gone.yaml", "list.1.yaml", "plain.yaml"}
	for _, name := range append([]string{"list.2024-11-05.yaml", "README.md"}, gone...) {
		place(filepath.Join("x.snapshots", name))
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	place("x.yml")
	for name, o := range map[string]Options{"no update": {}, "some cases only": {Update: true, Names: regexp.MustCompile("list")}, "a second file with this folder": {Update: true}} {
		if r := run(t, f, o); len(r.Removed) > 0 || r.Err != nil {
			t.Errorf("%s: removed %q, %v", name, r.Removed, r.Err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "x.yml")); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range gone {
		want = append(want, filepath.Join(folder, name))
	}
	if r := run(t, f, Options{Update: true}); !slices.Equal(r.Removed, want) || r.Err != nil {
		t.Errorf("removed %q, %v, want %q", r.Removed, r.Err, want)
	}
	if got := left(); !slices.Equal(got, []string{"README.md", "list.2024-11-05.yaml", "list.yaml"}) {
		t.Errorf("left are %q", got)
	}
}

// TestUpdateRemovesNothingBehindALink covers links to the snapshots of another file, and to the
// folder of all files of cases.
func TestUpdateRemovesNothingBehindALink(t *testing.T) {
	f := write(t, "x.yaml", "server: x\ncases:\n- {case: list, list: tools}\n")
	dir := filepath.Dir(f.Path)
	other := filepath.Join(dir, "y.yaml")
	if err := os.WriteFile(other, []byte("server: y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "x.snapshots")); err != nil {
		t.Skip(err) // fails on Windows
	}
	if r := run(t, f, Options{Update: true}); len(r.Removed) > 0 || r.Err != nil {
		t.Errorf("removed %q, %v", r.Removed, r.Err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestASnapshotThatOneRunContradictsIsNotWrittenTwice(t *testing.T) {
	f := write(t, "x.yaml", "server: x\nmask: []\ncases:\n- {case: a, tool: create, arguments: {name: a}, expect: snapshot}\n")
	s := sample() // its counter continues
	o := Options{Connect: connectTo(func() *mcp.Server { return s }, nil), Transports: []string{Stdio, HTTP}, Update: true}
	r := run(t, f, o)
	got := failures(r)
	if len(got) != 1 || !strings.HasPrefix(got[0], "a [2026-07-28, http]: tool create: snapshot "+filepath.Join("x.snapshots", "a.yaml")+": expected ") && !strings.Contains(got[0], "it is not as expected") || len(r.Wrote) != 1 {
		t.Errorf("a result that differs each time is right, whatever it is: %q, wrote %q", got, r.Wrote)
	}
}

func TestADraftOfARecordingPassesAgainstIt(t *testing.T) {
	var b bytes.Buffer
	recorder, err := recording.New(&b, recording.Options{Through: true})
	if err != nil {
		t.Fatal(err)
	}
	f := write(t, "x.yaml", everything)
	if got := failures(run(t, f, Options{Connect: func(context.Context, Server, string) (*Target, error) {
		return &Target{Transport: stream.Pipe(sample()), Kind: Stdio, Options: mcp.ClientOptions{Middleware: []mcp.Middleware{recorder.Middleware("sample")}}}, nil
	}})); len(got) > 0 {
		t.Fatal(got)
	}
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Draft(r, "session.jsonl", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"server:\n  recording: session.jsonl\n",
		"  - case: tool create\n    tool: create\n    arguments:\n      name: Ada\n    expect:\n      structured:\n        equals:\n          id: 1\n          name: Ada\n",
		"  - case: tool nothing\n    tool: nothing\n    expect:\n      error:\n        code: -32602\n        message: unknown tool \"nothing\"; tools/list names those that exist\n",
		"  - case: tool greet\n    tool: greet\n    answers:\n      elicit:\n        - accept:\n            name: Grace\n    expect:\n      text: Hello Grace\n",
		"  - case: tool greet (2)\n", "        - decline\n",
		"      notifications:\n        - progress: null\n",
		"  - case: list tools\n    list: tools\n    expect: snapshot\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the draft lacks\n%s\nin\n%s", want, text)
		}
	}
	replayed := Options{Update: true, Connect: func(context.Context, Server, string) (*Target, error) {
		p, err := recording.NewReplay(r, recording.ReplayOptions{})
		if err != nil {
			return nil, err
		}
		return &Target{Transport: stream.Pipe(tasks.Wait(tasks.WaitOptions{})(p)), Kind: Stdio}, nil
	}}
	draft := write(t, "draft.yaml", string(text))
	if got := failures(run(t, draft, replayed)); len(got) > 0 {
		t.Errorf("the draft fails:\n%s", strings.Join(got, "\n"))
	}
	if _, err := Draft(r, "session.jsonl", "other"); err == nil || err.Error() != `the recording has no server "other"; it has ["sample"]` {
		t.Errorf("another server: %v", err)
	}
	empty, err := recording.Read(strings.NewReader(`{"recording":1,"program":"p","began":"2026-11-25T12:00:00Z"}` + "\n" + `{"ms":1,"event":"end"}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Draft(empty, "empty.jsonl", ""); err == nil || err.Error() != "the recording has no request" {
		t.Errorf("a recording of nothing: %v", err)
	}
}

// TestADraftCanBeRead checks that a draft of any requests is a valid file of cases.
func TestADraftCanBeRead(t *testing.T) {
	long := "file:///" + strings.Repeat("folder/", 30)
	lines := []string{`{"recording":1,"program":"test","began":"2026-11-25T10:00:00Z"}`}
	for i, asked := range []string{
		`"method":"resources/read","params":{"uri":"` + long + `a"}`,
		`"method":"resources/read","params":{"uri":"` + long + `b"}`,
		`"method":"resources/read","params":{"uri":"` + long + `b"}`,
		`"method":"tools/call","params":{"name":"a"}`,
		`"method":"tools/call","params":{"name":"a"}`,
		`"method":"tools/call","params":{"name":"a-2"}`,
		`"method":"tools/call","params":{"name":"<<","arguments":{"<<":"<<"}}`,
		`"method":"tools/call","params":{}`,
		`"method":"resources/read"`,
	} {
		lines = append(lines, fmt.Sprintf(`{"ms":%d,"event":"request","call":%d,"server":"s",%s}`, i, i+1, asked), fmt.Sprintf(`{"ms":%d,"event":"error","call":%d,"error":{"code":-32602,"message":"no"}}`, i, i+1))
	}
	r, err := recording.Read(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Draft(r, "session.jsonl", "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse("draft.yaml", text)
	if err != nil || len(f.cases) != 9 {
		t.Errorf("%v: %d cases, want 9, of\n%s", err, len(f.cases), text)
	}
}
