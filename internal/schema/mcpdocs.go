package schema

import (
	"maps"
	"reflect"
	"runtime"
	"strings"
)

// documented is a type for which cmd/mcpdoc generated its doc comments. The
// keys are "Type", "Type.Field" and "func Name" or "func Receiver.Name".
type documented interface{ MCPDocs() map[string]string }

var documentedType = reflect.TypeFor[documented]()

// DocsOf collects the generated doc comments of t and of every struct that
// can be reached from it. A type without generated comments adds nothing, so
// the result may be empty. Types declared inside functions cannot carry
// comments.
func DocsOf(t reflect.Type) Docs {
	docs := Docs{}
	collectDocs(t, docs, map[reflect.Type]bool{})
	return docs
}

func collectDocs(t reflect.Type, docs Docs, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collectDocs(t.Elem(), docs, seen)
	case reflect.Struct:
		maps.Copy(docs, ownDocs(t))
		for i := range t.NumField() {
			collectDocs(t.Field(i).Type, docs, seen)
		}
	}
}

// ownDocs are the comments of one struct type. The method may have been
// promoted from an embedded struct, which is why the keys repeat the type.
func ownDocs(t reflect.Type) Docs {
	name := baseName(t)
	docs := Docs{}
	for key, doc := range generatedDocs(t) {
		if key == name || strings.HasPrefix(key, name+".") {
			docs[t.PkgPath()+"."+key] = doc
		}
	}
	return docs
}

// baseName is the name of a type without type arguments.
func baseName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// generatedDocs calls the generated method of a named type, if it has one.
func generatedDocs(t reflect.Type) (docs map[string]string) {
	if t.Name() == "" || t.Kind() == reflect.Interface || !reflect.PointerTo(t).Implements(documentedType) {
		return nil
	}
	// A method promoted from an embedded nil pointer panics. It is not about
	// this type anyway.
	defer func() {
		if recover() != nil {
			docs = nil
		}
	}()
	return reflect.New(t).Interface().(documented).MCPDocs()
}

// FuncDoc returns the generated doc comment of the function or method value
// fn, without its leading name, or "" where there is none. in is the type of
// its typed parameter (or a pointer to it), which must be declared in fn's
// package: its generated method holds the comment. Closures have none.
func FuncDoc(fn any, in reflect.Type) string {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() || in == nil {
		return ""
	}
	info := runtime.FuncForPC(v.Pointer())
	in = indirect(in)
	if info == nil || in.Name() == "" {
		return ""
	}
	name, ok := strings.CutPrefix(info.Name(), linkerPath(in.PkgPath())+".")
	if !ok {
		return ""
	}
	return generatedDocs(in)["func "+plainFuncName(name)]
}

// linkerPath writes an import path as the names of functions have it: dots
// behind the last slash are escaped.
func linkerPath(path string) string {
	slash := strings.LastIndexByte(path, '/') + 1
	return path[:slash] + strings.ReplaceAll(path[slash:], ".", "%2e")
}

// plainFuncName turns Forecast[...], (*Station).Forecast-fm and
// Station.Forecast-fm into Forecast and Station.Forecast.
func plainFuncName(name string) string {
	name = strings.TrimSuffix(name, "-fm")
	for {
		open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
		if open < 0 || end < open {
			break
		}
		name = name[:open] + name[end+1:]
	}
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}
