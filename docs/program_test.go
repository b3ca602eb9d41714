package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/policy"
)

// known are the packages that an example may use without importing them.
var known = map[string]string{
	"mcp":        "github.com/junction-mcp/junction/mcp",
	"stdio":      "github.com/junction-mcp/junction/mcp/stdio",
	"command":    "github.com/junction-mcp/junction/mcp/command",
	"stream":     "github.com/junction-mcp/junction/mcp/stream",
	"streamable": "github.com/junction-mcp/junction/mcp/streamable",
	"httpsse":    "github.com/junction-mcp/junction/mcp/httpsse",
	"middleware": "github.com/junction-mcp/junction/mcp/middleware",
	"otelmcp":    "github.com/junction-mcp/junction/mcp/otelmcp",
	"oauth":      "github.com/junction-mcp/junction/mcp/oauth",
	"apps":       "github.com/junction-mcp/junction/mcp/apps",
	"skills":     "github.com/junction-mcp/junction/mcp/skills",
	"sqlite":     "github.com/junction-mcp/junction/state/sqlite",
	"state":      "github.com/junction-mcp/junction/state",
	"gateway":    "github.com/junction-mcp/junction/gateway",
	"up":         "github.com/junction-mcp/junction/up",
	"launch":     "github.com/junction-mcp/junction/launch",
	"settings":   "github.com/junction-mcp/junction/config/settings",
	"everything": "github.com/junction-mcp/junction/servers/everything",
	"config":     "github.com/junction-mcp/junction/config",
	"host":       "github.com/junction-mcp/junction/host",
	"archive":    "github.com/junction-mcp/junction/host/archive",
	"plan":       "github.com/junction-mcp/junction/host/plan",
	"remember":   "github.com/junction-mcp/junction/host/remember",
	"task":       "github.com/junction-mcp/junction/host/task",
	"tui":        "github.com/junction-mcp/junction/host/tui",
	"tasks":      "github.com/junction-mcp/junction/mcp/tasks",
	"guard":      "github.com/junction-mcp/junction/guard",
	"cases":      "github.com/junction-mcp/junction/cases",
	"lint":       "github.com/junction-mcp/junction/lint",
	"model":      "github.com/junction-mcp/junction/model",
	"offline":    "github.com/junction-mcp/junction/model/offline",
	"atomic":     "sync/atomic",
	"bytes":      "bytes",
	"context":    "context",
	"errors":     "errors",
	"fmt":        "fmt",
	"io":         "io",
	"json":       "encoding/json",
	"log":        "log",
	"http":       "net/http",
	"httptest":   "net/http/httptest",
	"net":        "net",
	"os":         "os",
	"signal":     "os/signal",
	"slog":       "log/slog",
	"strings":    "strings",
	"testing":    "testing",
	"time":       "time",
}

// Every example in Go compiles. One that begins with a package clause is a file
// of its own; of the others on a page, those that are declarations can be used
// by all, and those that are statements run with a ctx, a server s and a client
// c, and may return an error.
func TestGoExamplesCompile(t *testing.T) {
	overlay := map[string]string{}
	var packages []string
	dir := t.TempDir()
	base, err := filepath.Abs("snippets")
	if err != nil {
		t.Fatal(err)
	}
	add := func(name, file string, source []byte) {
		real := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay)))
		if err := os.WriteFile(real, source, 0o644); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(base, name, file)] = real
		if p := "./docs/snippets/" + name; !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	for _, b := range examples(t) {
		if b.kind != "go" {
			continue
		}
		page := strings.ToLower(strings.TrimSuffix(filepath.Base(b.page), ".md"))
		checkFormat(t, b)
		if b.label != "" && emptyFolder(t, b.page) != "" { // TestTutorials builds it with the other files of the page
			continue
		}
		if strings.HasPrefix(b.text, "package ") {
			add(fmt.Sprintf("%s%d", page, b.line), "main.go", []byte(b.text))
			continue
		}
		add(page, fmt.Sprintf("line%d.go", b.line), wrapped(t, b))
	}
	if len(packages) == 0 {
		t.Fatal("there is no example in Go")
	}
	encoded, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(plan, encoded, 0o644); err != nil {
		t.Fatal(err)
	}
	goTool(t, append([]string{"list", "-export", "-overlay", plan}, packages...)...) // which compiles and does not link
}

