package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/tailscale/hujson"
)

// A field is a member of an [Entry], or of an object in one. The type of the struct's field and
// these tags define it completely:
//
//	json      its name in files, and in Junction's own JSON
//	secret    its name if json is "-": it is never shown, and a file must have it as ${NAME}
//	also      its other names in files of hosts
//	not       the name of its opposite
//	doc       the description: an entry's in docs/gateway.md, others in docs/junction.schema.json
//	enum      its words, which expected lists for errors. For a bool, the second means true
//	min, max  the range of a number, which expected describes for errors
//	check     the row of checks for the text, or for the names in an object
//	api       it names an API, in this argument of the program that serves it
//	of        the member for the kind of server that it affects: command or url
//	expand    its variables are replaced
//	file      like expand, for a path: a project's file must be in the project
//	shown     the user sees it before consenting, in this order
//	identity  it decides what is started or called: its place in the hash, and a word before it.
//	          Members of place 0 begin the hash, those of place 1 always follow, and those of a
//	          later place follow if one of them is set. New members get a new place, so that the
//	          hashes of entries without them stay the same
type field struct {
	reflect.StructField
	name                 string
	names                []string // all its names in files
	secret, expand, file bool
	shown, place         int // -1 means none
	word                 string
}

// tables returns the fields of Entry and of each struct in it, by type.
var tables = sync.OnceValue(func() map[reflect.Type][]field {
	all := map[reflect.Type][]field{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for sf := range t.Fields() {
			if f := newField(sf); f.name != "" {
				all[t] = append(all[t], f)
				if sf.Type.Kind() == reflect.Pointer {
					add(sf.Type.Elem())
				}
			}
		}
	}
	add(reflect.TypeFor[Entry]())
	return all
})

func fieldsOf(v reflect.Value) []field { return tables()[v.Type()] }

// fieldOf returns the field of in that has name as one of its names.
func fieldOf(in reflect.Value, name string) (f field, ok bool) {
	for _, f := range fieldsOf(in) {
		if slices.Contains(f.names, name) {
			return f, true
		}
	}
	return field{}, false
}

func (d *Definition) fields() reflect.Value { return reflect.ValueOf(&d.Entry).Elem() }

func newField(sf reflect.StructField) field {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f := field{StructField: sf, name: name, secret: name == "-", shown: -1, place: -1}
	if f.secret {
		f.name = sf.Tag.Get("secret")
	}
	f.names = append(strings.Fields(sf.Tag.Get("also")+" "+sf.Tag.Get("not")), f.name)
	if f.name == "url" {
		f.names = hostconfig.URLMembers()
	}
	f.file = sf.Tag.Get("file") != ""
	f.expand = f.file || sf.Tag.Get("expand") != ""
	if n, err := strconv.Atoi(sf.Tag.Get("shown")); err == nil {
		f.shown = n
	}
	place, word, _ := strings.Cut(sf.Tag.Get("identity"), " ")
	if n, err := strconv.Atoi(place); err == nil {
		f.place, f.word = n, word
	}
	return f
}

// EntryMembers returns the names of the members of a server's entry in Junction's own files. A
// member of an object has the object's name as a prefix, such as oauth.clientId.
func EntryMembers() []string {
	var names []string
	for _, f := range tables()[reflect.TypeFor[Entry]()] {
		if names = append(names, f.name); f.Tag.Get("not") != "" {
			names = append(names, f.Tag.Get("not"))
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		for _, inner := range tables()[of] {
			names = append(names, f.name+"."+inner.name)
		}
	}
	return names
}

// checks returns the function for the value of a tag "check", or nil without one.
func checks(name string) func(string) error {
	return map[string]func(string) error{"env": checkEnvName, "header": checkHeaderName, "revision": checkRevision}[name]
}

func checkRevision(name string) error {
	if revision.Lookup(name) == nil {
		return fmt.Errorf("expected one of %s, got %s", strings.Join(append(revision.Modern(), revision.Legacy()...), ", "), quote(name))
	}
	return nil
}

// readMember reads m into a field of in, the struct for the object at path. It warns of an unknown
// member and suggests a known one that differs only in case.
func (e *entryReader) readMember(in reflect.Value, path string, m member) error {
	f, ok := fieldOf(in, m.name)
	if !ok {
		err := errors.New("is ignored: Junction has no such member")
		fields := fieldsOf(in)
		if i := slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, m.name) }); i >= 0 {
			err = fmt.Errorf("is ignored; did you mean %q?", fields[i].name)
		}
		e.warn(e.def.Name, path+plain(m.name), m.at, err)
		return nil
	}
	if err := e.choose(f, path, m.name); err != nil {
		return err
	}
	return e.set(in.FieldByIndex(f.Index), f, path, m)
}

