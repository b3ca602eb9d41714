package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const limitsPage = "docs/limits.md"

// limitRow matches a row of the table, with the value of the limit, its name and its file.
var limitRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| [^|]+ \\| `([\\w.]+)` in `([\\w/]+\\.go)` \\|$")

// limitName matches the names of limits in the code.
var limitName = regexp.MustCompile(`^(?:max|Max|default|Default)[A-Z0-9]|[a-z0-9](?:Time|Timeout|Pause|Backoff)$`)

// A limit is one such row.
type limit struct{ value, name, file string }

func limits(t *testing.T) []limit {
	t.Helper()
	var all []limit
	for _, row := range limitRow.FindAllStringSubmatch(page(t, limitsPage), -1) {
		all = append(all, limit{row[1], row[2], row[3]})
	}
	if len(all) < 50 {
		t.Errorf("%s: %d limits can be read; are the rows of the table | limit | `default` | set by | `name` in `file` |?", limitsPage, len(all))
	}
	return all
}

func TestTheLimitsAreThoseOfTheCode(t *testing.T) {
	for _, l := range limits(t) {
		index := slices.IndexFunc(sources(t), func(s *source) bool { return s.path == l.file })
		if index < 0 {
			t.Errorf("%s: %s is not there", limitsPage, l.file)
			continue
		}
		if got := valueOf(sources(t)[index].file, l.name); got != l.value {
			t.Errorf("%s: the limit %s in %s is %s, and the table says %s", limitsPage, l.name, l.file, got, l.value)
		}
	}
}

// isProduction reports whether the file is part of the library or of a program for users.
func (s *source) isProduction() bool {
	for _, folder := range []string{"docs", "conformance"} {
		if below(s.path, folder) {
			return false
		}
	}
	return s.inModule() && !strings.HasPrefix(s.path, ".")
}

// valueOf returns the expression of a constant, or the final result of a method such as
// Limits.depth.
func valueOf(file *ast.File, name string) string {
	_, _, isMethod := strings.Cut(name, ".")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && !isMethod && len(v.Values) > 0 && v.Names[0].Name == name {
					return show(v.Values[0])
				}
			}
		case *ast.FuncDecl:
			if d.Recv == nil || receiver(d)+"."+d.Name.Name != name || len(d.Body.List) == 0 {
				continue
			}
			if r, ok := d.Body.List[len(d.Body.List)-1].(*ast.ReturnStmt); ok {
				return show(r.Results[0])
			}
		}
	}
	return "not there"
}

// The help and the page once named a limit that had changed long before.
func TestTheTimeoutsOfTheCommandLineAreThoseOfTheCode(t *testing.T) {
	for _, s := range sources(t) {
		switch s.path {
		case "mcp/client.go":
			if got := valueOf(s.file, "defaultTimeout"); got != "60 * time.Second" {
				t.Errorf("%s: defaultTimeout is %s: change --timeout in cmd/junction/internal/reach/flags.go and docs/cli.md too", s.path, got)
			}
		case "mcp/internal/upstream/conn.go":
			if got := valueOf(s.file, "connectTime"); got != "2 * time.Minute" {
				t.Errorf("%s: connectTime is %s: change --timeout in cmd/junction/internal/reach/flags.go and docs/cli.md too", s.path, got)
			}
		}
	}
	for name, want := range map[string]string{
		"cmd/junction/internal/reach/flags.go": "(default 1m; 2m to connect)",
		"docs/cli.md":                          "default 1 minute, 2 minutes to connect",
	} {
		if !strings.Contains(page(t, name), want) {
			t.Errorf("%s: --timeout: expected %q", name, want)
		}
	}
}
