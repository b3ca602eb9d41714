package oauthdoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// Decode decodes a JSON object, which may begin with a byte order mark. It ignores members with
// values of the wrong type.
func Decode(text []byte, into any) error {
	err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), into)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field != "" {
		return nil
	}
	return err
}

// Words is an array of strings, or one string with words separated by blanks. Values of another
// type give none.
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

// Seconds is a number, possibly in a string. Values of another type give 0.
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

// A Flag is true, or the string true. Values of another type are false.
type Flag bool

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Flag) UnmarshalJSON(data []byte) error {
	*f = Flag(strings.EqualFold(strings.Trim(string(data), `"`), "true"))
	return nil
}

// A Fault is an error of an authorization server, instead of or in addition to the requested data.
type Fault struct {
	Code        string // such as invalid_grant; may be empty
	Description string
}

// FaultOf returns the error in an object, or an empty Fault. RFC 6749 has strings; other servers
// use an object or other members.
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

// FromForm converts a response in the form of a URL's query to a JSON object, or returns nil if it
// is not one. GitHub sends tokens in this form. A repeated member is ambiguous, so the result is
// nil.
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
