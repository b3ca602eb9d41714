package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one member of a struct's JSON object.
type field struct {
	reflect.StructField
	owner    reflect.Type // the struct that declares it
	path     []int        // as reflect.Type.FieldByIndex takes it
	name     string       // in JSON
	tagged   bool         // the name comes from the tag
	optional bool         // omitempty or omitzero
	quoted   bool         // the string option: numbers in quotes
	embed    bool
}

// required tells whether the member must be there.
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

// fieldsOf lists the members of a struct in field order, by the rules of
// encoding/json/v2: embedded structs are flattened, and what lies shallower
// hides what lies deeper. rest is the type of all other members, where an
// embedded map takes them, or nil.
func fieldsOf(root reflect.Type) (list []field, rest reflect.Type, err error) {
	type level struct {
		t    reflect.Type
		path []int
	}
	seen := map[reflect.Type]bool{root: true}
	byName := map[string]field{}
	for queue := []level{{t: root}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i := range at.t.NumField() {
			f, use, err := parseField(at.t, i)
			if err != nil {
				return nil, nil, fmt.Errorf("%s.%s: %w", at.t.Name(), at.t.Field(i).Name, err)
			}
			if !use {
				continue
			}
			f.path = append(slices.Clone(at.path), i)
			inner := indirect(f.Type)
			switch {
			case f.embed && inner.Kind() == reflect.Struct:
				if !seen[inner] {
					seen[inner] = true
					queue = append(queue, level{inner, f.path})
				}
			case f.embed:
				rest, err = restType(inner)
			default:
				err = dominate(byName, f)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s.%s: %w", at.t.Name(), f.Name, err)
			}
		}
	}
	for _, f := range byName {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b field) int { return slices.Compare(a.path, b.path) })
	return list, rest, nil
}

// dominate enters f unless a shallower field has its name. Two fields of one
// depth that both claim a name would silently cancel each other out.
func dominate(byName map[string]field, f field) error {
	other, taken := byName[f.name]
	switch {
	case !taken:
		byName[f.name] = f
	case len(other.path) < len(f.path):
	case other.tagged != f.tagged:
		if f.tagged {
			byName[f.name] = f
		}
	default:
		return fmt.Errorf("JSON name %q is that of %s.%s too: give one of them another name in its json tag",
			f.name, other.owner.Name(), other.Name)
	}
	return nil
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

// parseField reads a field and its json tag; use is false for what JSON does
// not show.
func parseField(owner reflect.Type, i int) (f field, use bool, err error) {
	sf := owner.Field(i)
	tag, hasTag := sf.Tag.Lookup("json")
	f = field{StructField: sf, owner: owner, name: sf.Name}
	anonymousStruct := sf.Anonymous && indirect(sf.Type).Kind() == reflect.Struct
	if tag == "-" || !sf.IsExported() && !anonymousStruct {
		return f, false, nil
	}
	if hasTag {
		if err := f.parseJSONTag(tag); err != nil {
			return f, false, err
		}
	}
	if sf.Anonymous && !f.tagged {
		if !anonymousStruct {
			return f, false, errors.New("an embedded field that is no struct needs a JSON name: add a json tag")
		}
		f.embed = true
	}
	if f.embed && f.optional {
		return f, false, errors.New("an embedded field takes no options in its json tag: leave them out")
	}
	if !f.embed && !sf.IsExported() {
		return f, false, errors.New("an unexported field has a JSON name: export it, or leave the name out")
	}
	return f, true, nil
}

func (f *field) parseJSONTag(tag string) error {
	name, rest, _ := strings.Cut(tag, ",")
	if strings.ContainsAny(name, `'"\`) {
		return fmt.Errorf("json tag %q has a quoted name: use a plain one", tag)
	}
	if name != "" {
		f.name, f.tagged = name, true
	}
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			f.optional = true
		case "string":
			f.quoted = true
		case "embed", "inline":
			f.embed = true
			if option == "inline" {
				return errors.New("json tag has the option inline: use embed instead")
			}
		case "case:strict":
		default:
			return fmt.Errorf("json tag has the option %q, which Junction does not know: use omitempty, omitzero, string or embed", option)
		}
	}
	return nil
}
