package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName  = 64 // characters of a name that every provider takes
	nameHash = 8  // of them that tell names apart which would be the same
)

// Names makes names of tools that every provider takes, and knows what they stand
// for. It may be used by one goroutine at a time. It forgets nothing; as names do
// not depend on each other, another Names gives the same ones.
type Names struct {
	portable map[string]string // by original name
	original map[string]string // by portable name
}

// NewNames returns Names that knows none.
func NewNames() *Names {
	return &Names{portable: map[string]string{}, original: map[string]string{}}
}

// Portable returns the name for an original one: the same where it matches
// [A-Za-z_][A-Za-z0-9_-]{0,63}, else one that does, with a hash of the original at
// its end. So a name depends on nothing but its original. One that looks as if it
// ended in a hash gets another, so that no tool can be named like another's hash.
func (n *Names) Portable(original string) string {
	if name, known := n.portable[original]; known {
		return name
	}
	name := sanitized(original)
	if name != original || looksHashed(name) {
		name = n.hashed(name, original)
	}
	n.portable[original], n.original[name] = name, original
	return name
}

// hashed puts a hash of the original behind a name; a longer one in the case that
// the first is taken, which takes four billion tries to bring about.
func (n *Names) hashed(name, original string) string {
	sum := sha256.Sum256([]byte(original))
	digits := hex.EncodeToString(sum[:])
	for length := nameHash; ; length++ {
		made := name[:min(len(name), maxName-length-1)] + "_" + digits[:length]
		if _, taken := n.original[made]; !taken {
			return made
		}
	}
}

func looksHashed(name string) bool {
	at := len(name) - nameHash
	return at >= 1 && name[at-1] == '_' && strings.Trim(name[at:], "0123456789abcdef") == ""
}

// IsPortable reports whether every provider takes a name as it is.
func IsPortable(name string) bool { return sanitized(name) == name }

// Original returns what a portable name stands for; "" if it is not known.
func (n *Names) Original(portable string) string { return n.original[portable] }

// sanitized is a name without what not every provider takes.
func sanitized(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || clean[0] == '-' || '0' <= clean[0] && clean[0] <= '9' {
		clean = "_" + clean
	}
	return clean[:min(len(clean), maxName)]
}
