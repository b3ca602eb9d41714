package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
)

// field is a member of the JSON object of a struct.
type field struct {
	reflect.StructField
	owner    reflect.Type // the struct that declares the field
	path     []int        // index for reflect.Type.FieldByIndex
	name     string       // name of the member
	tagged   bool         // the name comes from the tag
	optional bool         // the tag has the option omitempty or omitzero
	quoted   bool         // the tag has the option string: numbers are in quotes
	embed    bool
	codecs   *Codecs
	maybe    bool // an embedded pointer on the path may be nil
}

// required reports whether the member must be present.
func (f field) required() bool {
	switch f.Tag.Get("required") {
	case "true":
		return true
	case "false":
		return false
	}
	_, hasDefault := f.Tag.Lookup("default")
	return !f.optional && !hasDefault && f.Type.Kind() != reflect.Pointer
}

// fieldsOf returns the members of a struct in the order of its fields. It follows the rules of
// encoding/json: it flattens embedded structs, and fields at a lower depth hide deeper ones with
// the same name. If several fields at the same depth have the same name, the only one with a tag is
// used, or none. rest is the type of all other members if an embedded map accepts them, or nil.
func fieldsOf(root reflect.Type, output bool) (list []field, rest reflect.Type, err error) {
	type level struct {
		t     reflect.Type
		path  []int
		maybe bool // a pointer on the path may be nil
		again bool // the embedded structs of this type have been queued before
	}
	seen := map[reflect.Type]bool{root: true}
	var all []field
	for queue := []level{{t: root}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		names := map[string]string{} // names of Go fields in this struct, by JSON name
		for i := range at.t.NumField() {
			f, use, err := parseField(at.t, i, output)
			if err != nil {
				return nil, nil, fmt.Errorf("%s.%s: %w", at.t.Name(), at.t.Field(i).Name, err)
			}
			if !use {
				continue
			}
			f.path, f.maybe = append(slices.Clone(at.path), i), at.maybe
			inner := indirect(f.Type)
			switch {
			case f.embed && inner.Kind() == reflect.Struct:
				if !at.again {
					queue = append(queue, level{inner, f.path, at.maybe || f.Type.Kind() == reflect.Pointer, seen[inner]})
				}
				seen[inner] = true
			case f.embed:
				rest, err = restType(inner)
			case names[f.name] != "" && !output:
				err = fmt.Errorf("JSON name %q is that of %s.%s too: give one of them another name in its json tag", f.name, at.t.Name(), names[f.name])
			default:
				names[f.name] = f.Name
				all = append(all, f)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s.%s: %w", at.t.Name(), f.Name, err)
			}
		}
	}
	return dominant(all), rest, nil
}

// dominant returns the fields that no other field hides or cancels, in the order of the struct.
func dominant(all []field) []field {
	prefer := func(a, b field) int {
		if c := cmp.Compare(len(a.path), len(b.path)); c != 0 || a.tagged == b.tagged {
			return c
		}
		if a.tagged {
			return -1
		}
		return 1
	}
	slices.SortFunc(all, func(a, b field) int { return cmp.Or(strings.Compare(a.name, b.name), prefer(a, b)) })
	var list []field
	for i := 0; i < len(all); {
		first := i
		for i++; i < len(all) && all[i].name == all[first].name; i++ {
		}
		if first+1 == i || prefer(all[first], all[first+1]) != 0 {
			list = append(list, all[first])
		}
	}
	slices.SortFunc(list, func(a, b field) int { return slices.Compare(a.path, b.path) })
	return list
}

func restType(t reflect.Type) (reflect.Type, error) {
	switch {
	case t == jsontextValueType:
		return reflect.TypeFor[any](), nil
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return t.Elem(), nil
	}
	return nil, fmt.Errorf("%s cannot be embedded: give the field a JSON name", t)
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}

// parseField parses a field and its json tag. use is false for a field that is not part of the
// JSON. A type that is only encoded may belong to another module, and is interpreted as
// encoding/json does. In a type that is decoded, a mistake in a tag is an error.
func parseField(owner reflect.Type, i int, output bool) (f field, use bool, err error) {
	sf := owner.Field(i)
	tag, hasTag := sf.Tag.Lookup("json")
	f = field{StructField: sf, owner: owner, name: sf.Name}
	anonymousStruct := sf.Anonymous && indirect(sf.Type).Kind() == reflect.Struct
	if tag == "-" || !sf.IsExported() && !anonymousStruct {
		return f, false, nil
	}
	if hasTag {
		if err := f.parseJSONTag(tag, output); err != nil {
			return f, false, err
		}
	}
	if sf.Anonymous && !f.tagged {
		f.embed = f.embed || anonymousStruct
		if !f.embed && !output {
			return f, false, errors.New("an embedded field that is no struct needs a JSON name: add a json tag")
		}
	}
	switch {
	case output:
	case f.embed && f.optional:
		return f, false, errors.New("an embedded field takes no options in its json tag: leave them out")
	case f.embed && !sf.IsExported() && sf.Type.Kind() == reflect.Pointer:
		return f, false, errors.New("an embedded pointer to an unexported struct cannot be decoded: embed the struct, or export it")
	case !f.embed && !sf.IsExported():
		return f, false, errors.New("an unexported field has a JSON name: export it, or leave the name out")
	}
	return f, true, nil
}

// tagOptions lists the options of json tags that both encoding/json and this package support.
var tagOptions = []string{"omitempty", "omitzero", "string", "embed"}

func (f *field) parseJSONTag(tag string, output bool) error {
	name, rest, options := strings.Cut(tag, ",")
	switch {
	case strings.ContainsAny(name, `'"\`):
		return fmt.Errorf("json tag %q has a quoted name: use a plain one", tag)
	case name == "-" && rest == "" && !output:
		return fmt.Errorf("json tag %q leaves open whether the name is \"-\": write \"-,case:strict\" if it is, and \"-\" to leave the field out", tag)
	case options && (rest == "" || strings.HasSuffix(rest, ",")) && !output:
		return fmt.Errorf("json tag %q ends with a comma: leave that out", tag)
	}
	if name != "" {
		f.name, f.tagged = name, true
	}
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "", "case:strict":
		case "omitempty", "omitzero":
			f.optional = true
		case "string":
			f.quoted = true
		case "embed":
			f.embed = true
		default:
			meant := nearest.Name(option, tagOptions)
			switch {
			case output && meant == "" && !strings.HasPrefix(option, "format:"):
			case option == "inline":
				return errors.New("json tag has the option inline: use embed instead")
			default:
				return fmt.Errorf("json tag has the option %q, which Junction does not know: use omitempty, omitzero, string or embed", option)
			}
		}
	}
	return nil
}
