package archtest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// withoutExample lists the exported types of mcp whose page has no example yet. The list only shrinks.
const withoutExample = "testdata/without_example.txt"

func TestTypesOfTheLibraryHaveExamples(t *testing.T) {
	var parts []*ast.File
	positions := token.NewFileSet()
	for _, s := range sources(t) {
		if s.dir() != "mcp" {
			continue
		}
		file, err := parser.ParseFile(positions, s.path, s.text, parser.ParseComments) // go/doc changes it
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, file)
	}
	library, err := doc.NewFromFiles(positions, parts, module+"/mcp")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, of := range library.Types {
		if ast.IsExported(of.Name) && !hasExample(of) {
			missing = append(missing, of.Name)
		}
	}
	slices.Sort(missing)
	text, err := os.ReadFile(withoutExample)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	for _, name := range missing {
		if !slices.Contains(known, name) {
			t.Errorf("mcp.%s has no example with an output: add Example%s to mcp", name, name)
		}
	}
	if *update {
		known = slices.DeleteFunc(known, func(name string) bool { return !slices.Contains(missing, name) })
		if err := os.WriteFile(withoutExample, []byte(strings.Join(known, "\n")+"\n"), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	for _, name := range known {
		if !slices.Contains(missing, name) {
			t.Errorf("mcp.%s has an example now: go test ./internal/archtest -run Examples -update", name)
		}
	}
}

// hasExample reports whether an example that runs is on the page of a type: of the type itself, of a
// method, or of a function that returns it.
func hasExample(of *doc.Type) bool {
	examples := slices.Clone(of.Examples)
	for _, f := range slices.Concat(of.Methods, of.Funcs) {
		examples = append(examples, f.Examples...)
	}
	return slices.ContainsFunc(examples, func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput })
}
