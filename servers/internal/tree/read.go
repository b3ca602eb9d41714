package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Limits of an input.
const (
	maxDepth  = 200       // depth of arrays and objects
	maxValues = 4_000_000 // values of one input
)

var (
	errDeep = fmt.Errorf("it is nested deeper than %d", maxDepth)
	errMany = fmt.Errorf("it has more than %d values", maxValues)
)

// reading counts the values of one input.
type reading struct{ values int }

// enter counts one more value.
func (r *reading) enter(depth int) error {
	r.values++
	switch {
	case depth > maxDepth:
		return errDeep
	case r.values > maxValues:
		return errMany
	}
	return nil
}

// Parse parses JSON or YAML. If an input begins with { or [ and is neither, the error is that of
// the JSON parser.
func Parse(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	start := bytes.TrimLeft(text, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return parseYAML(text)
	}
	value, err := ParseJSON(text)
	if err != nil {
		if flow, fault := parseYAML(text); fault == nil {
			return flow, nil
		}
	}
	return value, err
}

// ParseJSON parses one JSON value. A duplicate name in an object is an error.
func ParseJSON(text []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	r := &reading{}
	value, err := r.json(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("there is text after the JSON value")
	}
	return value, nil
}

func (r *reading) json(d *jsontext.Decoder, depth int) (any, error) {
	if err := r.enter(depth); err != nil {
		return nil, err
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return Number(token.String()), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := r.json(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	}
	o := NewObject()
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := r.json(d, depth+1)
		if err != nil {
			return nil, err
		}
		o.Set(key, v)
	}
	_, err = d.ReadToken()
	return o, err
}

func parseYAML(text []byte) (any, error) {
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&document); {
	case err == io.EOF || err == nil && len(document.Content) == 0:
		return nil, errors.New("it is empty")
	case err != nil:
		return nil, err
	}
	if err := d.Decode(&more); err != io.EOF {
		return nil, errors.New("there is text after the first document")
	}
	return (&reading{}).yaml(document.Content[0], 0)
}

func (r *reading) yaml(n *yaml.Node, depth int) (any, error) {
	if err := r.enter(depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.yaml(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []any{}
		for _, e := range n.Content {
			v, err := r.yaml(e, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	return scalar(n)
}

// mapping reads an object. Its own members override those merged with the key <<.
func (r *reading) mapping(n *yaml.Node, depth int) (any, error) {
	o, merged := NewObject(), []any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: the name of a member is not text", key.Line)
		}
		v, err := r.yaml(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		switch {
		case key.ShortTag() == "!!merge":
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			merged = append(merged, list...)
		case o.Has(key.Value):
			return nil, fmt.Errorf("line %d: %q occurs twice", key.Line, key.Value)
		default:
			o.Set(key.Value, v)
		}
	}
	for _, m := range merged {
		more, _ := m.(*Object)
		for _, name := range more.Names() {
			if !o.Has(name) {
				o.Set(name, more.Get(name))
			}
		}
	}
	return o, nil
}

// scalar reads a scalar. A value that JSON cannot express becomes its spelling.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		if plain := jsontext.Value(n.Value); plain.IsValid() && !strings.ContainsAny(n.Value, "tfn\"{[ ") {
			return Number(n.Value), nil
		}
		var i int64
		if n.Decode(&i) == nil {
			return Number(strconv.FormatInt(i, 10)), nil
		}
		var f float64
		if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return n.Value, nil
		}
		return Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return n.Value, nil
}
