package jsonrpc

import (
	"fmt"
	"hash/maphash"
	"math"
)

// Limits limits the cost of one message. Zero fields mean the defaults. Transports must limit the
// size of a message; this package rejects only messages larger than 2 GiB.
type Limits struct {
	Depth   int // maximum depth of nested arrays and objects; default 128
	Members int // maximum number of members of an object; default 10,000
}

func (l Limits) depth() int {
	if l.Depth > 0 {
		return l.Depth
	}
	return 128
}

func (l Limits) members() int {
	if l.Members > 0 {
		return l.Members
	}
	return 10_000
}

// Valid returns nil if data is one JSON value under the rules of this package, and otherwise the
// reason why it is not.
func Valid(data []byte, l Limits) *Error {
	s := newScanner(data, l)
	return s.document(nil, nil)
}

// scanner validates JSON. Its methods scan the input at an offset and return the offset after it.
// If they fail, they set err and report false.
type scanner struct {
	data    []byte
	depth   int
	members int

	err   *Error // reason why the scan stopped
	shape *Error // first error that does not stop the scan; the id after it can still be read

	spill   []name       // names of unfinished objects that do not fit in their nameSets
	decoded []byte       // names without their escapes
	table   []uint32     // used by repeat
	seed    maphash.Seed // used by repeat
}

func newScanner(data []byte, l Limits) scanner {
	return scanner{data: data, depth: l.depth(), members: l.members()}
}

func (s *scanner) fail(i int, what string) (int, bool) {
	s.err = expected(ParseError, s.data, i, what)
	return i, false
}

// document scans one value, with white space around it. If the value is an object, document stores
// its members in index, and the members of its params or result in inner. Both may be nil.
func (s *scanner) document(index, inner *Members) *Error {
	if len(s.data) > math.MaxInt32 {
		return Errorf(ParseError, "expected at most 2 GiB, found %d bytes", len(s.data))
	}
	i := SkipSpace(s.data, 0)
	var ok bool
	if i < len(s.data) && s.data[i] == '{' {
		i, ok = s.object(i, 1, index, inner)
	} else {
		i, ok = s.value(i, 0, nil)
	}
	if ok {
		if i = SkipSpace(s.data, i); i < len(s.data) {
			s.fail(i, "the end of the input")
		}
	}
	if s.err != nil {
		return s.err
	}
	return s.shape
}

// value scans the value at i. depth is the number of arrays and objects around it.
func (s *scanner) value(i, depth int, index *Members) (int, bool) {
	if i >= len(s.data) {
		return s.fail(i, "a value")
	}
	switch c := s.data[i]; c {
	case '"':
		end, _, fault := scanString(s.data, i)
		if fault != "" {
			return s.fail(end, fault)
		}
		return end, true
	case '{':
		return s.object(i, depth+1, index, nil)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		if c == '-' || isDigit(c) {
			return s.number(i)
		}
		return s.fail(i, "a value")
	}
}

// object scans the object at i. depth is the depth of the object itself.
func (s *scanner) object(i, depth int, index, inner *Members) (int, bool) {
	if depth > s.depth {
		return s.tooDeep(i)
	}
	i = SkipSpace(s.data, i+1)
	if i < len(s.data) && s.data[i] == '}' {
		return i + 1, true
	}
	set := nameSet{base: len(s.spill)}
	for {
		start, end, n, ok := s.memberName(i, &set)
		if !ok {
			return end, false
		}
		if i, ok = s.colon(end); !ok {
			return i, false
		}
		var child *Members
		if inner != nil && s.holdsMembers(n) {
			child = inner
			child.reset()
		}
		from := i
		if i, ok = s.value(i, depth, child); !ok {
			return i, false
		}
		if index != nil {
			index.add(start, end, from, i, n.length&inDecoded != 0)
		}
		i = SkipSpace(s.data, i)
		if i < len(s.data) && s.data[i] == ',' {
			i = SkipSpace(s.data, i+1)
			continue
		}
		if i >= len(s.data) || s.data[i] != '}' {
			return s.fail(i, "',' or '}' after a member")
		}
		if n, found := s.closeNames(&set); found {
			s.repeated(n)
		}
		return i + 1, true
	}
}

