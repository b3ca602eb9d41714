package hostconfig

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

const (
	// maxTOML is the maximum size of a TOML file in bytes. Files of Codex contain only settings,
	// and each is parsed three times.
	maxTOML = 4 << 20
	// maxKeyParts is the maximum number of parts of a key or a table's name. Each part is a level
	// of nesting without a bracket.
	maxKeyParts = 100
	// maxKeys is the maximum number of keys and tables. To find duplicates, go-toml compares each
	// key with all keys of the same table.
	maxKeys = 20_000
)

func parseTOML(data []byte) (*node, error) {
	if len(data) > maxTOML {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxTOML>>20)
	}
	rest, offset := withoutMark(data)
	if !utf8.Valid(rest) {
		return nil, errors.New("the file is not UTF-8")
	}
	if err := checkKeys(rest); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := toml.Unmarshal(rest, &all); err != nil { // also finds duplicate keys
		var where *toml.DecodeError
		if errors.As(err, &where) { // its text contains no value of the file
			row, _ := where.Position()
			return nil, fmt.Errorf("not TOML: line %d: %w", row, err)
		}
		return nil, fmt.Errorf("not TOML: %w", err)
	}
	r := &tomlReader{offset: offset, data: data, root: &node{kind: object, lines: true}, index: map[memberOf]int{}}
	r.table = r.root
	r.p.Reset(rest)
	for r.p.NextExpression() {
		if err := r.expression(r.p.Expression()); err != nil {
			return nil, err
		}
	}
	if err := r.p.Error(); err != nil {
		return nil, fmt.Errorf("not TOML: %w", err)
	}
	return r.root, nil
}

