package jsonrpc

import (
	"bytes"
	"encoding/json"
	"iter"
)

// fewMembers is the number of members that an index can store without an allocation.
const fewMembers = 8

// Members is an index of the top-level members of one object, in order of appearance. Values are
// sub-slices of the input, which must not change while the index is in use. The zero value is the
// index of an empty object. Concurrent reads are safe.
type Members struct {
	src     []byte
	count   int
	escaped bool // at least one name contains escapes
	few     [fewMembers]member
	more    []member
}

// member contains offsets into Members.src. The name includes its quotes.
type member struct{ name, nameEnd, value, valueEnd uint32 }

// Index validates obj, as [Valid] does, and indexes its members. If obj is not an object, the error
// has the code [InvalidRequest].
func Index(obj []byte, l Limits) (Members, *Error) {
	s := newScanner(obj, l)
	var m Members
	if err := s.document(&m, nil); err != nil {
		return Members{}, err
	}
	if i := SkipSpace(obj, 0); obj[i] != '{' {
		return Members{}, expected(InvalidRequest, obj, i, "an object")
	}
	m.src = obj
	return m, nil
}

func (m *Members) reset() { m.count, m.escaped, m.more = 0, false, nil }

func (m *Members) add(name, nameEnd, value, valueEnd int, escaped bool) {
	one := member{uint32(name), uint32(nameEnd), uint32(value), uint32(valueEnd)}
	if m.count < fewMembers {
		m.few[m.count] = one
	} else {
		m.more = append(m.more, one)
	}
	m.count++
	m.escaped = m.escaped || escaped
}

func (m *Members) at(i int) *member {
	if i < fewMembers {
		return &m.few[i]
	}
	return &m.more[i-fewMembers]
}

// find returns the member with the given name, or nil. The search is linear, because params and
// results have few members.
func (m *Members) find(name string) *member {
	for i := range m.count {
		one := m.at(i)
		raw := m.src[one.name:one.nameEnd]
		if !m.escaped && string(raw[1:len(raw)-1]) == name || m.escaped && sameName(raw, name) {
			return one
		}
	}
	return nil
}

// sameName reports whether the JSON string literal raw represents name.
func sameName(raw []byte, name string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == name
	}
	text, ok := Unquote(raw)
	return ok && text == name
}

// named reports whether the JSON string literal raw represents one of names.
func named(raw []byte, names []string) bool {
	escaped := bytes.IndexByte(raw, '\\') >= 0
	for _, name := range names {
		if escaped && sameName(raw, name) || !escaped && string(raw[1:len(raw)-1]) == name {
			return true
		}
	}
	return false
}

// Get returns the value of the member with the given name, or nil. Names are case-sensitive and are
// compared after unescaping.
func (m *Members) Get(name string) json.RawMessage {
	one := m.find(name)
	if one == nil {
		return nil
	}
	return json.RawMessage(m.src[one.value:one.valueEnd:one.valueEnd])
}

// Len returns the number of members.
func (m *Members) Len() int { return m.count }

// At returns the name of the i'th member, with its quotes and escapes, and its value.
func (m *Members) At(i int) (quoted, value []byte) {
	one := m.at(i)
	return m.src[one.name:one.nameEnd], m.src[one.value:one.valueEnd:one.valueEnd]
}

// Without returns a copy of the object without the named members.
func (m *Members) Without(names ...string) json.RawMessage {
	size := 0
	if m.count > 0 {
		size = int(m.at(m.count-1).valueEnd - m.at(0).name)
	}
	w := NewObject(make([]byte, 0, size+2))
	for i := range m.count {
		if one := m.at(i); !named(m.src[one.name:one.nameEnd], names) {
			w.comma()
			w.buf = append(w.buf, m.src[one.name:one.valueEnd]...)
		}
	}
	return w.Bytes()
}

// All iterates over the unescaped names and the values of the members, in order of appearance.
func (m *Members) All() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for i := range m.count {
			one := m.at(i)
			name, _ := Unquote(m.src[one.name:one.nameEnd])
			if !yield(name, json.RawMessage(m.src[one.value:one.valueEnd:one.valueEnd])) {
				return
			}
		}
	}
}
