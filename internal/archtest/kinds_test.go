package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/junction-mcp/junction/internal/runner"
)

// kindTables may choose by the kind of packages.
var kindTables = []string{"internal/runner", "install/kinds.go"}

func TestOnlyTheTablesChooseByKindOfPackages(t *testing.T) {
	constants := kindConstants(t)
	if len(constants) != len(runner.Kinds()) {
		t.Errorf("%d constants for %d kinds", len(constants), len(runner.Kinds()))
	}
	for _, s := range sources(t) {
		if s.isTest || !s.inModule() || slices.ContainsFunc(kindTables, func(table string) bool { return below(s.path, table) }) {
			continue
		}
		for _, at := range kindChoices(s.file, constants) {
			t.Errorf("%s: a choice by the kind of packages: give runner.Kind a field that says what differs", files.Position(at))
		}
	}
}

// kindConstants returns the names of the constants of package install for types of packages.
func kindConstants(t *testing.T) (constants []string) {
	for _, s := range sources(t) {
		if s.path != kindTables[1] {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, is := n.(*ast.ValueSpec); is && len(spec.Values) == 1 {
				if literal, is := spec.Values[0].(*ast.BasicLit); is {
					constants = append(constants, spec.Names[0].Name)
					if text, _ := strconv.Unquote(literal.Value); runner.Of(text).Type == "" {
						t.Errorf("%s is %s, which has no row in internal/runner", spec.Names[0].Name, literal.Value)
					}
				}
			}
			return true
		})
	}
	return constants
}

// kindChoices finds comparisons of a file with a kind of packages, and maps and lists of kinds.
func kindChoices(file *ast.File, constants []string) []token.Pos {
	isKind := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			return name(e.X) == "install" && slices.Contains(constants, e.Sel.Name)
		case *ast.Ident:
			return file.Name.Name == "install" && slices.Contains(constants, e.Name)
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			return runner.Of(text).Prefixes != nil
		}
		return false
	}
	return choices(file, isKind)
}

// choices finds comparisons of a file with some expressions, and maps and lists of them.
func choices(file *ast.File, isKey func(ast.Expr) bool) (at []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (isKey(n.X) || isKey(n.Y)) {
				at = append(at, n.Pos())
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(n.List, isKey) {
				at = append(at, n.Pos())
			}
		case *ast.CompositeLit:
			if slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
				pair, is := e.(*ast.KeyValueExpr)
				if is {
					return isKey(pair.Key)
				}
				_, isLiteral := e.(*ast.BasicLit) // a program may have the name of a kind
				return !isLiteral && isKey(e)
			}) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

func TestChoicesByKindAreFound(t *testing.T) {
	constants := kindConstants(t)
	for text, want := range map[string]int{
		`package p; var _ = l.Type == install.OCI`:                                  1,
		`package p; var _ = "pypi" != l.Type`:                                       1,
		`package p; func f() { switch k { case "a", install.NPM: } }`:               1,
		`package p; var _ = map[string]int{install.Cargo: 1}`:                       1,
		`package p; var _ = map[string]int{"oci": 1}`:                               1,
		`package p; var _ = []string{install.NPM, install.PyPI}`:                    1,
		`package install; var _ = p.Type == Folder`:                                 1,
		`package p; var _ = []string{"npm", "node"}`:                                0,
		`package p; var _ = install.Package{Type: install.NPM}`:                     0,
		`package p; var _ = p.Type == Folder`:                                       0,
		`package p; func f() { if x == install.PyPI { switch y { case "npm": } } }`: 2,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := kindChoices(file, constants); len(got) != want {
			t.Errorf("%s: found %d, want %d", text, len(got), want)
		}
	}
}
