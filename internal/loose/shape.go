package loose

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// A kind is the type of a value.
type kind uint8

const (
	anything kind = iota
	text
	number
	integer
	flag
	object
	list
	name    // non-empty string; other types are not converted, as calls could not find the value
	encoded // a base64 string
	several // a value, or a list of such values
)

// A shape is the expected form of a value.
type shape struct {
	kind    kind
	words   []string // allowed values of a text
	exact   bool     // numbers and booleans are not converted to text
	members []member // members of an object
	of      *shape   // shape of the elements of a list
	// whole, if set, reports whether an object is readable. has contains a bit for each member that
	// is present; kind is the value of the member type.
	whole func(has uint32, kind []byte) bool
	// mend, if set, is the first attempt to convert a value that does not fit. It returns nil if it
	// does not apply, and unreadable if no other conversion applies either.
	mend func(m *mender, s *shape, raw json.RawMessage) json.RawMessage
	// lost is the tolerance for a dropped element of a list. instead, if set, returns a replacement
	// for the element.
	lost    tolerance.Tolerance
	instead func(m *mender, raw json.RawMessage) json.RawMessage
	// split, if set, returns the elements that replace one element of a list.
	split func(raw json.RawMessage) []json.RawMessage
}

// A member describes a member of an object.
type member struct {
	name  string
	shape *shape
	need  bool // the object is unreadable without the member
	vital bool // the object is unreadable if the member is
	// orElse replaces a member that is missing or unreadable; why is the tolerance for this.
	orElse string
	why    tolerance.Tolerance
}

// unreadable is the result of a mend function for a value that no conversion can read.
var unreadable = json.RawMessage{}

// fits reports whether the value at offset i has the shape, and returns its end. data must be valid
// JSON. end is undefined if the value does not fit.
func (s *shape) fits(data []byte, i int) (end int, ok bool) {
	c := data[i]
	switch s.kind {
	case text:
		ok = c == '"'
	case name:
		ok = c == '"' && data[i+1] != '"'
	case encoded:
		end, ok = jsonrpc.SkipValue(data, i)
		return end, ok && c == '"' && isBase64(data[i+1:end-1])
	case number, integer:
		ok = c == '-' || '0' <= c && c <= '9'
	case flag:
		ok = c == 't' || c == 'f'
	case object:
		if c != '{' {
			return 0, false
		}
		return s.objectFits(data, i)
	case list:
		if c != '[' {
			return 0, false
		}
		return s.listFits(data, i)
	case several:
		if c != '[' {
			return s.of.fits(data, i)
		}
		return s.listFits(data, i)
	default:
		ok = true
	}
	if !ok {
		return 0, false
	}
	end, ok = jsonrpc.SkipValue(data, i)
	switch {
	case s.kind == integer:
		ok = isInteger(data[i:end])
	case s.words != nil:
		ok = s.isWord(data[i+1 : end-1])
	}
	return end, ok
}

func isInteger(raw []byte) bool {
	for _, c := range raw[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) > 1 || raw[0] != '-'
}

func (s *shape) isWord(raw []byte) bool {
	for _, word := range s.words {
		if string(raw) == word {
			return true
		}
	}
	return false
}

func (s *shape) listFits(data []byte, i int) (end int, ok bool) {
	if i = jsonrpc.SkipSpace(data, i+1); data[i] == ']' {
		return i + 1, true
	}
	for {
		if i, ok = s.of.fits(data, i); !ok {
			return 0, false
		}
		if i = jsonrpc.SkipSpace(data, i); data[i] == ']' {
			return i + 1, true
		}
		i = jsonrpc.SkipSpace(data, i+1)
	}
}

func (s *shape) objectFits(data []byte, i int) (end int, ok bool) {
	var has uint32 // contains a bit for each member that is present
	var kind []byte
	if i = jsonrpc.SkipSpace(data, i+1); data[i] == '}' {
		return i + 1, s.complete(0, nil)
	}
	for {
		nameEnd, _ := jsonrpc.SkipValue(data, i)
		at := s.find(data[i:nameEnd])
		i = jsonrpc.SkipSpace(data, jsonrpc.SkipSpace(data, nameEnd)+1) // after the colon
		if at < 0 {
			end, ok = jsonrpc.SkipValue(data, i)
		} else {
			end, ok = s.members[at].shape.fits(data, i)
			if has |= 1 << at; ok && s.members[at].name == "type" {
				kind = data[i:end]
			}
		}
		if !ok {
			return 0, false
		}
		if i = jsonrpc.SkipSpace(data, end); data[i] == '}' {
			return i + 1, s.complete(has, kind)
		}
		i = jsonrpc.SkipSpace(data, i+1)
	}
}

// find returns the index of the member with the given name, which is in quotes, or -1.
func (s *shape) find(quoted []byte) int {
	name := quoted[1 : len(quoted)-1]
	for i := range name {
		if name[i] == '\\' {
			unquoted, _ := jsonrpc.Unquote(quoted)
			name = []byte(unquoted)
			break
		}
	}
	for i := range s.members {
		if string(name) == s.members[i].name {
			return i
		}
	}
	return -1
}

// complete reports whether an object has all members that it needs.
func (s *shape) complete(has uint32, kind []byte) bool {
	if s.whole != nil {
		return s.whole(has, kind)
	}
	for i := range s.members {
		if s.members[i].need && has&(1<<i) == 0 {
			return false
		}
	}
	return true
}

// membersFit is like objectFits, but for the index of an object.
func (s *shape) membersFit(members *jsonrpc.Members) bool {
	var has uint32
	for i := range members.Len() {
		quoted, value := members.At(i)
		at := s.find(quoted)
		if at < 0 {
			continue
		}
		if _, ok := s.members[at].shape.fits(value, 0); !ok {
			return false
		}
		has |= 1 << at
	}
	return s.complete(has, nil)
}
