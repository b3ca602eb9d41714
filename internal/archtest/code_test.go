package archtest

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFile limits the lines of a file of code: a longer one holds more than one subject.
const maxFile = 800

// maxFunction limits the lines of a function.
const maxFunction = 100

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest {
			continue
		}
		if n := bytes.Count(s.text, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines, more than %d: which of its parts deserves a file of its own?", s.path, n, maxFile)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.inModule() {
				continue
			}
			if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d: which of its steps deserves a name?", files.Position(f.Pos()), f.Name.Name, n, maxFunction)
			}
		}
	}
}

func TestNoFileHasConflictMarkers(t *testing.T) {
	marker := regexp.MustCompile(`(?m)^(?:<{7}|={7}|>{7})(?: .*)?$`)
	walk(t, func(p string, text []byte) {
		if at := marker.FindIndex(text); at != nil {
			t.Errorf("%s:%d: a merge left a conflict marker", p, bytes.Count(text[:at[0]], []byte("\n"))+1)
		}
	})
}

func TestNothingHappensAtImport(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init: whoever imports a package has not asked it to do anything", files.Position(f.Pos()))
			}
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	documented, seen := map[string]string{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || below(s.path, "docs/examples") || below(s.path, ".ci") {
			continue
		}
		seen[s.dir()] = true
		if s.file.Doc != nil {
			documented[s.dir()] = path.Base(s.path)
		}
	}
	for dir := range seen {
		name := documented[dir]
		switch {
		case name == "":
			t.Errorf("%s: no package comment", dir)
		case name != "doc.go" && name != "main.go" && name != path.Base(dir)+".go":
			t.Errorf("%s: the package comment is in %s; put it into doc.go, where readers look", dir, name)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, parts := range publicPackages(t) {
		for _, file := range parts {
			for _, d := range file.Decls {
				checkDocumented(t, d)
			}
		}
	}
}

func checkDocumented(t *testing.T, d ast.Decl) {
	t.Helper()
	missing := func(at token.Pos, name string) { t.Errorf("%s: %s has no doc comment", files.Position(at), name) }
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			missing(d.Pos(), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Doc == nil && d.Doc == nil {
					missing(spec.Pos(), spec.Name.Name)
				}
			case *ast.ValueSpec:
				// A group needs only one comment if its names explain themselves.
				if slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) && spec.Doc == nil && d.Doc == nil && spec.Comment == nil {
					missing(spec.Pos(), spec.Names[0].Name)
				}
			}
		}
	}
}

// receiver returns the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// forbidden lists texts that no file may contain. They are split here, as this file is checked too.
var forbidden = []struct{ pattern, reason string }{
	{`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`, "finish it, or write down in an issue what is left"},
	{`(^|[^\w.])/(ro` + `ot|wo` + `rk)/`, "a path of one machine"},
	{`/tmp/(br` + `ief|ba` + `sh_)`, "a path of one machine"},
	{`(registry\.npm` + `js|pypi\.pyth` + `on|proxy\.gol` + `ang|deb\.deb` + `ian)\.org`, "which registry to use is the user's configuration"},
}

func TestContentsOfFiles(t *testing.T) {
	var patterns []*regexp.Regexp
	for _, f := range forbidden {
		patterns = append(patterns, regexp.MustCompile(`(?m)`+f.pattern))
	}
	walk(t, func(p string, text []byte) {
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 || strings.HasSuffix(p, ".svg") {
			return
		}
		for i, pattern := range patterns {
			if at := pattern.FindIndex(text); at != nil {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: %s", p, line, text[at[0]:at[1]], forbidden[i].reason)
			}
		}
	})
}

// stringLiterals returns the strings of a file, without import paths and tags.
func stringLiterals(file *ast.File) []*ast.BasicLit {
	var literals []*ast.BasicLit
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if n.Kind == token.STRING && !tags[n] {
				literals = append(literals, n)
			}
		}
		return true
	})
	return literals
}
