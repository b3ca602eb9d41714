package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// goPackage holds the information that the generator reads from the files of a package.
type goPackage struct {
	name  string
	types map[string]*structType
}

// structType is a struct type declared in the package.
type structType struct {
	name       string
	typeParams int
	entries    []entry // the type, its fields in order, and functions by name
}

// entry is a key and its text in a generated map.
type entry struct{ key, text string }

// methodName is the name of the generated method.
const methodName = "MCPDocs"

func read(files map[string][]byte) (*goPackage, error) {
	p := &goPackage{types: map[string]*structType{}}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := parser.ParseFile(set, name, files[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("cannot parse the package: %w", err)
		}
		if isIgnored(file) {
			continue
		}
		if p.name != "" && p.name != file.Name.Name {
			return nil, fmt.Errorf("%s is of package %s, the others are of %s: move it elsewhere", name, file.Name.Name, p.name)
		}
		p.name = file.Name.Name
		parsed = append(parsed, file)
	}
	for _, file := range parsed {
		if err := p.readTypes(file); err != nil {
			return nil, err
		}
	}
	var functions []function
	for _, file := range parsed {
		functions = append(functions, p.readFunctions(file)...)
	}
	p.fileFunctions(functions)
	return p, nil
}

// isIgnored reports whether a build constraint excludes the file from every build. Programs for go
// generate usually have this constraint.
func isIgnored(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, c := range group.List {
			if strings.TrimSpace(c.Text) == "//go:build ignore" {
				return true
			}
		}
	}
	return false
}

func (p *goPackage) readTypes(file *ast.File) error {
	for _, declaration := range file.Decls {
		d, ok := declaration.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.TypeSpec)
			body, isStruct := s.Type.(*ast.StructType)
			if !isStruct || s.Assign.IsValid() || s.Name.Name == "_" {
				continue
			}
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			t, err := readStruct(s, doc, body)
			if err != nil {
				return err
			}
			p.types[t.name] = t
		}
	}
	return nil
}

func readStruct(s *ast.TypeSpec, doc *ast.CommentGroup, body *ast.StructType) (*structType, error) {
	t := &structType{name: s.Name.Name}
	if s.TypeParams != nil {
		t.typeParams = s.TypeParams.NumFields()
	}
	t.add(t.name, plainText(doc))
	for _, f := range body.Fields.List {
		text := plainText(f.Doc)
		if text == "" {
			text = plainText(f.Comment)
		}
		for _, name := range f.Names {
			if name.Name == methodName {
				return nil, fmt.Errorf("%s has a field named %s, which is the name of the generated method: rename the field", t.name, methodName)
			}
			if name.IsExported() {
				t.add(t.name+"."+name.Name, text)
			}
		}
	}
	return t, nil
}

func (t *structType) add(key, text string) {
	if text != "" {
		t.entries = append(t.entries, entry{key, text})
	}
}

// function is a documented function or method.
type function struct {
	key   string
	text  string
	takes []string // struct types of the package among its parameters
}

func (p *goPackage) readFunctions(file *ast.File) (list []function) {
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Recv != nil && len(f.Recv.List) != 1 { // a method with several receivers parses but does not compile
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = typeName(f.Recv.List[0].Type) + "." + name
		}
		fn := function{key: "func " + name, text: withoutName(plainText(f.Doc), f.Name.Name)}
		if f.Name.Name == methodName && f.Recv != nil {
			fn.takes = []string{typeName(f.Recv.List[0].Type)}
			list = append(list, fn)
			continue
		}
		for _, parameter := range f.Type.Params.List {
			if name := typeName(parameter.Type); p.types[name] != nil && !slices.Contains(fn.takes, name) {
				fn.takes = append(fn.takes, name)
			}
		}
		if fn.text != "" {
			list = append(list, fn)
		}
	}
	return list
}

// fileFunctions adds each function to the types that it takes.
func (p *goPackage) fileFunctions(list []function) {
	slices.SortFunc(list, func(a, b function) int { return strings.Compare(a.key, b.key) })
	for _, f := range list {
		for _, name := range f.takes {
			t := p.types[name]
			if t == nil {
				continue
			}
			if f.key == "func "+name+"."+methodName {
				t.entries = nil // the type has its own method, and a generated one would not compile
				delete(p.types, name)
				continue
			}
			t.add(f.key, f.text)
		}
	}
}

// typeName returns the name of T, given the expression T, *T, T[...] or *T[...].
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ParenExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	default:
		return ""
	}
}

// docLink matches a doc link to an exported name.
var docLink = regexp.MustCompile(`(^|[^\w\]])\[\*?((?:[\w/]+\.)*[A-Z]\w*(?:\.[A-Z]\w*)?)\]`)

// plainText returns a comment as text for a model. It joins the lines of each paragraph, keeps
// paragraphs apart, and replaces doc links with their names. It omits paragraphs that start with
// "Deprecated:", because they are for programmers.
func plainText(group *ast.CommentGroup) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
		text := strings.TrimSpace(joinLines(paragraph))
		if text == "" || strings.HasPrefix(text, "Deprecated: ") {
			continue
		}
		if !strings.HasPrefix(paragraph, "\t") {
			text = docLink.ReplaceAllString(text, "$1$2")
		}
		paragraphs = append(paragraphs, text)
	}
	return strings.Join(paragraphs, "\n\n")
}

// joinLines joins the lines of running text. Lists and indented blocks keep their line breaks.
func joinLines(paragraph string) string {
	lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
	var b strings.Builder
	for i, line := range lines {
		preformatted := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-")
		switch {
		case i == 0:
		case preformatted:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimRight(line, " \t"))
	}
	return b.String()
}

// withoutName removes the Go name at the start of a comment, because models know the tool by
// another name.
func withoutName(text, name string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok {
		return text
	}
	first, size := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(first)) + rest[size:]
}