// warnNoEffect warns of members that have no effect on a server of the entry's kind.
func (e *entryReader) warnNoEffect(list []member) {
	kind := e.def.api
	switch {
	case kind != "":
	case e.def.Kind == Stdio:
		kind = "command"
	default:
		kind = e.def.urlField
	}
	for _, m := range list {
		f, known := fieldOf(e.def.fields(), m.name)
		if !known || !isSet(e.def.fields().FieldByIndex(f.Index)) { // chooseAPI moved some members to the arguments of an API
			continue
		}
		if of := f.Tag.Get("of"); of != "" && (of == "command") != (e.def.Kind == Stdio) {
			e.warn(e.def.Name, plain(m.name), m.at, caused(ErrNoEffect, "has no effect for a server with %q; remove it", kind))
		}
	}
}

func (e *entryReader) set(to reflect.Value, f field, path string, m member) (err error) {
	switch to := to.Addr().Interface().(type) {
	case *string:
		if *to, err = nonEmpty(m.value); err == nil {
			err = f.admits(*to)
		}
	case *[]string:
		*to, err = e.strings(path+f.name, m.value)
	case *[]pair:
		*to, err = e.pairs(path+f.name, m.value, checks(f.Tag.Get("check")))
	case *bool:
		var on bool
		if f.Tag.Get("enum") != "" {
			on, err = f.second(m.value)
		} else if on, err = boolean(m.value); err == nil {
			on = on != (m.name == f.Tag.Get("not"))
		}
		*to = *to || on && err == nil
	case *int:
		*to, err = f.number(m.value)
	case *time.Duration:
		*to, err = readTimeout(m.value, e.host.Unit())
	case *Kind:
		*to, err = readType(m.value, e.host)
	case *templates:
		*to, err = readTemplates(m.value)
	default:
		err = e.object(to, path+f.name+".", m.value)
	}
	return err
}

