package oauthdoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// Decode decodes a JSON object, which may begin with a byte order mark. It ignores members whose
// values have the wrong type.
func Decode(text []byte, into any) error {
	err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), into)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field != "" {
		return nil
	}
	return err
}

// Words is decoded from an array of strings, or from a string with words separated by spaces.
// Values of other types are decoded as no words.
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

// Seconds is decoded from a number or from a string with a number. Values of other types are
// decoded as 0.
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

// A Flag is decoded from a boolean or from the string true. Values of other types are decoded as
// false.
type Flag bool

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Flag) UnmarshalJSON(data []byte) error {
	*f = Flag(strings.EqualFold(strings.Trim(string(data), `"`), "true"))
	return nil
}

// A Fault is an error that an authorization server reports, instead of the requested data or
// together with it.
type Fault struct {
	Code        string // such as invalid_grant; may be empty
	Description string
}

// FaultOf returns the error in an object, or an empty Fault. RFC 6749 defines two string members;
// some servers use an object or other members.
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

// FromForm converts a response that has the form of a URL query to a JSON object. GitHub sends
// tokens in this form. FromForm returns nil if text does not have this form, or if it is ambiguous
// because a member is repeated.
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