// memberName scans the member name at i and adds it to set.
func (s *scanner) memberName(i int, set *nameSet) (start, end int, n name, ok bool) {
	if i >= len(s.data) || s.data[i] != '"' {
		s.fail(i, "a member name in quotes")
		return i, i, n, false
	}
	end, escaped, fault := scanString(s.data, i)
	if fault != "" {
		s.fail(end, fault)
		return i, end, n, false
	}
	if set.count >= s.members {
		s.err = Errorf(InvalidRequest, "offset %d: expected at most %d members in an object, found more", i, s.members)
		return i, end, n, false
	}
	n = s.name(i, end, escaped)
	if !s.add(set, n) {
		s.repeated(n)
	}
	return i, end, n, true
}

// colon scans the colon after a name, and white space around it.
func (s *scanner) colon(i int) (int, bool) {
	if i = SkipSpace(s.data, i); i >= len(s.data) || s.data[i] != ':' {
		return s.fail(i, "':' after a member name")
	}
	return SkipSpace(s.data, i+1), true
}

// holdsMembers reports whether n is the name of the envelope member whose members are indexed:
// params or result.
func (s *scanner) holdsMembers(n name) bool {
	text := s.text(n)
	return string(text) == "params" || string(text) == "result"
}

// repeated records an error: n occurs twice in one object.
func (s *scanner) repeated(n name) {
	if s.shape != nil {
		return
	}
	text := s.text(n)
	if len(text) > 64 {
		text = text[:64]
	}
	where := ""
	if n.length&inDecoded == 0 {
		where = fmt.Sprintf("offset %d: ", n.offset-1)
	}
	s.shape = Errorf(InvalidRequest, "%sexpected each name once in an object, found %q twice", where, text)
}

func (s *scanner) array(i, depth int) (int, bool) {
	if depth > s.depth {
		return s.tooDeep(i)
	}
	i = SkipSpace(s.data, i+1)
	if i < len(s.data) && s.data[i] == ']' {
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = s.value(i, depth, nil); !ok {
			return i, false
		}
		i = SkipSpace(s.data, i)
		if i >= len(s.data) || s.data[i] != ',' && s.data[i] != ']' {
			return s.fail(i, "',' or ']' after an element")
		}
		if s.data[i] == ']' {
			return i + 1, true
		}
		i = SkipSpace(s.data, i+1)
	}
}

func (s *scanner) tooDeep(i int) (int, bool) {
	s.err = Errorf(ParseError, "offset %d: expected at most %d arrays and objects inside each other, found more", i, s.depth)
	return i, false
}

func (s *scanner) literal(i int, text string) (int, bool) {
	if len(s.data)-i < len(text) || string(s.data[i:i+len(text)]) != text {
		return s.fail(i, text)
	}
	return i + len(text), true
}

// number scans the number at i: -? (0 | [1-9][0-9]*) (.[0-9]+)? ([eE][+-]?[0-9]+)?
func (s *scanner) number(i int) (int, bool) {
	data := s.data
	if data[i] == '-' {
		i++
	}
	ok := true
	if i < len(data) && data[i] == '0' {
		i++
	} else if i, ok = s.digits(i); !ok {
		return i, false
	}
	if i < len(data) && data[i] == '.' {
		if i, ok = s.digits(i + 1); !ok {
			return i, false
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i, true
}

// digits scans one or more digits.
func (s *scanner) digits(i int) (int, bool) {
	start := i
	for i < len(s.data) && isDigit(s.data[i]) {
		i++
	}
	if i == start {
		return s.fail(i, "a digit")
	}
	return i, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
