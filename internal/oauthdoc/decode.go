package oauthdoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// Decode decodes an object of JSON, which may begin with a byte order mark. Members whose values are of another type are left out.
func Decode(text []byte, into any) error {
	err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), into)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field != "" {
		return nil
	}
	return err
}

// Words are an array of texts, or one text with blanks between them. Values of another type have none.
type Words []string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *Words) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	all, isArray := value.([]any)
	if !isArray {
		all = []any{value}
	}
	*w = nil
	for _, one := range all {
		text, _ := one.(string)
		*w = append(*w, strings.Fields(text)...)
	}
	return nil
}

// Seconds are a number, or a text of one. Values of another type are none.
type Seconds float64

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		data = []byte(text)
	}
	var number float64
	if json.Unmarshal(data, &number) != nil {
		number = 0
	}
	*s = Seconds(number)
	return nil
}

// A Flag is true, or the text true. Values of another type are false.
type Flag bool

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Flag) UnmarshalJSON(data []byte) error {
	*f = Flag(strings.EqualFold(strings.Trim(string(data), `"`), "true"))
	return nil
}

// A Fault is an error that an authorization server answers with, in place of what was asked for or in addition.
type Fault struct {
	Code        string // such as invalid_grant; empty: none was named
	Description string
}

// FaultOf finds the error in an object, or an empty Fault: RFC 6749 has texts; others have an object, or say it otherwise.
func FaultOf(text []byte) (f Fault) {
	var said struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
		Message     string          `json:"message"`
		Detail      string          `json:"detail"`
	}
	if Decode(text, &said) != nil {
		return f
	}
	f.Description = said.Description
	if json.Unmarshal(said.Error, &f.Code) != nil {
		var inner struct {
			Code    string `json:"code"`
			Status  string `json:"status"`
			Message string `json:"message"`
		}
		if len(said.Error) > 0 && Decode(said.Error, &inner) == nil {
			f.Code, f.Description = cmp.Or(inner.Code, inner.Status, inner.Message), cmp.Or(f.Description, inner.Message)
		}
	}
	f.Description = cmp.Or(f.Description, said.Message, said.Detail)
	return f
}

// FromForm returns a response in the form of a URL's query as an object of JSON, or nil where it is none: GitHub sends tokens so.
// A member that is there twice could be read in two ways, and then none is.
func FromForm(text []byte) []byte {
	values, err := url.ParseQuery(strings.TrimSpace(string(text)))
	if err != nil || !values.Has("access_token") && !values.Has("error") {
		return nil
	}
	object := map[string]string{}
	for name, all := range values {
		if len(all) != 1 {
			return nil
		}
		object[name] = all[0]
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return encoded
}
