package docgen

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Skipped lists what in the directory's package a model will not read a comment
// of, though it is registered as a tool or a prompt or is a field of its
// arguments: each with its place, the reason and the remedy.
func Skipped(directory string) ([]string, error) {
	files, err := readDirectory(directory)
	if err != nil {
		return nil, err
	}
	p, err := read(files)
	if err != nil {
		return nil, err
	}
	s := &skips{p: p, functions: map[string]*ast.FuncDecl{}}
	for _, file := range p.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				s.functions[f.Name.Name] = f
			}
		}
	}
	for _, file := range p.files {
		ast.Inspect(file, s.visit)
	}
	return s.found, nil
}

type skips struct {
	p         *goPackage
	functions map[string]*ast.FuncDecl
	found     []string
}

func (s *skips) add(at ast.Node, format string, args ...any) {
	s.found = append(s.found, fmt.Sprintf("%s: %s", s.p.set.Position(at.Pos()), fmt.Sprintf(format, args...)))
}

func (s *skips) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if selector, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 3 && isRegistration(selector) && !isDescribed(n.Args[1]) {
			s.registered(n.Args[2])
		}
	case *ast.TypeSpec:
		if body, ok := n.Type.(*ast.StructType); ok {
			for _, f := range body.Fields.List {
				s.nested(n.Name.Name, f)
			}
		}
	}
	return true
}

// isRegistration reports whether the call is one of those that take a function.
func isRegistration(f *ast.SelectorExpr) bool {
	from, ok := f.X.(*ast.Ident)
	return ok && from.Name == "mcp" && slices.Contains([]string{"AddTool", "AddToolWith", "AddPrompt", "AddPromptWith"}, f.Sel.Name)
}

// isDescribed reports whether a Tool or Prompt has a Description.
func isDescribed(e ast.Expr) bool {
	literal, ok := e.(*ast.CompositeLit)
	return ok && slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		member, ok := e.(*ast.KeyValueExpr)
		return ok && typeName(member.Key) == "Description"
	})
}

func (s *skips) registered(f ast.Expr) {
	switch f := f.(type) {
	case *ast.FuncLit:
		s.add(f, "a function literal has no comment: declare a function, or set Description")
	case *ast.CallExpr:
		s.add(f, "the comment of a wrapped function is not found: register the function itself, or set Description")
	case *ast.IndexExpr, *ast.IndexListExpr:
		s.add(f, "the comment of a generic function is not found: set Description")
	case *ast.Ident:
		declared := s.functions[f.Name]
		if declared == nil || declared.Doc == nil {
			return
		}
		if declared.Type.TypeParams != nil {
			s.add(f, "the comment of the generic function %s is not found: set Description", f.Name)
			return
		}
		for _, parameter := range declared.Type.Params.List {
			if s.p.types[typeName(parameter.Type)] != nil {
				return
			}
		}
		s.add(f, "the comment of %s is not used, as no parameter is a struct type of this package: declare one, or set Description", f.Name)
	}
}

// nested finds comments in a struct type that has no name.
func (s *skips) nested(owner string, f *ast.Field) {
	body, ok := f.Type.(*ast.StructType)
	if !ok || len(f.Names) == 0 {
		return
	}
	for _, inner := range body.Fields.List {
		if strings.TrimSpace(inner.Doc.Text()+inner.Comment.Text()) != "" && len(inner.Names) > 0 {
			s.add(inner, "the comment of %s in %s.%s is not used: give the struct a name, or use a doc tag", inner.Names[0].Name, owner, f.Names[0].Name)
		}
	}
}
