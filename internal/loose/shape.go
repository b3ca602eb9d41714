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
	name    // a text that is not empty; no other type is read as one, as calls would not find it
	encoded // a text that is base64
	several // a value, or a list of such values
)

// A shape is what a value has to be.
type shape struct {
	kind    kind
	words   []string // of a text: all it can be
	exact   bool     // of a text: no number or boolean is read as it
	members []member // of an object
	of      *shape   // of a list: its elements
	// whole, if set, reports whether an object with these of its members, and with this value of the member type, can be read.
	whole func(has uint32, kind []byte) bool
	// mend, if set, is tried first where the value does not fit; nil means that it does not help, and unreadable that nothing does.
	mend func(m *mender, s *shape, raw json.RawMessage) json.RawMessage
	// lost names an element of a list that is left out, and instead, if set, returns what takes its place.
	lost    tolerance.Tolerance
	instead func(m *mender, raw json.RawMessage) json.RawMessage
	// split, if set, returns the elements that one element of a list is read as.
	split func(raw json.RawMessage) []json.RawMessage
}

// A member is a member of an object.
type member struct {
	name  string
	shape *shape
	need  bool // the object cannot be read without it
	vital bool // nor with one that cannot be read
	// orElse is the value where a member that is needed is missing or cannot be read, and why the row that names it.
	orElse string
	why    tolerance.Tolerance
}

// unreadable is returned by a mend that has tried everything.
var unreadable = json.RawMessage{}

// fits reports whether the value at i of valid JSON has the shape, and where it ends; where it does not fit, the end does not count.
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
	var has uint32 // a bit for each member
	var kind []byte
	if i = jsonrpc.SkipSpace(data, i+1); data[i] == '}' {
		return i + 1, s.complete(0, nil)
	}
	for {
		nameEnd, _ := jsonrpc.SkipValue(data, i)
		at := s.find(data[i:nameEnd])
		i = jsonrpc.SkipSpace(data, jsonrpc.SkipSpace(data, nameEnd)+1) // behind the colon
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

// find returns the index of the member with the quoted name, or -1.
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

// membersFit is objectFits of an object whose members are indexed.
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
