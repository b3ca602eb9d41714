package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// fewNames is the number of names of one object that are compared with each other; more are hashed.
const fewNames = 16

// inDecoded marks the length of a name in scanner.decoded.
const inDecoded = 1 << 31

// name is a member name without its quotes. Names of up to eight bytes are equal if the structs
// are, except names in decoded.
type name struct {
	head   uint64 // the first eight bytes
	offset uint32 // in scanner.data, or in scanner.decoded
	length uint32 // in bytes, with the flag inDecoded
}

// nameSet holds the names of one open object. It is on the stack of the function that scans the
// object; further names are in scanner.spill.
type nameSet struct {
	seen  uint64 // a bit for each name, chosen by a cheap hash; without the bit there is no such name
	count int
	base  int // start of this object's names in scanner.spill
	few   [fewNames]name
}

// name returns the name of the quoted member name at data[start:end].
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

// add adds n to set and reports whether it was absent. It does not detect repeats among more than
// fewNames names: closeNames does.
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

// closeNames finds a repeat in an object with many names and releases them.
func (s *scanner) closeNames(set *nameSet) (repeat name, found bool) {
	if set.count <= fewNames {
		return name{}, false
	}
	s.spill = append(s.spill, set.few[:]...)
	repeat, found = s.repeat(s.spill[set.base:])
	s.spill = s.spill[:set.base]
	return repeat, found
}

// repeat returns a name that occurs twice in many. The hash is seeded, so that a peer cannot choose
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