// wrapped makes a file of a piece of Go.
func wrapped(t *testing.T, b block) []byte {
	t.Helper()
	if parse("package p\n"+b.text) == nil {
		source := "package p\n"
		for _, name := range used(b.text) {
			source += fmt.Sprintf("import %q\n", known[name])
		}
		return []byte(source + fmt.Sprintf("//line %s:%d\n", b.page, b.line+1) + b.text)
	}
	source := "package p\n"
	for _, name := range append(used(b.text), "context", "mcp") {
		if !strings.Contains(source, fmt.Sprintf("%q", known[name])) {
			source += fmt.Sprintf("import %q\n", known[name])
		}
	}
	source += fmt.Sprintf("func _(ctx context.Context, s *mcp.Server, c *mcp.Client) error {\n//line %s:%d\n%s\nreturn nil\n}\n", b.page, b.line+1, b.text)
	if err := parse(source); err != nil {
		t.Errorf("%s:%d: %v", b.page, b.line, err)
	}
	return []byte(source)
}

func parse(source string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	return err
}

// used are the packages that a piece of Go mentions.
func used(text string) []string {
	var names []string
	for _, source := range []string{"package p\n" + text, "package p\nfunc _() {\n" + text + "\n}"} {
		file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := selector.X.(*ast.Ident); ok && known[x.Name] != "" && !slices.Contains(names, x.Name) {
					names = append(names, x.Name)
				}
			}
			return true
		})
	}
	return names
}

func checkFormat(t *testing.T, b block) {
	t.Helper()
	formatted, err := format.Source([]byte(b.text))
	if err != nil {
		t.Errorf("%s:%d: %v", b.page, b.line, err)
	} else if string(formatted) != b.text {
		t.Errorf("%s:%d: not formatted as gofmt would", b.page, b.line)
	}
}

func goTool(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.Command("go", arguments...)
	command.Dir = root
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(arguments, " "), err, out, &problem)
	}
	return string(out)
}

// A block whose label is the path of a file is that file, byte by byte.
func TestExamplesAreTheFilesTheyName(t *testing.T) {
	named := 0
	for _, b := range examples(t) {
		if !strings.HasPrefix(b.label, inExamples) {
			continue
		}
		named++
		file, err := os.ReadFile(filepath.Join(root, b.label))
		if err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
		} else if string(file) != b.text {
			t.Errorf("%s:%d: differs from %s: copy the file into the page", b.page, b.line, b.label)
		}
	}
	if named == 0 {
		t.Error("no example names a file")
	}
}

// The first programs that anybody reads are short, and they work.
func TestHelloServerClientAndHost(t *testing.T) {
	for name, most := range map[string]int{"hello-server": 15, "hello-client": 12, "hello-host": 29} {
		text, err := os.ReadFile(filepath.Join("examples", name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
		if len(lines) > most {
			t.Errorf("%s has %d lines that are not blank, more than %d", name, len(lines), most)
		}
	}
	if got, want := goTool(t, "run", "./docs/examples/hello-client"), "Hello, Ada! <nil>\n"; got != want {
		t.Errorf("the hello client printed %q, want %q", got, want)
	}
	if got, want := goTool(t, "run", "./docs/examples/hello-host"), "42 <nil>\n"; got != want {
		t.Errorf("the hello host printed %q, want %q", got, want)
	}
}

// policyFile is the label of a block that holds rules, configFile of one that holds servers.
const (
	policyFile = "policy.json"
	configFile = "mcp.json"
)

func TestRulesAreRead(t *testing.T) {
	for _, b := range examples(t) {
		if b.file() != policyFile {
			continue
		}
		file, err := policy.Parse(b.file(), []byte(b.text), policy.LoadOptions{})
		if err == nil {
			_, err = policy.Compile(file.Rules, policy.Options{Default: file.Default})
		}
		if err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
		}
	}
}

// A block of JSON whose label is the name of a configuration file is one that
// Junction reads without a word.
func TestConfigurationsAreRead(t *testing.T) {
	home := t.TempDir()
	for _, b := range examples(t) {
		if b.kind != "json" || b.file() == policyFile || b.label == "bad" || b.label == "good" { // definitions of lint, which has a test of its own
			continue
		}
		if b.label == "" {
			if !json.Valid([]byte(b.text)) {
				t.Errorf("%s:%d: not JSON", b.page, b.line)
			}
			continue
		}
		file, err := config.Parse(filepath.Join(home, b.file()), []byte(b.text), config.Options{HomeDir: home, WorkDir: home})
		if err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
			continue
		}
		for _, p := range append(file.Problems, file.Warnings...) {
			t.Errorf("%s:%d: %v", b.page, b.line, p)
		}
		if len(file.Servers) == 0 {
			t.Errorf("%s:%d: there is no server in it", b.page, b.line)
		}
	}
}
