package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// applyTags adds what the struct tags of a field say to its schema.
func applyTags(s *shape, f field) error {
	if err := checkTags(f.Tag); err != nil {
		return err
	}
	if f.quoted {
		if err := s.quoteNumber(); err != nil {
			return err
		}
	}
	if doc, ok := f.Tag.Lookup("doc"); ok {
		s.description = doc
	}
	if title, ok := f.Tag.Lookup("title"); ok {
		s.title = title
	}
	if r, ok := f.Tag.Lookup("required"); ok && r != "true" && r != "false" {
		return fmt.Errorf("tag required:%q is neither true nor false", r)
	}
	for _, apply := range []func(*shape, field) error{applyRange, applyText, applyEnum, applyValues, applyHeader} {
		if err := apply(s, f); err != nil {
			return err
		}
	}
	return nil
}

// quoteNumber is the string option of the json tag.
func (s *shape) quoteNumber() error {
	switch s.main() {
	case "integer", "number":
		s.types[0], s.bounds, s.pattern = "string", nil, `^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`
		return nil
	}
	return errors.New("json tag has the option string, which is for numbers only: leave it out")
}

// main is the type of a shape that is not null, or empty.
func (s *shape) main() string {
	if s.raw != nil || len(s.types) == 0 {
		return ""
	}
	return s.types[0]
}

// scalar is the shape that enum, pattern and format talk about: for a slice
// its items.
func (s *shape) scalar() *shape {
	for s.main() == "array" {
		s = s.items
	}
	return s
}

func applyRange(s *shape, f field) error {
	keywords := map[string][2]string{
		"integer": {"minimum", "maximum"}, "number": {"minimum", "maximum"},
		"string": {"minLength", "maxLength"}, "array": {"minItems", "maxItems"}, "object": {"minProperties", "maxProperties"},
	}[s.main()]
	for i, name := range []string{"min", "max"} {
		text, ok := f.Tag.Lookup(name)
		if !ok {
			continue
		}
		if keywords[i] == "" || s.isObject || s.encoding != "" {
			return fmt.Errorf("tag %s:%q is for numbers, strings, slices and maps only: leave it out", name, text)
		}
		number := jsontext.Value(text)
		counts := s.main() != "integer" && s.main() != "number"
		n, isInt := plainInt(number)
		if kindAt(number, 0) != kindNumber || !number.IsValid() || !inRange(number) || counts && (!isInt || n < 0) {
			return fmt.Errorf("tag %s:%q is not a number that fits: write one such as %s:\"1\"", name, text, name)
		}
		if s.main() == "integer" && wantsInteger(indirect(f.Type)) {
			if err := Decode(number, reflect.New(f.Type).Interface()); err != nil {
				return fmt.Errorf("tag %s:%q: %w", name, text, err)
			}
		}
		s.setBound(keywords[i], text)
		s.narrowed = true
	}
	return nil
}

func (s *shape) setBound(keyword, text string) {
	for i := range s.bounds {
		if s.bounds[i].keyword == keyword {
			s.bounds[i].text = text
			return
		}
	}
	s.bounds = append(s.bounds, bounds{keyword, text})
}

func applyText(s *shape, f field) error {
	at := s.scalar()
	pattern, hasPattern := f.Tag.Lookup("pattern")
	format, hasFormat := f.Tag.Lookup("format")
	if (hasPattern || hasFormat) && at.main() != "string" {
		return errors.New("tags pattern and format are for strings only: leave them out")
	}
	if hasPattern {
		if _, err := compilePattern(pattern); err != nil {
			return fmt.Errorf("tag pattern:%q: %w (write it as RE2, without lookaround and back references)", pattern, err)
		}
		at.pattern, at.narrowed = pattern, true
	}
	if hasFormat {
		at.format = format
	}
	return nil
}

