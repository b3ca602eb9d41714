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

func architecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	goName   = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*$`)
	limitRow = regexp.MustCompile("(?m)^\\|[^|]+\\| `([^`]+)` \\| `([\\w.]+)` \\| `([\\w/]+\\.go)` \\|$")
)

// A map with streets that were torn down is worse than none.
func TestTheMapNamesWhatIsThere(t *testing.T) {
	text := architecture(t)
	declared := declarations(t)
	flow, _, found := strings.Cut(text, "## Where does a new thing go?")
	if !found {
		t.Fatal("ARCHITECTURE.md has lost its heading")
	}
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		name := match[1]
		isPath := strings.Contains(name, "/") && !strings.ContainsAny(name, " …*{") && !strings.HasPrefix(name, "encoding/")
		if !isPath || strings.Count(name, "/") == 1 && slices.Contains([]string{"tools", "server", "subscriptions"}, name[:strings.Index(name, "/")]) {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("ARCHITECTURE.md: %s is not there", name)
		}
	}
	for _, match := range quoted.FindAllStringSubmatch(flow, -1) {
		name := match[1]
		if !goName.MatchString(name) || !strings.Contains(name, ".") || strings.HasPrefix(name, "req.") || strings.HasPrefix(name, "params.") {
			continue
		}
		if last := name[strings.LastIndexByte(name, '.')+1:]; !declared[last] {
			t.Errorf("ARCHITECTURE.md: %s: nothing is called %s", name, last)
		}
	}
}

// declarations are the names of all functions, methods, types and fields.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.Field:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
			return true
		})
	}
	return names
}

func TestTheLimitsAreThoseOfTheCode(t *testing.T) {
	rows := limitRow.FindAllStringSubmatch(architecture(t), -1)
	if len(rows) < 50 {
		t.Errorf("ARCHITECTURE.md: %d limits can be read; are the rows of the table | what | `default` | `name` | `file` |?", len(rows))
	}
	for _, row := range rows {
		value, name, file := row[1], row[2], row[3]
		index := slices.IndexFunc(sources(t), func(s *source) bool { return s.path == file })
		if index < 0 {
			t.Errorf("ARCHITECTURE.md: %s is not there", file)
			continue
		}
		if got := valueOf(sources(t)[index].file, name); got != value {
			t.Errorf("ARCHITECTURE.md: the limit %s in %s is %s, and the table says %s", name, file, got, value)
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
