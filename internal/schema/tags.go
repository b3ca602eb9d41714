package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// tagRules lists the functions that apply the struct tags of [For], in order.
var tagRules = []func(*shape, field) error{checkTags, applyQuotes, applyWords, applyRange, applyText, applyEnum, applyValues, applyHeader}

// applyTags applies the struct tags of a field to its shape. If output is set, it ignores tags that
// do not fit.
func applyTags(s *shape, f field, output bool) error {
	for _, apply := range tagRules {
		if err := apply(s, f); err != nil && !output {
			return err
		}
	}
	if output {
		s.Header = ""
	}
	return nil
}

// applyQuotes applies the option string of the json tag.
func applyQuotes(s *shape, f field) error {
	if !f.quoted {
		return nil
	}
	switch s.main() {
	case "integer", "number":
		s.Types[0], s.bounds, s.Pattern = "string", bounds{}, `^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`
		return nil
	case "boolean":
		s.Types[0], s.Enum = "string", []jsontext.Value{[]byte(`"true"`), []byte(`"false"`)}
		return nil
	case "string":
		if indirect(f.Type).Kind() == reflect.String {
			return nil
		}
	}
	return errors.New("json tag has the option string, which is for numbers, booleans and strings only: leave it out")
}

func applyWords(s *shape, f field) error {
	if doc, ok := f.Tag.Lookup("doc"); ok {
		s.Description = doc
	}
	if title, ok := f.Tag.Lookup("title"); ok {
		s.Title = title
	}
	if r, ok := f.Tag.Lookup("required"); ok && r != "true" && r != "false" {
		return fmt.Errorf("tag required:%q is neither true nor false", r)
	}
	return nil
}

// main returns the first type of a shape, or "" if it has none.
func (s *shape) main() string {
	if s.raw != nil || len(s.Types) == 0 {
		return ""
	}
	return s.Types[0]
}

// scalar returns the shape to which enum, pattern and format apply. For a slice this is the shape
// of its items.
func (s *shape) scalar() *shape {
	for s.main() == "array" {
		s = s.Items
	}
	return s
}

func applyRange(s *shape, f field) error {
	ends := map[string][2]*jsontext.Value{
		"integer": {&s.Minimum, &s.Maximum}, "number": {&s.Minimum, &s.Maximum}, "string": {&s.MinLength, &s.MaxLength},
		"array": {&s.MinItems, &s.MaxItems}, "object": {&s.MinProperties, &s.MaxProperties},
	}[s.main()]
	for i, name := range []string{"min", "max"} {
		text, ok := f.Tag.Lookup(name)
		if !ok {
			continue
		}
		if s.Encoding != "" {
			return fmt.Errorf("tag %s:%q: the schema of bytes is a text in base64, whose length does not tell how many there are: leave the tag out, and compare len in the function", name, text)
		}
		if ends[i] == nil || s.Properties != nil {
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
		*ends[i] = number
		s.narrowed = true
	}
	return nil
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
		at.Pattern, at.narrowed = pattern, true
	}
	if hasFormat {
		at.Format = format
	}
	return nil
}

func applyEnum(s *shape, f field) error {
	text, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	at := s.scalar()
	var values []jsontext.Value
	for word := range strings.SplitSeq(text, ",") {
		value, err := literal(at, strings.TrimSpace(word))
		if err != nil || at.Properties != nil {
			return fmt.Errorf("tag enum:%q: %q is no %s: list values of the field's type, with commas between", text, word, at.main())
		}
		values = append(values, value)
	}
	if len(at.Types) > 1 {
		values = append(values, jsontext.Value("null"))
	}
	at.Enum, at.narrowed = values, true
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
			err = f.codecs.Decode(value, reflect.New(f.Type).Interface())
		}
		if err != nil {
			return fmt.Errorf("tag %s:%q: %w", name, text, err)
		}
		if name == "default" {
			s.Default = value
		} else {
			s.Examples = []jsontext.Value{value}
		}
	}
	return nil
}

// literal converts the text in a tag to a JSON value of the field's type.
func literal(s *shape, text string) (jsontext.Value, error) {
	value, isText := jsontext.Value(text), s.main() == "string"
	switch {
	case isText && kindAt(value, 0) != kindString, !value.IsValid() && (isText || s.main() == ""):
		return appendQuoted(nil, text), nil
	case !value.IsValid():
		return nil, fmt.Errorf("expected %s, as JSON", s.main())
	}
	if err := value.Compact(); err != nil {
		return nil, err
	}
	return value, (&shape{Types: s.Types}).admits(value)
}

// admits checks a value against the shape. It accepts every value if the shape contains references.
func (s *shape) admits(value []byte) error {
	if s.contains(func(s *shape) bool { return s.Ref != "" }) {
		return nil
	}
	text, err := Encode(nil, s)
	if err != nil {
		return err
	}
	v, err := Compile(text)
	if err != nil {
		return err
	}
	return v.Validate(value)
}

// applyHeader marks an argument that clients copy into an HTTP header (specification 2026-07-28,
// x-mcp-header).
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
	s.Header = name
	return nil
}

// checkHeaders checks the headers in a schema against the rules of the specification: an argument
// with a header must be reachable through properties only, and the names of headers must be unique,
// ignoring case.
func (s *shape) checkHeaders(path string, reached bool, seen map[string]string) error {
	if s == nil {
		return nil
	}
	if s.Header != "" {
		name := strings.ToLower(s.Header)
		if other, twice := seen[name]; twice {
			return fmt.Errorf("%s: tag header:%q is that of %s too: choose another", path, s.Header, other)
		}
		if !reached {
			return fmt.Errorf("%s: tag header:%q is inside a list, a map or a type that contains itself: leave it out", path, s.Header)
		}
		seen[name] = path
	}
	for _, p := range s.Properties {
		if err := p.shape.checkHeaders(strings.TrimPrefix(path+"."+p.name, "."), reached, seen); err != nil {
			return err
		}
	}
	for _, p := range s.Definitions {
		if err := p.shape.checkHeaders(p.name, false, seen); err != nil {
			return err
		}
	}
	if err := s.Items.checkHeaders(path+"[]", false, seen); err != nil {
		return err
	}
	return s.Additional.checkHeaders(path+"[]", false, seen)
}
