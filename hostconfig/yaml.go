package hostconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

func parseYAML(data []byte) (*node, error) {
	rest, offset := withoutMark(data)
	if !utf8.Valid(rest) {
		return nil, errors.New("the file is not UTF-8")
	}
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(rest))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file holds more than one document of YAML")
	}
	r := &yamlReader{data: data, lines: linesOf(rest, offset)}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return &node{kind: object, lines: true}, nil // the file is empty
	}
	return r.value(doc.Content[0], false), nil
}

// yamlReader finds the range of each value. The parser returns only the line and column where a
// value begins.
type yamlReader struct {
	data  []byte
	lines []int // offsets of the beginnings of lines
}

// linesOf returns the offsets of lines as the parser counts them. Unlike most programs, the parser
// also ends lines at some Unicode characters.
func linesOf(data []byte, offset int) []int {
	lines := []int{offset}
	for i, r := range string(data) {
		switch r {
		case '\n', '\u0085', '\u2028', '\u2029':
			lines = append(lines, offset+i+utf8.RuneLen(r))
		case '\r':
			if i+1 == len(data) || data[i+1] != '\n' {
				lines = append(lines, offset+i+1)
			}
		}
	}
	return lines
}

// at returns the offset of a value, or -1 if the parser returns no position for it.
func (r *yamlReader) at(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(r.lines) {
		return -1
	}
	at := r.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(r.data) {
			return -1
		}
		_, size := utf8.DecodeRune(r.data[at:])
		at += size
	}
	return at
}

func (r *yamlReader) value(n *yaml.Node, flow bool) *node {
	v := &node{start: r.at(n)}
	isFlow := flow || n.Style&yaml.FlowStyle != 0
	switch n.Kind {
	case yaml.MappingNode:
		v.kind, v.lines = object, !isFlow
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := r.value(n.Content[i], isFlow), r.value(n.Content[i+1], isFlow)
			m := member{name: n.Content[i].Value, start: key.start, end: value.end, value: value}
			if key.kind >= list || key.end == 0 || value.start < key.end || n.Content[i].Anchor != "" {
				m.end = 0
			}
			v.members = append(v.members, m)
			v.end = m.end
		}
	case yaml.SequenceNode:
		v.kind, v.lines = list, !isFlow
		for _, item := range n.Content {
			inner := r.value(item, isFlow)
			v.items = append(v.items, inner)
			v.end = inner.end
		}
	case yaml.ScalarNode:
		if v.text = n.Value; n.ShortTag() == "!!str" {
			v.kind = text
		}
		v.end = r.endOfScalar(n, v.start, flow)
	case yaml.AliasNode:
		v.text = "*" + n.Value
	}
	if (v.kind == object || v.kind == list) && n.Style&yaml.FlowStyle != 0 {
		v.end = r.endOfFlow(v)
	}
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		v.end = 0 // an alias may refer to the value
	}
	return v
}

// endOfFlow returns the offset after the closing bracket of a value, or 0. Only blanks, comments
// and commas may precede the bracket.
func (r *yamlReader) endOfFlow(v *node) int {
	at := v.start + 1
	if len(v.items)+len(v.members) > 0 {
		at = v.end
	}
	if at <= 0 || v.start < 0 {
		return 0
	}
	for at < len(r.data) {
		switch c := r.data[at]; c {
		case ']', '}':
			return at + 1
		case '#':
			end := bytes.IndexByte(r.data[at:], '\n')
			if end < 0 {
				return 0
			}
			at += end
		case ' ', '\t', '\r', '\n', ',':
			at++
		default:
			return 0
		}
	}
	return 0
}

// endOfScalar returns the end of a scalar, or 0 if the end is not easy to find, as for a text of
// several lines.
func (r *yamlReader) endOfScalar(n *yaml.Node, at int, flow bool) int {
	if at < 0 || at >= len(r.data) {
		return 0
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0 && r.data[at] == '"':
		for i := at + 1; i < len(r.data); i++ {
			switch r.data[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0 && r.data[at] == '\'':
		for i := at + 1; i < len(r.data); i++ {
			if r.data[i] != '\'' {
				continue
			}
			if i+1 == len(r.data) || r.data[i+1] != '\'' {
				return i + 1
			}
			i++
		}
	case n.Style&^yaml.FlowStyle == 0 && n.Value != "":
		if end := at + len(n.Value); bytes.HasPrefix(r.data[at:], []byte(n.Value)) && !strings.ContainsAny(n.Value, "\r\n") {
			return end
		}
	}
	return 0
}