func applyEnum(s *shape, f field) error {
	text, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	at := s.scalar()
	at.enum, at.narrowed = nil, true
	for word := range strings.SplitSeq(text, ",") {
		value, err := literal(at, strings.TrimSpace(word))
		if err != nil || at.isObject {
			return fmt.Errorf("tag enum:%q: %q is no %s: list values of the field's type, with commas between", text, word, at.main())
		}
		at.enum = append(at.enum, value)
	}
	if len(at.types) > 1 {
		at.enum = append(at.enum, "null")
	}
	return nil
}

func applyValues(s *shape, f field) error {
	for _, name := range []string{"default", "example"} {
		text, ok := f.Tag.Lookup(name)
		if !ok {
			continue
		}
		value, err := literal(s, text)
		if err == nil {
			err = s.admits(value)
		}
		if err == nil && !f.quoted {
			err = Decode([]byte(value), reflect.New(f.Type).Interface())
		}
		if err != nil {
			return fmt.Errorf("tag %s:%q: %w", name, text, err)
		}
		if name == "default" {
			s.value = value
		} else {
			s.example = value
		}
	}
	return nil
}

// literal turns the text of a tag into JSON, by the type of the field.
func literal(s *shape, text string) (string, error) {
	value := jsontext.Value(text)
	if s.main() == "string" && kindAt(value, 0) != kindString {
		return string(appendQuoted(nil, text)), nil
	}
	if !value.IsValid() {
		if s.main() == "" || s.main() == "string" {
			return string(appendQuoted(nil, text)), nil
		}
		return "", fmt.Errorf("expected %s, as JSON", s.main())
	}
	if err := value.Compact(); err != nil {
		return "", err
	}
	return string(value), (&shape{types: s.types}).admits(string(value))
}

// admits checks a value against the shape, unless it refers elsewhere.
func (s *shape) admits(value string) error {
	if s.refers() {
		return nil
	}
	v, err := Compile(s.append(nil))
	if err != nil {
		return err
	}
	return v.Validate([]byte(value))
}

func (s *shape) refers() bool {
	if s == nil {
		return false
	}
	for _, p := range s.properties {
		if p.shape.refers() {
			return true
		}
	}
	return s.ref != "" || s.items.refers() || s.additional.refers()
}

// applyHeader marks an argument that an HTTP header repeats (specification
// 2026-07-28, x-mcp-header).
func applyHeader(s *shape, f field) error {
	name, ok := f.Tag.Lookup("header")
	if !ok {
		return nil
	}
	switch s.main() {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("tag header:%q is for strings, integers and booleans only: leave it out", name)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return fmt.Errorf("tag header:%s is no HTTP header name: use letters, digits and hyphens", strconv.Quote(name))
		}
	}
	if name == "" {
		return errors.New("tag header is empty: name the header")
	}
	s.header = name
	return nil
}

// checkHeaders holds the headers of a whole schema against the rules of the
// specification: an argument with a header is reached through properties
// only, and no two share a name, whatever its case.
func (s *shape) checkHeaders(path string, reached bool, seen map[string]string) error {
	if s == nil {
		return nil
	}
	if s.header != "" {
		name := strings.ToLower(s.header)
		if other, twice := seen[name]; twice {
			return fmt.Errorf("%s: tag header:%q is that of %s too: choose another", path, s.header, other)
		}
		if !reached {
			return fmt.Errorf("%s: tag header:%q is inside a list, a map or a type that contains itself: leave it out", path, s.header)
		}
		seen[name] = path
	}
	for _, p := range s.properties {
		if err := p.shape.checkHeaders(strings.TrimPrefix(path+"."+p.name, "."), reached, seen); err != nil {
			return err
		}
	}
	for _, p := range s.definitions {
		if err := p.shape.checkHeaders(p.name, false, seen); err != nil {
			return err
		}
	}
	if err := s.items.checkHeaders(path+"[]", false, seen); err != nil {
		return err
	}
	return s.additional.checkHeaders(path+"[]", false, seen)
}
