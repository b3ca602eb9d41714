package form

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// PlainValue returns a JSON value in the form in which users type it: a string without quotes, and
// other values as JSON.
func PlainValue(raw json.RawMessage) string {
	if text, ok := jsonrpc.Unquote(raw); ok {
		return text
	}
	return string(raw)
}

// Parse converts a user's input to a value of the field. The error describes the valid input.
func (f *Field) Parse(typed string) (json.RawMessage, error) {
	value, err := f.value(strings.TrimSpace(typed))
	if err != nil {
		return nil, err
	}
	return value, f.Check(value)
}

// Check checks a value against the field's schema and format.
func (f *Field) Check(value json.RawMessage) error {
	if err := f.check.Validate(value); err != nil {
		return err
	}
	return f.checkFormat(value)
}

func (f *Field) value(typed string) (json.RawMessage, error) {
	switch {
	case f.Several, len(f.Choices) > 0:
		return f.Pick(typed)
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

// Pick returns the choice, or the list of choices, that a user typed as a number, a title or a
// value. It ignores case, unless choices differ only in case.
func (f *Field) Pick(typed string) (json.RawMessage, error) {
	if f.Several {
		return f.chooseSeveral(typed)
	}
	return f.choose(typed)
}

func (f *Field) choose(typed string) (json.RawMessage, error) {
	exactly := func(a, b string) bool { return a == b }
	for _, same := range []func(a, b string) bool{exactly, strings.EqualFold} {
		for _, c := range f.Choices {
			if same(typed, c.Title) || same(typed, PlainValue(c.Value)) {
				return c.Value, nil
			}
		}
	}
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value, nil
	}
	return nil, fmt.Errorf("expected a number from 1 to %d, or one of these words", len(f.Choices))
}

func (f *Field) chooseSeveral(typed string) (json.RawMessage, error) {
	w := jsonrpc.NewArray(nil)
	if typed != "none" {
		if value, err := f.choose(typed); err == nil { // a title may contain spaces
			w.Element(value)
			return w.Bytes(), nil
		}
		for _, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' }) {
			value, err := f.choose(word)
			if err != nil {
				return nil, fmt.Errorf("%q: %w, several separated by commas, or none", word, err)
			}
			w.Element(value)
		}
	}
	return w.Bytes(), nil
}

// checkFormat checks the format of a string. Validators of schemas ignore formats.
func (f *Field) checkFormat(value json.RawMessage) error {
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

// Describe returns a description of the valid input.
func (f *Field) Describe() string {
	var words []string
	switch {
	case f.Several:
		words = append(words, "any of these"+between(asFloat(f.MinItems), asFloat(f.MaxItems), "of them"))
	case len(f.Choices) > 0:
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
	if f.Required {
		words = append(words, "required")
	} else {
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

// Encode returns the result of the form: an object with the values that are not nil.
func Encode(fields []*Field, values []json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	for i, value := range values {
		if value != nil {
			w.Raw(fields[i].Name, value)
		}
	}
	return w.Bytes()
}
