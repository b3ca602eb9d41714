package add

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/registry"
	"github.com/junction-mcp/junction/sandbox"
)

// reviewed returns the text that show writes for a dry run.
func reviewed(t *testing.T, d *dryRun) string {
	t.Helper()
	w := &addition{Adder: adder(t), name: "notes", server: &registry.Server{Name: "notes"}, dry: d}
	w.written.URL = "https://example.com"
	w.show()
	return shown(w.Adder)
}

func TestReviewRepeatsNothing(t *testing.T) {
	same := func(where string) guard.Finding {
		return guard.Finding{Severity: guard.Warn, Why: "asks for secrecy", Excerpt: "tell nobody", Where: where}
	}
	d := &dryRun{tools: []*mcp.Tool{{Name: "put"}, {Name: "get", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}},
		findings: []guard.Finding{same("tool put, description"), same("tool get, description"), {Severity: guard.Note, Why: "is long"}, same("tool get, title")}}
	const want = "notes is reached at https://example.com\n" +
		"  source     none is known\n" +
		"  offers     2 tools (1 declared as read-only)\n" +
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

func TestReviewWarnsOfUnencryptedTrafficToOtherMachines(t *testing.T) {
	for address, want := range map[string]bool{
		"http://example.com/mcp": true, "http://10.0.0.1:80/mcp": true, "https://example.com/mcp": false,
		"http://127.0.0.1:7718/mcp": false, "http://[::1]:7718/mcp": false, "http://localhost/mcp": false,
	} {
		w := &addition{}
		w.written.URL = address
		if got := slices.Contains(w.permissions(), "which others on the network can read"); got != want {
			t.Errorf("for %s, the review warns: %v", address, got)
		}
	}
}

func TestTheFirstCallThatIsProposedOnlyReads(t *testing.T) {
	reading := &mcp.ToolAnnotations{ReadOnlyHint: new(true)}
	d := &dryRun{tools: []*mcp.Tool{{Name: "clear"}, {Name: "--config=evil.json", Annotations: reading}, {Name: "search", Annotations: reading}, {Name: "read it", Annotations: reading}}}
	for name, schema := range map[string]string{"clear": `{}`, "--config=evil.json": `{}`, "search": `{"required":["query","where"]}`, "read it": `{"required":["path"]}`} {
		d.definitions = append(d.definitions, guard.Definition{Kind: guard.Tool, Name: name, Schema: json.RawMessage(schema)})
	}
	w := &addition{Adder: adder(t), name: "notes", dry: d}
	if got := w.firstCall(); got != `junction call notes "read it" "path=…"` {
		t.Errorf("proposed is %s", got)
	}
	d.tools = d.tools[:1]
	if got := w.firstCall(); got != "junction list tools notes" {
		t.Errorf("of tools that do not say that they read: %s", got)
	}
}

// Otherwise an author could choose a folder of the user to write into before the user agreed.
func TestOnlyTypedFoldersAreWritable(t *testing.T) {
	alone(t)
	theirs, mine, asked := t.TempDir(), t.TempDir(), t.TempDir()
	may := func(w *addition) (p sandbox.Profile) {
		allowArguments(w.Launcher.Place, &p, w.typedArgs())
		return p
	}
	file := filepath.Join(t.TempDir(), "theirs.db")
	writeFiles(t, map[string]string{file: ""})
	input := func(in registry.Input) registry.Argument {
		return registry.Argument{Type: "positional", ValueHint: "dir", Input: in}
	}
	w, err := filled(t, &registry.Server{Packages: []registry.Package{{PackageArguments: []registry.Argument{
		input(registry.Input{Value: theirs}),
		input(registry.Input{Value: file}),
		input(registry.Input{IsRequired: true, Default: theirs + string(filepath.Separator)}),
		{Type: "named", Name: "--root", Input: registry.Input{IsRequired: true, Format: "filepath"}},
	}}}}, "root="+asked)
	if err != nil {
		t.Fatal(err)
	}
	if got := may(w); !reflect.DeepEqual(got, sandbox.Profile{Write: []string{asked}}) || !slices.Contains(w.written.Args, theirs) || !slices.Contains(w.written.Args, file) {
		t.Errorf("it may %+v of %q", got, w.written.Args)
	}
	w = &addition{Adder: w.Adder, name: "tracker", server: w.server, pkg: &registry.Package{}, Options: Options{Arguments: []string{mine}}, locked: &install.Locked{Package: install.Package{Type: "npm", Name: "@x/echo", Version: "1.0.0"}}}
	if err := w.fill(t.Context()); err != nil || !reflect.DeepEqual(may(w), sandbox.Profile{Write: []string{mine}}) {
		t.Errorf("behind --: %v, it may %+v", err, may(w))
	}
}

func TestHostsOfTypedAddressesAreAllowed(t *testing.T) {
	for arg, want := range map[string]string{
		"https://mcp.example.com/sse":         "mcp.example.com",
		"http://127.0.0.1:8123":               "127.0.0.1:8123",
		"http://[::1]/mcp":                    "[::1]",
		"postgresql://u:p@db.example.com/d":   "db.example.com:5432",
		"mongodb://localhost:27018/x":         "localhost:27018",
		"redis://h":                           "h:6379",
		"memory://x":                          "",
		"mongodb://a.example:1,b.example:2/x": "",
		"file:///etc":                         "",
		"C:\\data":                            "",
		"example.com":                         "",
		"--url=https://a.example":             "",
		"https://*.example.com":               "",
		"http://not a host":                   "",
		"http://a!b":                          "",
	} {
		var p sandbox.Profile
		allowArguments(place.Place{}, &p, []string{arg, arg})
		if got := strings.Join(p.Hosts, " "); got != want {
			t.Errorf("%s: %q, want %q", arg, got, want)
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestTypedFileIsRead(t *testing.T) {
	alone(t)
	home, _ := os.Getwd()
	elsewhere := t.TempDir()
	writeFiles(t, map[string]string{"data/mine.db": "1", "words": "2", filepath.Join(elsewhere, "real.db"): "3"})
	if err := os.Symlink(filepath.Join(elsewhere, "real.db"), "link.db"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		flags sandbox.Profile
		args  string
		want  string
	}{
		{sandbox.Profile{}, home + "/data/mine.db words --nothing", "is confined, except for read ~/data/mine.db, read ~/words"},
		{sandbox.Profile{}, "./link.db", "is confined, except for read ~/link.db (which is " + elsewhere + "/real.db)"},
		{sandbox.Profile{Write: []string{"data/mine.db"}}, "data/mine.db", "is confined, except for write ~/data/mine.db"},
		{sandbox.Profile{Read: []string{"data"}}, "data/mine.db", "is confined, except for read ~/data"},
		{sandbox.Profile{}, "data/mine.db data", "is confined, except for write ~/data"},
		{sandbox.Profile{}, "nothing.db", "is confined to its own package"},
	} {
		w, err := filled(t, &registry.Server{Packages: []registry.Package{{}}})
		if err != nil {
			t.Fatal(err)
		}
		w.dry, w.Allowed, w.typed = &dryRun{}, c.flags, strings.Fields(c.args)
		w.written.Args = slices.Concat(w.written.Args, w.typed)
		if err := w.confine(); err != nil || w.confinement() != c.want {
			t.Errorf("%s: %v, its program %s, want %s", c.args, err, w.confinement(), c.want)
		}
	}
}

// writeFiles writes files by their paths.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
