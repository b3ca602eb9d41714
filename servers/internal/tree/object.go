package tree

import (
	"github.com/go-json-experiment/json/jsontext"
)

// A Number is a number in its JSON spelling.
type Number string

// An Object is an ordered list of members. Several goroutines may read it, but only if none changes
// it.
type Object struct {
	names  []string
	values map[string]any
}

// NewObject returns an object. pairs holds alternating names and values.
func NewObject(pairs ...any) *Object {
	o := &Object{values: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Names returns the names of the members, in order. The caller must not change the slice. A nil
// object has no members.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	return o.names
}

// Get returns the value of a member, or nil if it is missing.
func (o *Object) Get(name string) any {
	if o == nil {
		return nil
	}
	return o.values[name]
}

// Has reports whether the member exists, even if it is null.
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

// Len returns the number of members.
func (o *Object) Len() int { return len(o.Names()) }

// Object returns the value of a member if it is an object, or else nil.
func (o *Object) Object(name string) *Object { v, _ := o.Get(name).(*Object); return v }

// Text returns the value of a member if it is a string, or else "".
func (o *Object) Text(name string) string { v, _ := o.Get(name).(string); return v }

// List returns the value of a member if it is an array, or else nil.
func (o *Object) List(name string) []any { v, _ := o.Get(name).([]any); return v }

// True reports whether the value of a member is true.
func (o *Object) True(name string) bool { v, _ := o.Get(name).(bool); return v }

// Texts returns the strings in a member that is an array, or the member itself if it is a string.
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

// Plain returns the text of a value. ok is false for an object or a list. The text of null is
// empty.
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

// Append appends a value to dst as compact JSON. Invalid UTF-8 becomes U+FFFD. It panics if value
// has another type than the package comment lists.
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
		dst, _ = jsontext.AppendQuote(dst, v) // the only error reports invalid UTF-8, which AppendQuote replaces
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