// checkKeys limits the nesting by keys, before recursive code runs. Unmarshal finds all other
// faults.
func checkKeys(data []byte) error {
	var p unstable.Parser
	p.Reset(data)
	keys := 0
	table := 0 // depth of the table of the last header
	for p.NextExpression() {
		n := p.Expression()
		var err error
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, err = keyDepth(n, 0, &keys)
		case unstable.KeyValue:
			err = checkValue(n, table, &keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keyDepth returns the depth of the value of n's key, and adds the key to keys.
func keyDepth(n *unstable.Node, depth int, keys *int) (int, error) {
	if *keys++; *keys > maxKeys {
		return 0, fmt.Errorf("the file has more than %d keys and tables", maxKeys)
	}
	parts := 0
	for names := n.Key(); names.Next(); {
		if parts++; parts > maxKeyParts {
			return 0, fmt.Errorf("a key has more than %d parts", maxKeyParts)
		}
	}
	if depth += parts; depth > maxDepth {
		return 0, fmt.Errorf("the file is nested deeper than %d levels", maxDepth)
	}
	return depth, nil
}

func checkValue(n *unstable.Node, depth int, keys *int) (err error) {
	switch n.Kind {
	case unstable.KeyValue:
		if depth, err = keyDepth(n, depth, keys); err != nil {
			return err
		}
		return checkValue(n.Value(), depth, keys)
	case unstable.Array, unstable.InlineTable: // brackets are already limited
		for items := n.Children(); items.Next(); {
			if err := checkValue(items.Node(), depth, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

type tomlReader struct {
	p      unstable.Parser
	data   []byte
	offset int
	root   *node
	table  *node  // table of the last header
	parent *node  // table that contains table; nil if it has no bytes of its own
	name   string // name of table in parent
	index  map[memberOf]int
}

// A memberOf identifies a member for an index, which avoids a linear search for each of possibly
// many tables.
type memberOf struct {
	table *node
	name  string
}

// get returns the first member with a name in a table.
func (r *tomlReader) get(table *node, name string) *member {
	if i, is := r.index[memberOf{table, name}]; is {
		return &table.members[i]
	}
	return nil
}

func (r *tomlReader) add(table *node, m member) {
	if at := (memberOf{table, m.name}); r.get(table, m.name) == nil {
		r.index[at] = len(table.members)
	}
	table.members = append(table.members, m)
}

// errTOML reports a file that Unmarshal should have refused.
var errTOML = errors.New("not TOML: a table is defined in two ways")

func (r *tomlReader) expression(n *unstable.Node) error {
	switch n.Kind {
	case unstable.KeyValue:
		end, err := r.keyValue(r.table, n)
		if m := r.get(r.parent, r.name); m != nil && m.end > 0 {
			m.end = end
		}
		return err
	case unstable.Table, unstable.ArrayTable:
		return r.header(n)
	}
	return nil
}

// keyValue adds the member of a key to a table, and returns the end of its value.
func (r *tomlReader) keyValue(table *node, n *unstable.Node) (end int, err error) {
	start := int(n.Raw.Offset) + r.offset
	end = start + int(n.Raw.Length)
	keys := n.Key()
	for keys.Next() {
		key := keys.Node()
		at := int(key.Raw.Offset) + r.offset
		if !keys.IsLast() {
			if table = r.child(table, string(key.Data)); table == nil {
				return end, errTOML
			}
			continue
		}
		behind := r.data[at+int(key.Raw.Length):] // text after the key
		value, err := r.value(n.Value(), len(r.data)-len(bytes.TrimLeft(behind, " \t=")), end)
		if err != nil {
			return end, err
		}
		r.add(table, member{name: string(key.Data), start: start, end: end, prefix: string(r.data[start:at]), value: value})
	}
	return end, nil
}

// child returns the table with the given name in a table. It creates a missing one, and returns nil
// if the name has another kind of value.
func (r *tomlReader) child(table *node, name string) *node {
	if m := r.get(table, name); m != nil {
		if m.value.kind == list && len(m.value.items) > 0 {
			return m.value.items[len(m.value.items)-1]
		}
		if m.value.kind != object {
			return nil
		}
		return m.value
	}
	inner := &node{kind: object, lines: true}
	r.add(table, member{name: name, value: inner})
	return inner
}

func (r *tomlReader) header(n *unstable.Node) error {
	table := r.root
	r.parent, r.name = nil, ""
	first := -1
	keys := n.Key()
	for keys.Next() {
		key := keys.Node()
		at, name := int(key.Raw.Offset)+r.offset, string(key.Data)
		if first < 0 {
			first = at
		}
		if !keys.IsLast() {
			if table = r.child(table, name); table == nil {
				return errTOML
			}
			continue
		}
		if n.Kind == unstable.ArrayTable {
			m := r.get(table, name)
			if m == nil {
				r.add(table, member{name: name, value: &node{kind: list}})
				m = r.get(table, name)
			}
			r.table = &node{kind: object, lines: true}
			m.value.items = append(m.value.items, r.table)
			return nil
		}
		isNew := r.get(table, name) == nil
		if r.table = r.child(table, name); r.table == nil {
			return errTOML
		}
		if m := r.get(table, name); isNew {
			start := bytes.LastIndexByte(r.data[:first], '[')
			end := at + int(key.Raw.Length) + bytes.IndexByte(r.data[at+int(key.Raw.Length):], ']') + 1
			m.start, m.end, m.table, m.prefix = start, end, true, string(r.data[first:at])
			r.parent, r.name = table, name
		}
	}
	return nil
}

func (r *tomlReader) value(n *unstable.Node, start, end int) (*node, error) {
	v := &node{start: start, end: end}
	switch n.Kind {
	case unstable.String:
		v.kind, v.text = text, string(n.Data)
	case unstable.Array:
		v.kind = list
		for items := n.Children(); items.Next(); {
			inner, err := r.value(items.Node(), 0, 0) // the range of an item is not needed
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, inner)
		}
	case unstable.InlineTable:
		v.kind = object
		for items := n.Children(); items.Next(); {
			if _, err := r.keyValue(v, items.Node()); err != nil {
				return nil, err
			}
		}
	default:
		v.text = string(r.p.Raw(n.Raw))
	}
	return v, nil
}