// object reads an object into a new struct. to is a pointer to a pointer to that struct.
func (e *entryReader) object(to any, path string, v hujson.Value) error {
	if v.Value.Kind() != '{' {
		return wrongType("an object", v)
	}
	pointer := reflect.ValueOf(to).Elem()
	pointer.Set(reflect.New(pointer.Type().Elem()))
	for _, m := range members(v) {
		if err := e.readMember(pointer.Elem(), path, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if checked, is := pointer.Interface().(interface{ check() error }); is {
		if err := checked.check(); err != nil {
			return err
		}
	}
	for _, f := range fieldsOf(pointer.Elem()) {
		if s := pointer.Elem().FieldByIndex(f.Index); f.secret && s.String() != "" && !strings.Contains(s.String(), "${") {
			return fmt.Errorf("%s: write ${NAME}, and keep the secret itself in the environment, because files are shared", f.name)
		}
	}
	return nil
}

// admits returns an error if a text is not a valid value of the member.
func (f field) admits(s string) error {
	if words := f.Tag.Get("enum"); words != "" && !slices.Contains(strings.Split(words, ","), s) {
		return fmt.Errorf("expected %s, got %s", f.Tag.Get("expected"), quote(s))
	}
	if check := checks(f.Tag.Get("check")); check != nil {
		return check(s)
	}
	return nil
}

// second reports whether v is the second of the two words of the tag "enum".
func (f field) second(v hujson.Value) (bool, error) {
	s, ok := text(v)
	if !ok {
		return false, wrongType("a string", v)
	}
	_, word, _ := strings.Cut(f.Tag.Get("enum"), ",")
	return s == word, f.admits(s)
}

func (f field) number(v hujson.Value) (int, error) {
	n := 0.0
	if v.Value.Kind() == '0' {
		n = v.Value.(hujson.Literal).Float()
	}
	least, _ := strconv.Atoi(f.Tag.Get("min"))
	most, _ := strconv.Atoi(f.Tag.Get("max"))
	if n < float64(least) || n > float64(most) || n != float64(int(n)) {
		return 0, fmt.Errorf("expected %s", f.Tag.Get("expected"))
	}
	return int(n), nil
}

// texts calls do for each text that may have variables, in the order of the fields. where is the
// place of the text in the entry.
func (d *Definition) texts(do func(where, text string)) {
	d.textsOf(d.fields(), "", do)
}

func (d *Definition) textsOf(in reflect.Value, path string, do func(where, text string)) {
	for _, f := range fieldsOf(in) {
		if !f.expand {
			continue
		}
		switch value := in.FieldByIndex(f.Index); v := value.Addr().Interface().(type) {
		case *string:
			where := path + f.name
			if f.name == "url" {
				where = d.urlField
			}
			do(where, *v)
		case *[]string:
			for i, text := range *v {
				do(d.argField(i), text)
			}
		case *[]pair:
			for _, p := range *v {
				do(p.where(f.name), p.value)
			}
		default:
			if !value.IsNil() {
				d.textsOf(value.Elem(), f.name+".", do)
			}
		}
	}
}

// expanded returns a copy of an object in an entry, with its variables replaced and the paths of
// its files completed. With an error it returns the faulty member.
func expanded[T any](x *expansion, name string, written *T) (_ *T, where string, err error) {
	if written == nil {
		return nil, "", nil
	}
	object := *written
	in := reflect.ValueOf(&object).Elem()
	for _, f := range fieldsOf(in) {
		text, is := in.FieldByIndex(f.Index).Addr().Interface().(*string)
		if !is || !f.expand || *text == "" {
			continue
		}
		if f.file {
			*text, err = x.file(*text)
		} else {
			*text, err = x.expand(*text)
		}
		if err != nil {
			return nil, name + "." + f.name, err
		}
	}
	return &object, "", nil
}

// isSet reports whether the entry has the member with value v.
func isSet(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	return !v.IsZero()
}

// shownOf returns the members of in that a user sees before consenting.
func shownOf(in reflect.Value, path string) (list []string) {
	fields := slices.Clone(fieldsOf(in))
	slices.SortStableFunc(fields, func(a, b field) int { return a.shown - b.shown })
	for _, f := range fields {
		value := in.FieldByIndex(f.Index)
		if f.shown < 0 || !isSet(value) {
			continue
		}
		switch text := value.Interface().(type) {
		case string:
			list = append(list, "("+path+f.name+" "+showWord(hideDefaults(text))+")")
		case []string:
			list = append(list, "("+path+f.name+" "+showWord(hideDefaults(strings.Join(text, " ")))+")")
		default:
			list = append(list, shownOf(value.Elem(), path+f.name+".")...)
		}
	}
	return list
}

// writeIdentity writes the members of in that decide which program is started or which address is
// called. It omits the members that start every hash.
func writeIdentity(w io.Writer, in reflect.Value) {
	places := map[int]string{}
	set := map[int]bool{1: true}
	fields := fieldsOf(in)
	for _, f := range fields {
		if f.place < 1 {
			continue
		}
		value := in.FieldByIndex(f.Index)
		set[f.place] = set[f.place] || isSet(value)
		if f.word != "" {
			places[f.place] += " " + f.word
		}
		places[f.place] += fmt.Sprintf(" %q", value.Interface())
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		if set[place] {
			fmt.Fprint(w, places[place])
		}
	}
	for _, f := range fields {
		if value := in.FieldByIndex(f.Index); value.Kind() == reflect.Pointer && !value.IsNil() {
			fmt.Fprint(w, ";")
			writeIdentity(w, value.Elem())
		}
	}
}

// Schema returns the JSON Schema of a configuration file, for editors. For an entry, the schema
// lists only the members that are objects.
func Schema() json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("$schema", "https://json-schema.org/draft/2020-12/schema")
	w.String("title", "Configuration of Junction")
	w.String("type", "object")
	w.Object("properties")
	w.Object("$schema")
	w.String("type", "string")
	w.End()
	w.Object("mcpServers")
	w.String("type", "object")
	w.String("description", "the servers, in the format of other MCP hosts")
	w.Object("additionalProperties")
	w.Object("properties")
	for _, f := range tables()[reflect.TypeFor[Entry]()] {
		if f.Type.Kind() == reflect.Pointer {
			w.Raw(f.name, schemaOf(tables()[f.Type.Elem()]))
		}
	}
	w.End()
	w.End()
	w.End()
	w.Raw("junction", settings.Schema())
	w.End()
	return w.Bytes()
}

// schemaOf returns the schema of an object with the given members, including the secret ones.
func schemaOf(fields []field) json.RawMessage {
	var named []reflect.StructField
	for _, f := range fields {
		tag := fmt.Sprintf("json:%q", f.name+",omitempty")
		for _, key := range []string{"doc", "enum", "min", "max"} {
			if value, has := f.Tag.Lookup(key); has {
				tag += fmt.Sprintf(" %s:%q", key, value)
			}
		}
		named = append(named, reflect.StructField{Name: f.Name, Type: f.Type, Tag: reflect.StructTag(tag)})
	}
	text, err := schema.For(reflect.StructOf(named), schema.Options{})
	if err != nil {
		panic(err) // tests exclude this
	}
	return text
}
