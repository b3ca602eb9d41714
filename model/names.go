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
// for. It may be used by one goroutine at a time.
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
// its end. So a name depends on nothing but its original.
func (n *Names) Portable(original string) string {
	if name, known := n.portable[original]; known {
		return name
	}
	name := sanitized(original)
	if name != original || n.original[name] != "" {
		sum := sha256.Sum256([]byte(original))
		name = name[:min(len(name), maxName-nameHash-1)] + "_" + hex.EncodeToString(sum[:])[:nameHash]
	}
	n.portable[original], n.original[name] = name, original
	return name
}

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
