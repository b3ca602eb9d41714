package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/junction-mcp/junction/internal/schema"
)

// A property is the part of a schema that a struct tag decides about.
type property struct {
	Title, Description, Pattern, Format string
	Enum                                []any
	Minimum, Maximum                    json.Number
	MinLength, MaxLength                json.Number
	MinItems, MaxItems                  json.Number
	Default                             any
	Items                               *property
}

// mcpdoc migrate keeps what clients see: for each struct of a real server whose fields have simple
// types, the schema after it is that of invopop/jsonschema before it.
func TestMigratedTagsOfARealServerKeepTheirSchema(t *testing.T) {
	before := moduleOf(t, "github.com/grafana/mcp-grafana@v1.6.3")
	after := filepath.Join(t.TempDir(), "server")
	copyGo(t, before, after)
	// One folder, whose types the tools of another one have, imports no SDK. Its tags could be those
	// of a configuration, so they are named, and rewritten on request.
	if out, err := migrateIn(after, "-w", "."); err == nil || !strings.Contains(out, "727 tags in 49 files rewritten") || !strings.Contains(out, filepath.Join("tools", "sql")+": 27 tags left") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := migrateIn(filepath.Join(after, "tools", "sql"), "-w", "."); err != nil || !strings.Contains(out, "27 tags in 1 file") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := migrateIn(after); err != nil || !strings.Contains(out, "0 tags in 0 files") {
		t.Errorf("a second run: %v: %s", err, out)
	}
	old, migrated := structsOf(t, before), structsOf(t, after)
	reflector := jsonschema.Reflector{DoNotReference: true, Anonymous: true, RequiredFromJSONSchemaTags: true}
	compared := 0
	for name, was := range old {
		is := migrated[name]
		if is == nil || was == is {
			continue
		}
		compared++
		text, err := json.Marshal(reflector.ReflectFromType(was))
		if err != nil {
			t.Fatal(err)
		}
		want, wantRequired := members(t, text)
		if text, err = schema.For(is, schema.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, gotRequired := members(t, text)
		if matchers, isText := want["matchers"]; isText && matchers.Description == "" {
			matchers.Description = got["matchers"].Description // a text without description=, which invopop drops
			want["matchers"] = matchers
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the properties are\n%+v\nexpected\n%+v", name, got, want)
		}
		if !slices.Equal(gotRequired, wantRequired) {
			t.Errorf("%s: required are %q, expected %q", name, gotRequired, wantRequired)
		}
	}
	t.Logf("%d structs", compared)
	if compared < 100 {
		t.Errorf("compared %d structs only", compared)
	}
}

// The examples of the official SDK have whole texts, in two tags.
func TestMigratedTagsOfTheOfficialSDKKeepTheirText(t *testing.T) {
	before := moduleOf(t, "github.com/modelcontextprotocol/go-sdk@v1.8.0")
	after := filepath.Join(t.TempDir(), "sdk")
	copyGo(t, filepath.Join(before, "examples"), after)
	if out, err := migrateIn(after, "-w", "."); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	migrated := structsOf(t, after)
	compared := 0
	for name, was := range structsOf(t, filepath.Join(before, "examples")) {
		for i := range was.NumField() {
			text := was.Field(i).Tag.Get("jsonschema") + was.Field(i).Tag.Get("mcp")
			if text == "" {
				continue
			}
			compared++
			if got := migrated[name].Field(i).Tag.Get("doc"); got != text {
				t.Errorf("%s.%s: %q, expected %q", name, was.Field(i).Name, got, text)
			}
		}
	}
	if compared < 8 {
		t.Errorf("compared %d texts only", compared)
	}
}

// moduleOf returns the folder of a Go module, which the module proxy has.
func moduleOf(t *testing.T, version string) string {
	t.Helper()
	download := exec.Command("go", "mod", "download", "-json", version)
	download.Dir, download.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := download.Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		t.Skipf("%s cannot be downloaded: %v", version, err)
	}
	return module.Dir
}

// migrateIn runs mcpdoc migrate in a folder, and returns its report.
func migrateIn(folder string, args ...string) (string, error) {
	program := exec.Command("go", append([]string{"run", "github.com/junction-mcp/junction/cmd/mcpdoc", "migrate"}, args...)...)
	if len(args) == 0 {
		program.Args = append(program.Args, folder)
	} else {
		program.Args[len(program.Args)-1] = folder
	}
	var report bytes.Buffer
	program.Stdout, program.Stderr = io.Discard, &report
	err := program.Run()
	return report.String(), err
}

// copyGo copies the Go files of a module, which is read-only.
func copyGo(t *testing.T, from, to string) {
	t.Helper()
	eachGo(t, from, func(path string, source []byte) {
		within, err := filepath.Rel(from, path)
		copied := filepath.Join(to, within)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(copied), 0o700), os.WriteFile(copied, source, 0o600)); err != nil {
			t.Fatal(err)
		}
	})
}

func eachGo(t *testing.T, folder string, f func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata") {
			return err
		}
		source, err := os.ReadFile(path)
		f(path, source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// structsOf returns the structs of a folder whose fields have simple types, by file and name.
func structsOf(t *testing.T, folder string) map[string]reflect.Type {
	t.Helper()
	structs := map[string]reflect.Type{}
	eachGo(t, folder, func(path string, source []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		within, _ := filepath.Rel(folder, path)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s := structOf(spec.Type); s != nil && s.NumField() > 0 {
					structs[within+":"+spec.Name.Name] = s
				}
			}
			return true
		})
	})
	return structs
}

var simple = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](), "int": reflect.TypeFor[int](),
	"int64": reflect.TypeFor[int64](), "float64": reflect.TypeFor[float64](),
}

// structOf returns a struct with the fields of simple types in an expression, or nil.
func structOf(e ast.Expr) reflect.Type {
	s, ok := e.(*ast.StructType)
	if !ok {
		return nil
	}
	var fields []reflect.StructField
	for _, f := range s.Fields.List {
		kind := typeOf(f.Type)
		if kind == nil || f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		for _, name := range f.Names {
			if err == nil && name.IsExported() && !slices.ContainsFunc(fields, func(g reflect.StructField) bool { return g.Name == name.Name }) {
				fields = append(fields, reflect.StructField{Name: name.Name, Type: kind, Tag: reflect.StructTag(tag)})
			}
		}
	}
	return reflect.StructOf(fields)
}

func typeOf(e ast.Expr) reflect.Type {
	switch e := e.(type) {
	case *ast.Ident:
		return simple[e.Name]
	case *ast.StarExpr:
		if to := typeOf(e.X); to != nil {
			return reflect.PointerTo(to)
		}
	case *ast.ArrayType:
		if of := typeOf(e.Elt); of != nil && e.Len == nil {
			return reflect.SliceOf(of)
		}
	}
	return nil
}

// members returns the properties of a schema, and the names of those that are required.
func members(t *testing.T, text []byte) (properties map[string]property, required []string) {
	t.Helper()
	var read struct {
		Properties map[string]property
		Required   []string
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(read.Properties), slices.Sorted(slices.Values(read.Required))
}
