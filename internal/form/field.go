package form

import (
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/schema"
)

// maxFields is the maximum number of fields of a form.
const maxFields = 100

// A Field is one field of a form (schema.ts PrimitiveSchemaDefinition).
type Field struct {
	Name     string   `json:"-"`
	Required bool     `json:"-"`
	Choices  []Choice `json:"-"`
	Several  bool     `json:"-"` // the value is a list of any number of choices
	check    *schema.Validator

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	WriteOnly   bool            `json:"writeOnly"`
	Default     json.RawMessage `json:"default"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinLength   *int            `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	MinItems    *int            `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`

	Enum      []json.RawMessage `json:"enum"`
	EnumNames []string          `json:"enumNames"` // titles of Enum in revisions before 2025-11-25
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

// A Choice is one allowed value of a field. Title may be empty.
type Choice struct {
	Value json.RawMessage
	Title string
}

// Read parses the requestedSchema of a form and returns its fields in order. A nil schema has no
// fields.
func Read(form json.RawMessage) ([]*Field, error) {
	var top struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if form == nil {
		return nil, nil
	}
	if err := schema.DecodeLoose(form, &top); err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w", err)
	}
	var fields []*Field
	for p := range schema.Look(form).Properties() {
		f := &Field{Name: p.Name, Required: p.Required}
		err := f.read(p.View)
		if err == nil && len(fields) == maxFields {
			err = fmt.Errorf("it has more than %d fields", maxFields)
		}
		if err != nil {
			return nil, fmt.Errorf("the form cannot be shown: %w", err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// Secret reports whether the user's input should not be visible on the screen, because of the
// field's name, such as password, or because of its schema. A server must not request secrets in a
// form (elicitation, Security Considerations), but some servers do.
func (f *Field) Secret() bool {
	if f.Type != "string" || len(f.Choices) > 0 {
		return false
	}
	return f.WriteOnly || f.Format == "password" || redact.Typed(f.Name) || redact.Typed(f.Title)
}

func (f *Field) read(property schema.View) (err error) {
	if err := schema.DecodeLoose(property.Merged(), f); err != nil {
		return fmt.Errorf("field %q: %w", f.Name, err)
	}
	if f.check, err = schema.Compile(property.Alone()); err != nil {
		return fmt.Errorf("field %q: %w", f.Name, err)
	}
	f.Several = f.Type == "array"
	values, titles := f.Enum, f.OneOf
	if f.Several {
		values, titles = f.Items.Enum, append(f.Items.AnyOf, f.Items.OneOf...)
	}
	for i, value := range values {
		c := Choice{Value: value, Title: PlainValue(value)}
		if !f.Several && i < len(f.EnumNames) {
			c.Title = f.EnumNames[i]
		}
		f.Choices = append(f.Choices, c)
	}
	for _, t := range titles {
		if t.Const == nil {
			return fmt.Errorf("field %q: a choice without const", f.Name)
		}
		f.Choices = append(f.Choices, Choice{t.Const, t.Title})
	}
	if f.Several && len(f.Choices) == 0 {
		return fmt.Errorf("field %q: a list without choices", f.Name)
	}
	return nil
}
