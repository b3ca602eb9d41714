package answer

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// maxFields is how many fields a form may have: nobody fills in more.
const maxFields = 100

// A field is one member of a form (schema.ts PrimitiveSchemaDefinition).
type field struct {
	name     string
	required bool
	check    *schema.Validator
	choices  []choice
	several  bool // any number of the choices, as a list

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Default     json.RawMessage `json:"default"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinLength   *int            `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	MinItems    *int            `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`

	Enum      []json.RawMessage `json:"enum"`
	EnumNames []string          `json:"enumNames"` // revisions before 2025-11-25
	OneOf     []titled          `json:"oneOf"`
	Items     struct {
		Enum  []json.RawMessage `json:"enum"`
		AnyOf []titled          `json:"anyOf"`
		OneOf []titled          `json:"oneOf"`
	} `json:"items"`
}

type titled struct {
	Const json.RawMessage `json:"const"`
	Title string          `json:"title"`
}

// A choice is one of the values that a field may have.
type choice struct {
	value json.RawMessage
	title string
}

// readForm reads the fields of a form, in its order.
func readForm(form json.RawMessage) ([]*field, error) {
	var top struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := schema.DecodeLoose(form, &top); err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "the form cannot be read: %v", err)
	}
	var fields []*field
	var fault error
	jsonrpc.EachMember(top.Properties, func(quoted, value []byte) bool {
		f := &field{}
		f.name, _ = jsonrpc.Unquote(quoted)
		f.required = slices.Contains(top.Required, f.name)
		if fault = f.read(value); fault == nil && len(fields) == maxFields {
			fault = fmt.Errorf("it has more than %d fields", maxFields)
		}
		fields = append(fields, f)
		return fault == nil
	})
	if fault != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "the form cannot be asked: %v", fault)
	}
	return fields, nil
}

func (f *field) read(property json.RawMessage) (err error) {
	if err := schema.DecodeLoose(property, f); err != nil {
		return fmt.Errorf("field %q: %w", f.name, err)
	}
	if f.check, err = schema.Compile(property); err != nil {
		return fmt.Errorf("field %q: %w", f.name, err)
	}
	f.several = f.Type == "array"
	values, titles := f.Enum, f.OneOf
	if f.several {
		values, titles = f.Items.Enum, append(f.Items.AnyOf, f.Items.OneOf...)
	}
	for i, value := range values {
		c := choice{value: value, title: plainValue(value)}
		if !f.several && i < len(f.EnumNames) {
			c.title = f.EnumNames[i]
		}
		f.choices = append(f.choices, c)
	}
	for _, t := range titles {
		if t.Const == nil {
			return fmt.Errorf("field %q: a choice without const", f.name)
		}
		f.choices = append(f.choices, choice{t.Const, t.Title})
	}
	if f.several && len(f.choices) == 0 {
		return fmt.Errorf("field %q: a list without choices", f.name)
	}
	return nil
}

// plainValue is a JSON value as a person writes it.
func plainValue(raw json.RawMessage) string {
	if text, ok := jsonrpc.Unquote(raw); ok {
		return text
	}
	return string(raw)
}

// parse makes the field's value of what a person typed. The error says what was
// expected.
func (f *field) parse(typed string) (json.RawMessage, error) {
	value, err := f.value(strings.TrimSpace(typed))
	if err != nil {
		return nil, err
	}
	if err := f.check.Validate(value); err != nil {
		return nil, err
	}
	return value, f.checkFormat(value)
}

func (f *field) value(typed string) (json.RawMessage, error) {
	switch {
	case f.several:
		return f.chooseSeveral(typed)
	case len(f.choices) > 0:
		return f.choose(typed)
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(typed) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, fmt.Errorf("expected yes or no")
	case "integer", "number":
		if jsonrpc.Valid([]byte(typed), jsonrpc.Limits{}) != nil {
			return nil, fmt.Errorf("expected %s", f.Type)
		}
		return json.RawMessage(typed), nil
	}
	if typed == `""` {
		typed = ""
	}
	return jsonrpc.AppendString(nil, typed), nil
}

// choose finds a choice by its number, its title or its value.
func (f *field) choose(typed string) (json.RawMessage, error) {
	for _, c := range f.choices {
		if typed == c.title || typed == plainValue(c.value) {
			return c.value, nil
		}
	}
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(f.choices) {
		return f.choices[n-1].value, nil
	}
	return nil, fmt.Errorf("expected a number from 1 to %d", len(f.choices))
}

func (f *field) chooseSeveral(typed string) (json.RawMessage, error) {
	out := []byte{'['}
	if typed != "none" {
		for i, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' }) {
			value, err := f.choose(word)
			if err != nil {
				return nil, fmt.Errorf("%q: %w, several with commas, or none", word, err)
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, value...)
		}
	}
	return append(out, ']'), nil
}

// checkFormat checks what schemas only annotate.
func (f *field) checkFormat(value json.RawMessage) error {
	text, ok := jsonrpc.Unquote(value)
	if !ok || text == "" {
		return nil
	}
	var err error
	switch f.Format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err != nil || a.Address != text {
			return fmt.Errorf("expected an e-mail address")
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err != nil || u.Scheme == "" {
			return fmt.Errorf("expected a URI, such as https://example.com/")
		}
	case "date":
		if _, err = time.Parse(time.DateOnly, text); err != nil {
			return fmt.Errorf("expected a date, such as 2026-01-31")
		}
	case "date-time":
		if _, err = time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("expected a date and time, such as 2026-01-31T12:00:00Z")
		}
	}
	return nil
}

// describe says what may be typed.
func (f *field) describe() string {
	var words []string
	switch {
	case f.several:
		words = append(words, "any of these"+between(asFloat(f.MinItems), asFloat(f.MaxItems), "of them"))
	case len(f.choices) > 0:
		words = append(words, "one of these")
	case f.Type == "boolean":
		words = append(words, "yes or no")
	case f.Type == "integer" || f.Type == "number":
		words = append(words, f.Type+between(f.Minimum, f.Maximum, ""))
	case f.Format != "":
		words = append(words, f.Format)
	default:
		words = append(words, "text"+between(asFloat(f.MinLength), asFloat(f.MaxLength), "characters"))
	}
	if !f.required {
		words = append(words, "optional")
	}
	return strings.Join(words, ", ")
}

func asFloat(n *int) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

func between(least, most *float64, unit string) string {
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	var said string
	switch {
	case least != nil && most != nil:
		said = number(least) + " to " + number(most)
	case least != nil:
		said = "at least " + number(least)
	case most != nil:
		said = "at most " + number(most)
	default:
		return ""
	}
	return strings.TrimRight(", "+said+" "+unit, " ")
}
