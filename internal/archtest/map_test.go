package archtest

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const mapPage = "ARCHITECTURE.md"

// page returns the text of a document.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
	quoted = regexp.MustCompile("`([^`\\n]+)`")
	goName = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*$`)
	named  = regexp.MustCompile("((?:`[\\w.]+`(?:, | and )?)+) in `([\\w/]+\\.go)`")
)

// A map that takes long to read is not read.
func TestMapIsShort(t *testing.T) {
	const maxBytes, maxCell = 20 << 10, 200
	text := page(t, mapPage)
	if len(text) > maxBytes {
		t.Errorf("%s: at most %d bytes, got %d", mapPage, maxBytes, len(text))
	}
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(line, "|") {
			if n := utf8.RuneCountInString(cell); n > maxCell {
				t.Errorf("%s:%d: at most %d characters in a cell, got %d", mapPage, i+1, maxCell, n)
			}
		}
	}
}

// A map with outdated names is worse than none.
func TestArchitectureNamesExistingPackages(t *testing.T) {
	d := declarations(t)
	for _, name := range []string{mapPage, "CONTRIBUTING.md", "docs/specification.md"} {
		text := fenced.ReplaceAllString(page(t, name), "")
		if name == "CONTRIBUTING.md" && !slices.ContainsFunc(quoted.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == "config/settings/settings.go" }) {
			t.Errorf("%s: its names are not read", name)
		}
		for _, match := range quoted.FindAllStringSubmatch(text, -1) {
			if fault := d.fault(match[1]); fault != "" {
				t.Errorf("%s: %s", name, fault)
			}
		}
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			for _, what := range quoted.FindAllStringSubmatch(match[1], -1) {
				if !d.files[match[2]].has(what[1]) {
					t.Errorf("%s: %s is not in %s", name, what[1], match[2])
				}
			}
		}
	}
}

// The check must notice a method that another type has.
func TestTheMapsNamesAreComparedWithTheirTypes(t *testing.T) {
	d := declarations(t)
	for name, want := range map[string]bool{
		"sessionCall.Ask": true, "legacyCall.Ask": false, "edge.IsModern": true, "edge.Ask": false,
		"mcp.ClientOptions.Bridge": true, "mcp.ClientOptions.Handle": false, "http.Handle": true,
		"internal/archtest": true, "internal/none": false,
	} {
		if fault := d.fault(name); (fault == "") != want {
			t.Errorf("%s: %q", name, fault)
		}
	}
	here := d.files["mcp/internal/edge/session.go"]
	for name, want := range map[string]bool{"sessionCall.Ask": true, "Session.Ask": false, "edge.sessionCall": true, "Session": true} {
		if here.has(name) != want {
			t.Errorf("%s is in session.go: got %v", name, !want)
		}
	}
}

// names are the declarations of a file, a package or the repository: functions, types, constants
// and variables, and methods and fields with their types, such as Server.Handle.
type names map[string]bool

// has reports whether name is declared. It may begin with a package.
func (n names) has(name string) bool {
	_, rest, _ := strings.Cut(name, ".")
	return n[name] || n[rest]
}

// declared holds the declarations of the repository.
type declared struct {
	files    map[string]names
	packages map[string]names // by the last part of the path; some share it
	all      names
}

// fault returns the error in a quotation of a document that is a path or a name in Go. Names of
// packages of other modules are not checked.
func (d *declared) fault(name string) string {
	first, _, _ := strings.Cut(name, "/")
	switch {
	case strings.ContainsAny(name, " …*{@"), slices.Contains([]string{"encoding", "tools", "prompts", "resources", "server", "subscriptions", "logging", "notifications", "testing"}, first):
	case strings.Contains(name, "/"):
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return name + " is not there"
		}
	case goName.MatchString(name) && strings.Contains(name, "."):
		of, rest, _ := strings.Cut(name, ".")
		known := d.packages[of] != nil || d.all[of]
		if known && !d.packages[of][rest] && !d.all[name] {
			return "nothing is called " + name
		}
	}
	return ""
}

func declarations(t *testing.T) *declared {
	t.Helper()
	d := &declared{files: map[string]names{}, packages: map[string]names{}, all: names{}}
	for _, s := range sources(t) {
		if s.isTest {
			continue
		}
		in := path.Base(s.dir())
		if d.packages[in] == nil {
			d.packages[in] = names{}
		}
		d.files[s.path] = names{}
		for name := range declaredIn(s.file) {
			d.files[s.path][name], d.packages[in][name], d.all[name] = true, true, true
		}
	}
	return d
}

func declaredIn(file *ast.File) names {
	n := names{}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				name = receiver(decl) + "." + name
			}
			n[name] = true
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				n.addSpec(spec)
			}
		}
	}
	return n
}

func (n names) addSpec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			n[name.Name] = true
		}
	case *ast.TypeSpec:
		n[spec.Name.Name] = true
		ast.Inspect(spec.Type, func(node ast.Node) bool {
			if field, ok := node.(*ast.Field); ok {
				for _, name := range field.Names {
					n[spec.Name.Name+"."+name.Name] = true
				}
			}
			return true
		})
	}
}
