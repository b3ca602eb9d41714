package schema

import (
	"maps"
	"reflect"
	"runtime"
	"strings"
)

// documented is a type with doc comments that cmd/mcpdoc generated. The keys are "Type",
// "Type.Field", and "func Name" or "func Receiver.Name".
type documented interface{ MCPDocs() map[string]string }

var documentedType = reflect.TypeFor[documented]()

// DocsOf returns the generated doc comments of t and of all structs reachable from it. Types
// without generated comments add nothing, so the result may be empty. Types that are declared
// inside functions cannot have generated comments.
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

// ownDocs returns the comments of one struct type. The generated method may be promoted from an
// embedded struct, so ownDocs selects the keys that contain the type's name.
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

// baseName returns the name of a type without its type arguments.
func baseName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// generatedDocs calls the generated method of a named type. It returns nil if there is none.
func generatedDocs(t reflect.Type) (docs map[string]string) {
	if t.Name() == "" || t.Kind() == reflect.Interface || !reflect.PointerTo(t).Implements(documentedType) {
		return nil
	}
	// A method that is promoted from an embedded nil pointer panics. It would not describe this
	// type anyway.
	defer func() {
		if recover() != nil {
			docs = nil
		}
	}()
	return reflect.New(t).Interface().(documented).MCPDocs()
}

// FuncDoc returns the generated doc comment of the function or method value fn, without its name at
// the beginning. It returns "" if there is none; closures never have one. in is the type of fn's
// typed parameter, or a pointer to it. It must be declared in fn's package, as its generated method
// contains the comment.
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

// linkerPath returns an import path as it occurs in names of functions, where dots after the last
// slash are escaped.
func linkerPath(path string) string {
	slash := strings.LastIndexByte(path, '/') + 1
	return path[:slash] + strings.ReplaceAll(path[slash:], ".", "%2e")
}

// plainFuncName converts the names Forecast[...], (*Station).Forecast-fm and Station.Forecast-fm to
// Forecast and Station.Forecast.
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
