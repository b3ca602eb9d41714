package hostconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFile is the maximum size of a configuration file in bytes. Claude Code's file contains
	// more than settings.
	maxFile = 32 << 20
	// maxDepth is the maximum nesting, because the parsers are recursive.
	maxDepth = 5_000
)

// A syntax is the syntax of a file.
type syntax int

// The syntaxes.
const (
	inJSON syntax = iota // with comments and trailing commas
	inYAML
	inTOML
)

type kind int

const (
	scalar kind = iota // a number, a word, or another value of the syntax
	text
	list
	object
)

// A node is a value of a file with its position.
type node struct {
	kind       kind
	start, end int    // range of its bytes; if end is 0, the range is unknown and the value cannot be replaced
	text       string // content of a text, or a scalar as the file has it
	items      []*node
	members    []member
	lines      bool // whether each member or item begins on its own line, without commas
}

// A member is a name and a value of an object.
type member struct {
	name       string
	start, end int    // from the name to the end of the value; end is 0 if the member has no bytes of its own
	prefix     string // text before the name, such as "server." in TOML
	table      bool   // whether it is a TOML table with a header
	value      *node
}

func (n *node) get(name string) *member {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i]
		}
	}
	return nil
}

// duplicate returns the name of two members with the same name. The name may be empty.
func (n *node) duplicate() (name string, is bool) {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.name] {
			return m.name, true
		}
		seen[m.name] = true
	}
	return "", false
}

// add appends a member.
func (n *node) add(name string, v *node) { n.members = append(n.members, member{name: name, value: v}) }

// hold appends a member to an object, or an item to a list.
func (n *node) hold(name string, v *node) {
	if n.kind == list {
		n.items = append(n.items, v)
	} else {
		n.add(name, v)
	}
}

func newText(s string) *node { return &node{kind: text, text: s} }

func newTexts(words []string) *node {
	n := &node{kind: list}
	for _, w := range words {
		n.items = append(n.items, newText(w))
	}
	return n
}

// same reports whether two values are equal. The order of members is ignored.
func same(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.kind != b.kind || a.text != b.text || len(a.items) != len(b.items) || len(a.members) != len(b.members) {
		return false
	}
	for i := range a.items {
		if !same(a.items[i], b.items[i]) {
			return false
		}
	}
	if len(a.members) == 0 {
		return true
	}
	order := func(n *node) []member {
		return slices.SortedStableFunc(slices.Values(n.members), func(x, y member) int { return strings.Compare(x.name, y.name) })
	}
	x, y := order(a), order(b)
	for i := range x {
		if x[i].name != y[i].name || !same(x[i].value, y[i].value) {
			return false
		}
	}
	return true
}

// replaced returns a copy of n in which the keys of by are replaced by their values.
func replaced(n *node, by map[*node]*node) *node {
	if now := by[n]; now != nil {
		n = now
	}
	if n == nil || n.kind < list {
		return n
	}
	c := &node{kind: n.kind, text: n.text}
	for _, item := range n.items {
		c.items = append(c.items, replaced(item, by))
	}
	for _, m := range n.members {
		c.add(m.name, replaced(m.value, by))
	}
	return c
}

// parse parses a file of the given syntax.
func parse(data []byte, s syntax) (*node, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	depth := 0
	for _, c := range data { // an estimate, because brackets in strings count, too
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxDepth {
			return nil, fmt.Errorf("the file is nested deeper than %d levels", maxDepth)
		}
	}
	switch s {
	case inYAML:
		return parseYAML(data)
	case inTOML:
		return parseTOML(data)
	}
	return parseJSON(data)
}

const byteOrderMark = "\xef\xbb\xbf"

// withoutMark returns data after its byte order mark, and the length of the mark.
func withoutMark(data []byte) (rest []byte, offset int) {
	rest = bytes.TrimPrefix(data, []byte(byteOrderMark))
	return rest, len(data) - len(rest)
}

var errNotObject = errors.New("expected an object with servers in it")

// quoted encodes a text as JSON, which is also valid YAML and TOML.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if r < 0x10000 && !unicode.IsPrint(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// encode encodes a value on one line.
func encode(n *node, s syntax) string {
	var parts []string
	switch n.kind {
	case text:
		return quoted(n.text)
	case list:
		for _, item := range n.items {
			parts = append(parts, encode(item, s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case object:
		for _, m := range n.members {
			parts = append(parts, encodeMember(m.name, encode(m.value, s), s))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.text
}

func encodeMember(name, value string, s syntax) string {
	isWord := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) && unicode.IsLetter(rune(name[0]))
	inQuotes := s == inJSON || !isWord
	if s == inYAML { // without quotes, YAML reads names such as no and null as other values
		inQuotes = inQuotes || (&yaml.Node{Kind: yaml.ScalarNode, Value: name}).ShortTag() != "!!str"
	}
	if inQuotes {
		name = quoted(name)
	}
	if s == inTOML {
		return name + " = " + value
	}
	return name + ": " + value
}
