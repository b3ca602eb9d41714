package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// golden compares lines with a file in api/, or writes the file.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	slices.Sort(lines)
	path := filepath.Join(root, "api", name)
	text := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	before, now := strings.Split(string(kept), "\n"), strings.Split(text, "\n")
	for _, line := range now {
		if !slices.Contains(before, line) {
			t.Errorf("api/%s: new:  %s", name, line)
		}
	}
	for _, line := range before {
		if !slices.Contains(now, line) {
			t.Errorf("api/%s: gone: %s", name, line)
		}
	}
	if t.Failed() {
		t.Error("if that is meant: go test ./internal/archtest -update, and say why in the commit")
	}
}

func TestTheExportedSurfaceIsThatOfTheFiles(t *testing.T) {
	known := map[string]bool{"deps-mcp.txt": true, "deps-junction.txt": true}
	for dir, parts := range publicPackages(t) {
		name := strings.ReplaceAll(dir, "/", "-") + ".txt"
		known[name] = true
		t.Run(dir, func(t *testing.T) {
			var lines []string
			for _, file := range parts {
				for _, d := range file.Decls {
					lines = append(lines, surface(d)...)
				}
			}
			golden(t, name, lines)
		})
	}
	kept, err := os.ReadDir(filepath.Join(root, "api"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range kept {
		switch path := filepath.Join(root, "api", entry.Name()); {
		case known[entry.Name()]:
		case *update:
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("api/%s: the package is gone", entry.Name())
		}
	}
}

// surface returns the exported names of a declaration, one a line.
func surface(d ast.Decl) []string {
	var lines []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d)) {
			return nil
		}
		lines = append(lines, show(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}))
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					lines = append(lines, surfaceOfType(spec)...)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() {
						lines = append(lines, d.Tok.String()+" "+name.Name)
					}
				}
			}
		}
	}
	return lines
}

func surfaceOfType(spec *ast.TypeSpec) []string {
	name := "type " + spec.Name.Name
	var members *ast.FieldList
	var kind string
	switch x := spec.Type.(type) {
	case *ast.StructType:
		members, kind = x.Fields, " struct"
	case *ast.InterfaceType:
		members, kind = x.Methods, " interface"
	default:
		return []string{name + " " + show(spec.Type)}
	}
	lines := []string{name + kind}
	for _, f := range members.List {
		if len(f.Names) == 0 {
			lines = append(lines, name+kind+", "+show(f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, name+kind+", "+n.Name+" "+show(f.Type))
			}
		}
	}
	return lines
}

// show returns a piece of code on one line, without comments.
func show(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Programs that import the library must not get the rest in their build: no web framework,
// database, CLI or telemetry SDK.
func TestDependenciesOfProgramsAreListed(t *testing.T) {
	t.Run("a program that imports mcp and a transport", func(t *testing.T) {
		golden(t, "deps-mcp.txt", dependencies(t, "./mcp", "./mcp/stdio", "./mcp/streamable", "./mcp/command"))
	})
	t.Run("the binary", func(t *testing.T) {
		golden(t, "deps-junction.txt", dependencies(t, "./cmd/junction"))
	})
}

// dependencies returns the packages of others that the given ones are built from.
func dependencies(t *testing.T, packages ...string) []string {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Standard,Module"}, packages...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &problem)
	}
	var found []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p struct {
			ImportPath string
			Standard   bool
			Module     *struct{ Path string }
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if !p.Standard && p.Module != nil && p.Module.Path != module {
			found = append(found, fmt.Sprintf("%s (%s)", p.ImportPath, p.Module.Path))
		}
	}
	return found
}
