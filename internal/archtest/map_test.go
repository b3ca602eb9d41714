package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	mapPage    = "ARCHITECTURE.md"
	limitsPage = "docs/limits.md"
)

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
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	quoted   = regexp.MustCompile("`([^`]+)`")
	goName   = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*$`)
	named    = regexp.MustCompile("((?:`[\\w.]+`(?:, | and )?)+) in `([\\w/]+\\.go)`")
	limitRow = regexp.MustCompile("(?m)^\\|[^|]+\\| `([^`]+)` \\| `([\\w.]+)` \\| `([\\w/]+\\.go)` \\|$")
)

// A map that takes long to read is not read.
func TestTheMapHasAtMost200Lines(t *testing.T) {
	if lines := strings.Count(page(t, mapPage), "\n"); lines > 200 {
		t.Errorf("%s: at most 200 lines, got %d", mapPage, lines)
	}
}

// A map that names what is gone is worse than none.
func TestTheMapNamesWhatIsThere(t *testing.T) {
	files, all := declarations(t)
	for _, name := range []string{mapPage, "docs/specification.md"} {
		text := page(t, name)
		for _, match := range quoted.FindAllStringSubmatch(text, -1) {
			checkQuoted(t, all, name, match[1])
		}
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			for _, what := range quoted.FindAllStringSubmatch(match[1], -1) {
				if !files[match[2]][last(what[1])] {
					t.Errorf("%s: %s is not in %s", name, what[1], match[2])
				}
			}
		}
	}
}

// checkQuoted checks what a document quotes, where that is a path or a name in Go.
func checkQuoted(t *testing.T, declared map[string]bool, page, name string) {
	t.Helper()
	first, _, _ := strings.Cut(name, "/")
	switch {
	case strings.ContainsAny(name, " …*{"), slices.Contains([]string{"encoding", "tools", "prompts", "resources", "server", "subscriptions", "logging", "notifications"}, first):
	case strings.Contains(name, "/"):
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("%s: %s is not there", page, name)
		}
	case goName.MatchString(name) && strings.Contains(name, "."):
		if !declared[last(name)] {
			t.Errorf("%s: nothing is called %s", page, name)
		}
	}
}

// last is the last part of a name such as Server.Handle.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// declarations are the names of functions, methods, types and fields: those of
// each file, and all of them.
func declarations(t *testing.T) (files map[string]map[string]bool, all map[string]bool) {
	t.Helper()
	files, all = map[string]map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest {
			continue
		}
		here := map[string]bool{}
		files[s.path] = here
		add := func(name string) { here[name], all[name] = true, true }
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name.Name)
			case *ast.TypeSpec:
				add(n.Name.Name)
			case *ast.Field:
				for _, name := range n.Names {
					add(name.Name)
				}
			}
			return true
		})
	}
	return files, all
}

func TestTheLimitsAreThoseOfTheCode(t *testing.T) {
	rows := limitRow.FindAllStringSubmatch(page(t, limitsPage), -1)
	if len(rows) < 50 {
		t.Errorf("%s: %d limits can be read; are the rows of the table | what | `default` | `name` | `file` |?", limitsPage, len(rows))
	}
	for _, row := range rows {
		value, name, file := row[1], row[2], row[3]
		index := slices.IndexFunc(sources(t), func(s *source) bool { return s.path == file })
		if index < 0 {
			t.Errorf("%s: %s is not there", limitsPage, file)
			continue
		}
		if got := valueOf(sources(t)[index].file, name); got != value {
			t.Errorf("%s: the limit %s in %s is %s, and the table says %s", limitsPage, name, file, got, value)
		}
	}
}

// valueOf is the expression that a constant stands for, or that a method such as
// Limits.depth returns at its end.
func valueOf(file *ast.File, name string) string {
	_, method, isMethod := strings.Cut(name, ".")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && !isMethod && len(v.Values) > 0 && v.Names[0].Name == name {
					return show(v.Values[0])
				}
			}
		case *ast.FuncDecl:
			if !isMethod || d.Name.Name != method || len(d.Body.List) == 0 {
				continue
			}
			if r, ok := d.Body.List[len(d.Body.List)-1].(*ast.ReturnStmt); ok {
				return show(r.Results[0])
			}
		}
	}
	return "not there"
}
