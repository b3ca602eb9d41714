package migrate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Problem is a part of a tag that was left as it is.
type Problem struct {
	Position token.Position
	Field    string // the type and the field
	Text     string
}

// String returns the problem in the form of a compiler's message.
func (p Problem) String() string { return fmt.Sprintf("%s: %s: %s", p.Position, p.Field, p.Text) }

// textTags lists tags whose whole value is the description.
var textTags = []string{"jsonschema_description", "mcp"}

// isForeign reports whether a key is the key of a tag that this package rewrites.
func isForeign(key string) bool { return key == "jsonschema" || slices.Contains(textTags, key) }

// A rewriter rewrites one file.
type rewriter struct {
	set      *token.FileSet
	source   []byte
	optional bool // fields are optional unless their tag has the keyword required
	edits    []edit
	problems []Problem
	tags     int // number of rewritten tags
}

// An edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// Source rewrites the tags of one Go file. If optional is set, a field of a struct with jsonschema
// tags is optional unless its tag has the keyword required. The result is formatted as by gofmt if
// the source is. tags is the number of rewritten tags.
func Source(name string, source []byte, optional bool) (rewritten []byte, tags int, problems []Problem, err error) {
	r := &rewriter{set: token.NewFileSet(), source: source, optional: optional}
	file, err := parser.ParseFile(r.set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, nil, err
	}
	if ast.IsGenerated(file) {
		return source, 0, r.generated(file), nil
	}
	var owner string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			owner = n.Name.Name
		case *ast.StructType:
			r.rewriteStruct(owner, n)
		}
		return true
	})
	if len(r.edits) == 0 {
		return source, 0, r.problems, nil
	}
	rewritten = r.apply()
	if formatted, err := format.Source(source); err == nil && bytes.Equal(formatted, source) {
		if rewritten, err = format.Source(rewritten); err != nil {
			return nil, 0, nil, fmt.Errorf("%s: the rewritten file: %w", name, err)
		}
	}
	return rewritten, r.tags, r.problems, nil
}

// generated returns a problem if a generated file has tags of other libraries.
func (r *rewriter) generated(file *ast.File) (problems []Problem) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok && problems == nil && slices.ContainsFunc(fieldsOf(s), func(f *field) bool { return f.foreign }) {
			problems = []Problem{{r.set.Position(s.Pos()), file.Name.Name, "the file is generated: change its generator"}}
		}
		return problems == nil
	})
	return problems
}

// A field is a field of a struct with its tags.
type field struct {
	*ast.Field
	tags    []tag
	valid   bool // the tags were understood
	foreign bool // a tag of another library is among them
	to      target
}

// fieldsOf returns the fields of a struct.
func fieldsOf(s *ast.StructType) (list []*field) {
	for _, f := range s.Fields.List {
		one := &field{Field: f, valid: true, to: target{tags: map[string]string{}}}
		_, one.to.list = f.Type.(*ast.ArrayType)
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			one.tags, one.valid = parseTags(text)
			one.valid = one.valid && err == nil
			one.foreign = one.valid && slices.ContainsFunc(one.tags, func(t tag) bool { return isForeign(t.key) })
		}
		list = append(list, one)
	}
	return list
}

// get returns the value of a tag.
func (f *field) get(key string) (value string, ok bool) {
	return reflect.StructTag(formatTags(f.tags)).Lookup(key)
}

// takesPart reports whether the field is a member of the JSON object.
func (f *field) takesPart() bool {
	name, _ := f.get("json")
	return name != "-" && len(f.Names) > 0 && f.Names[0].IsExported()
}

// isRequired reports whether package mcp requires the field without a tag required.
func (f *field) isRequired() bool {
	name, _ := f.get("json")
	_, options, _ := strings.Cut(name, ",")
	_, pointer := f.Type.(*ast.StarExpr)
	_, given := f.get("default")
	_, moved := f.to.tags["default"]
	omits := slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" })
	return !omits && !pointer && !given && !moved
}

func (r *rewriter) rewriteStruct(owner string, s *ast.StructType) {
	fields := fieldsOf(s)
	if !slices.ContainsFunc(fields, func(f *field) bool { return f.foreign }) {
		return
	}
	left := false
	for _, f := range fields {
		f.read()
		left = left || len(f.to.left) > 0
		if !f.valid {
			f.to.problems = []string{"the struct tag is not a list of key:\"value\" pairs with spaces between"}
		}
	}
	for _, f := range fields {
		if f.valid && f.takesPart() {
			f.require(r.optional, left)
		}
		for _, problem := range f.to.problems {
			r.problems = append(r.problems, Problem{r.set.Position(f.Pos()), joined(owner, f), problem})
		}
		if f.valid {
			r.rewriteField(f)
		}
	}
}

func joined(owner string, f *field) string {
	if len(f.Names) == 0 {
		return owner
	}
	return owner + "." + f.Names[0].Name
}

// read reads the tags of other libraries. The description in a jsonschema tag has precedence over
// the one in a text tag.
func (f *field) read() {
	for _, key := range ours {
		if value, exists := f.get(key); exists {
			f.to.tags[key] = value
		}
	}
	if text, exists := f.get("jsonschema"); exists && text != "" {
		f.to.read(text)
	}
	for _, key := range textTags {
		if text, exists := f.get(key); exists && f.to.tags["doc"] == "" && text != "" {
			f.to.tags["doc"] = text
		}
	}
}

// require adds a tag required if the field would otherwise change between required and optional. A
// struct in which something is left has the tag on every required field, for the next run.
func (f *field) require(optional, left bool) {
	if _, decided := f.to.tags["required"]; decided {
		return
	}
	switch is := f.isRequired(); {
	case f.to.required && (!is || left && optional):
		f.to.tags["required"] = "true"
	case optional && !f.to.required && is:
		f.to.tags["required"] = "false"
	}
}

// rewriteField replaces the struct tag of a field if it changed.
func (r *rewriter) rewriteField(f *field) {
	added := f.to.finish(reflect.StructTag(formatTags(f.tags)))
	var tags []tag
	placed := false
	for _, t := range f.tags {
		if !isForeign(t.key) {
			tags = append(tags, t)
			continue
		}
		if !placed {
			tags, placed = append(tags, added...), true
		}
		if t.key == "jsonschema" && len(f.to.left) > 0 {
			tags = append(tags, tag{t.key, join(f.to.left)})
		} else {
			r.tags++
		}
	}
	if !placed {
		tags = append(tags, added...)
	}
	if slices.Equal(tags, f.tags) {
		return
	}
	text := ""
	if len(tags) > 0 {
		text = literal(formatTags(tags))
	}
	if f.Tag == nil {
		at := r.set.Position(f.Type.End()).Offset
		r.edits = append(r.edits, edit{at, at, " " + text})
		return
	}
	start, end := r.set.Position(f.Tag.Pos()).Offset, r.set.Position(f.Tag.End()).Offset
	if text == "" {
		start = len(bytes.TrimRight(r.source[:start], " \t"))
	}
	r.edits = append(r.edits, edit{start, end, text})
}

// literal returns a Go string literal, in backquotes if possible.
func literal(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// apply returns the source with all edits.
func (r *rewriter) apply() []byte {
	slices.SortFunc(r.edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range r.edits {
		out = append(append(out, r.source[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, r.source[at:]...)
}
