package tree

import (
	"github.com/go-json-experiment/json/jsontext"
)

// A Number is a number as it was written in JSON.
type Number string

// An Object has members in an order. It is used by one goroutine at a time; reading it is safe for several.
type Object struct {
	names  []string
	values map[string]any
}

// NewObject returns an object with members: names and values in turn.
func NewObject(pairs ...any) *Object {
	o := &Object{values: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Names are those of the members, in order. Do not change the slice. A nil object has none.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	return o.names
}

// Get returns the value of a member; nil if there is none.
func (o *Object) Get(name string) any {
	if o == nil {
		return nil
	}
	return o.values[name]
}

// Has reports whether there is a member of that name, null or not.
func (o *Object) Has(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.values[name]
	return ok
}

// Set adds a member, or replaces its value.
func (o *Object) Set(name string, value any) {
	if !o.Has(name) {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

// Len is the number of members.
func (o *Object) Len() int { return len(o.Names()) }

// Object returns a member that is an object; else nil.
func (o *Object) Object(name string) *Object { v, _ := o.Get(name).(*Object); return v }

// Text returns a member that is a string; else "".
func (o *Object) Text(name string) string { v, _ := o.Get(name).(string); return v }

// List returns a member that is an array; else nil.
func (o *Object) List(name string) []any { v, _ := o.Get(name).([]any); return v }

// True reports whether a member is true.
func (o *Object) True(name string) bool { v, _ := o.Get(name).(bool); return v }

// Texts are the strings in a member that is an array of them, or the string itself.
func (o *Object) Texts(name string) []string {
	if text, ok := o.Get(name).(string); ok {
		return []string{text}
	}
	var texts []string
	for _, v := range o.List(name) {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// Plain returns a value that is no object and no list as text, and null as the empty text.
func Plain(value any) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool, Number:
		return string(Append(nil, v)), true
	}
	return "", false
}

// Append appends a value to dst as compact JSON. Bytes that are no UTF-8 become U+FFFD. It panics at a type
// that is not one of a value.
func Append(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Number:
		return append(dst, v...)
	case string:
		dst, _ = jsontext.AppendQuote(dst, v) // the error is about UTF-8, which is mended
		return dst
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	}
	o := value.(*Object)
	dst = append(dst, '{')
	for i, name := range o.Names() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(Append(dst, name), ':')
		dst = Append(dst, o.values[name])
	}
	return append(dst, '}')
}
