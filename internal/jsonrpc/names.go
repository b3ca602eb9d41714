package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// fewNames is the number of names of one object that are compared with each other. More names are
// hashed.
const fewNames = 16

// inDecoded is a flag in name.length: the name is in scanner.decoded.
const inDecoded = 1 << 31

// name is a member name without its quotes. Two names of at most eight bytes that are not in
// scanner.decoded are equal if head and length are equal.
type name struct {
	head   uint64 // the first eight bytes
	offset uint32 // offset in scanner.data, or in scanner.decoded
	length uint32 // length in bytes, with the flag inDecoded
}

// nameSet contains the names of an object that is being scanned. It is on the stack of the function
// that scans the object. Names beyond fewNames are in scanner.spill.
type nameSet struct {
	seen  uint64 // has a bit for each name, chosen by a cheap hash; if the bit of a name is not set, the name is absent
	count int
	base  int // index in scanner.spill at which this object's names begin
	few   [fewNames]name
}

// name returns the name in quotes at data[start:end].
func (s *scanner) name(start, end int, escaped bool) name {
	text, n := s.data[start+1:end-1], name{offset: uint32(start + 1)}
	if escaped {
		decoded, _ := Unquote(s.data[start:end])
		n.offset, n.length = uint32(len(s.decoded)), inDecoded
		s.decoded = append(s.decoded, decoded...)
		text = s.decoded[n.offset:]
	}
	n.length |= uint32(len(text))
	if !escaped && start+9 <= len(s.data) {
		n.head = binary.LittleEndian.Uint64(s.data[start+1:])
		if len(text) < 8 {
			n.head &= 1<<(8*len(text)) - 1
		}
		return n
	}
	var head [8]byte
	copy(head[:], text)
	n.head = binary.LittleEndian.Uint64(head[:])
	return n
}

// text returns the characters of n.
func (s *scanner) text(n name) []byte {
	if n.length&inDecoded != 0 {
		return s.decoded[n.offset : n.offset+n.length&^inDecoded]
	}
	return s.data[n.offset : n.offset+n.length]
}

func (s *scanner) equal(a, b name) bool {
	return a.head == b.head && a.length&^inDecoded == b.length&^inDecoded &&
		(a.length&^inDecoded <= 8 || bytes.Equal(s.text(a), s.text(b)))
}

// add adds n to set and reports whether n was absent. It does not detect repeated names beyond
// fewNames; closeNames does.
func (s *scanner) add(set *nameSet, n name) bool {
	set.count++
	if set.count > fewNames {
		s.spill = append(s.spill, n)
		return true
	}
	bit := uint64(1) << ((n.head*0x9e3779b97f4a7c15 + uint64(n.length)) >> 58)
	if set.seen&bit != 0 {
		for i := range set.few[:set.count-1] {
			if s.equal(set.few[i], n) {
				return false
			}
		}
	}
	set.seen |= bit
	set.few[set.count-1] = n
	return true
}

// closeNames looks for a repeated name in an object with more than fewNames names, and removes the
// names of the object from spill.
func (s *scanner) closeNames(set *nameSet) (repeat name, found bool) {
	if set.count <= fewNames {
		return name{}, false
	}
	s.spill = append(s.spill, set.few[:]...)
	repeat, found = s.repeat(s.spill[set.base:])
	s.spill = s.spill[:set.base]
	return repeat, found
}

// repeat returns a name that occurs twice in many. It seeds the hash, so that a peer cannot choose
// colliding names.
func (s *scanner) repeat(many []name) (name, bool) {
	size := 1 << bits.Len(uint(2*len(many)))
	if len(s.table) < size {
		s.table = make([]uint32, size)
		s.seed = maphash.MakeSeed()
	}
	table := s.table[:size]
	clear(table)
	for i, n := range many {
		slot := int(maphash.Bytes(s.seed, s.text(n))) & (size - 1)
		for ; table[slot] != 0; slot = (slot + 1) & (size - 1) {
			if s.equal(many[table[slot]-1], n) {
				return n, true
			}
		}
		table[slot] = uint32(i + 1)
	}
	return name{}, false
}
