package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/registry"
)

// reviewed is what show writes of a dry run.
func reviewed(t *testing.T, d *dryRun) string {
	t.Helper()
	var stdout safeBuffer
	w := &addition{app: &app{out: terminal.NewScreen(&stdout)}, name: "notes", server: &registry.Server{Name: "notes"}, dry: d}
	w.written.URL = "https://example.com"
	w.show()
	return stdout.String()
}

func TestAReviewSaysEachThingOnce(t *testing.T) {
	same := func(where string) guard.Finding {
		return guard.Finding{Severity: guard.Warn, Why: "asks for secrecy", Excerpt: "tell nobody", Where: where}
	}
	d := &dryRun{tools: []*mcp.Tool{{Name: "put"}, {Name: "get", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}},
		findings: []guard.Finding{same("tool put, description"), same("tool get, description"), {Severity: guard.Note, Why: "is long"}, same("tool get, title")}}
	const want = "notes is reached at https://example.com\n" +
		"  source     none is known\n" +
		"  offers     2 tools (1 only read, as it says)\n" +
		"    to read  get\n" +
		"    others   put\n" +
		"  gets       what is sent to example.com\n" +
		"  WARNING    asks for secrecy: tell nobody (tool put, description, and in 2 more places)\n"
	if got := reviewed(t, d); got != want {
		t.Errorf("shown is\n%s\nwant\n%s", got, want)
	}
	if got := reviewed(t, &dryRun{prompts: 1, resources: 2}); !strings.Contains(got, "  offers  0 tools, 1 prompt, 2 resources\n") {
		t.Errorf("shown is\n%s", got)
	}
}

func TestTheFirstCallThatIsProposedOnlyReads(t *testing.T) {
	reading := &mcp.ToolAnnotations{ReadOnlyHint: new(true)}
	d := &dryRun{tools: []*mcp.Tool{{Name: "clear"}, {Name: "--config=evil.json", Annotations: reading}, {Name: "search", Annotations: reading}, {Name: "read it", Annotations: reading}}}
	for name, schema := range map[string]string{"clear": `{}`, "--config=evil.json": `{}`, "search": `{"required":["query","where"]}`, "read it": `{"required":["path"]}`} {
		d.definitions = append(d.definitions, guard.Definition{Kind: guard.Tool, Name: name, Schema: json.RawMessage(schema)})
	}
	w := &addition{name: "notes", dry: d}
	if got := w.firstCall(); got != `junction call notes "read it" "path=…"` {
		t.Errorf("proposed is %s", got)
	}
	d.tools = d.tools[:1]
	if got := w.firstCall(); got != "junction tools notes" {
		t.Errorf("of tools that do not say that they read: %s", got)
	}
}

func TestWhatDoesNotStartIsAddedByAnotherCommandLine(t *testing.T) {
	alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@3.0.0", "--yes").expect(t, exitConnection, "", "junction add npm:@x/echo@3.0.0 --env NAME=VALUE -- ARGUMENT…")
	s.versions["@x/keyed@1.0.0"] = []string{"sh", "-c", "echo 'TRACKER_API_KEY is required' >&2; exit 1"}
	s.runs(t, "", "add", "npm:@x/keyed@1.0.0", "--yes", "--no-sandbox").expect(t, exitConnection, "", "it wants the variable TRACKER_API_KEY: junction add npm:@x/keyed@1.0.0 --env TRACKER_API_KEY=…")
}

// An author could else choose which folder of the person's their program writes into before anybody agreed.
func TestOnlyFoldersThatThePersonTypedAreWritable(t *testing.T) {
	alone(t)
	theirs, mine, asked := t.TempDir(), t.TempDir(), t.TempDir()
	input := func(in registry.Input) registry.Argument {
		return registry.Argument{Type: "positional", ValueHint: "dir", Input: in}
	}
	w, err := filled(t, &registry.Server{Packages: []registry.Package{{PackageArguments: []registry.Argument{
		input(registry.Input{Value: theirs}),
		input(registry.Input{IsRequired: true, Default: theirs + string(filepath.Separator)}),
		{Type: "named", Name: "--root", Input: registry.Input{IsRequired: true, Format: "filepath"}},
	}}}}, "root="+asked)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.folders(); !slices.Equal(got, []string{asked}) || !slices.Contains(w.written.Args, theirs) {
		t.Errorf("writable are %q of %q", got, w.written.Args)
	}
	w = &addition{app: w.app, name: "tracker", server: w.server, pkg: &registry.Package{}, more: []string{mine}, locked: &install.Locked{Package: install.Package{Type: "npm", Name: "@x/echo", Version: "1.0.0"}}}
	if err := w.fill(t.Context()); err != nil || !slices.Equal(w.folders(), []string{mine}) {
		t.Errorf("behind --: %v, writable are %q", err, w.folders())
	}
}
