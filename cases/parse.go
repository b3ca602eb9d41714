package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/pointer"
	"go.yaml.in/yaml/v3"
)

// maxNesting is the largest depth of nested lists and mappings in a file.
const maxNesting = 100

// number matches numbers in JSON.
var number = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// A parser reads one file.
type parser struct {
	before int             // number of lines before the YAML in the file
	known  map[string]bool // names of the placeholders that are defined at the current place; nil if all text is literal
}

// members holds a function for each allowed member of a mapping, which reads its value.
type members map[string]func(*yaml.Node) error

// document parses a text that must contain exactly one YAML document.
func (p *parser) document(text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, more yaml.Node
	switch err := d.Decode(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		return nil, errors.New("it is empty")
	case err != nil:
		return nil, p.moved(err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the first document")
	}
	return first.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// moved converts the line number in an error of the YAML library to a line of the file.
func (p *parser) moved(err error) error {
	text := err.Error()
	found := yamlLine.FindStringSubmatch(text)
	if found == nil || found[1] == "" {
		return err
	}
	line, _ := strconv.Atoi(found[1]) // the pattern matches only digits
	return fmt.Errorf("line %d: %s", line+p.before, text[len(found[0]):])
}

// errorf returns an error with the line of n in the file.
func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", p.line(n), fmt.Errorf(format, args...))
}

func (p *parser) line(n *yaml.Node) int { return n.Line + p.before }

// mapping reads the members of a mapping in the order of the file. An unknown or repeated member is
// an error.
func (p *parser) mapping(n *yaml.Node, what string, m members) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s: expected members (%s)", what, names(m))
	}
	return p.each(n, what, func(key, value *yaml.Node) error {
		read := m[key.Value]
		if read == nil {
			if near := nearest.Name(key.Value, slices.Collect(maps.Keys(m))); near != "" {
				return p.errorf(key, "%s has no member %q; did you mean %q?", what, key.Value, near)
			}
			return p.errorf(key, "%s has no member %q; it has %s", what, key.Value, names(m))
		}
		return read(value)
	})
}

func names(m members) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

// each calls f for each member of a mapping.
func (p *parser) each(n *yaml.Node, what string, f func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s: expected a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			return p.errorf(key, "%s: the name of a member is not text", what)
		case seen[key.Value]:
			return p.errorf(key, "%s has %q twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := f(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// list calls f for each entry of a list, or for a value that is not a list.
func (p *parser) list(n *yaml.Node, f func(*yaml.Node) error) error {
	entries := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		entries = n.Content
	}
	for _, entry := range entries {
		if err := f(entry); err != nil {
			return err
		}
	}
	return nil
}

// string returns a function that reads a string without placeholders.
func (p *parser) string(into *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.Value == "" {
			return p.errorf(n, "expected a text")
		}
		*into = n.Value
		return nil
	}
}

// strings returns a function that reads a list of strings, or a single string.
func (p *parser) strings(into *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return p.list(n, func(entry *yaml.Node) error {
			var s string
			if err := p.string(&s)(entry); err != nil {
				return err
			}
			*into = append(*into, s)
			return nil
		})
	}
}

func (p *parser) bool(into *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.ShortTag() != "!!bool" {
			return p.errorf(n, "expected true or false")
		}
		return n.Decode(into)
	}
}

func (p *parser) duration(into *time.Duration) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		d, err := time.ParseDuration(n.Value)
		if err != nil || d <= 0 || n.Kind != yaml.ScalarNode {
			return p.errorf(n, "expected a time, such as 500ms or 2s")
		}
		*into = d
		return nil
	}
}

// pointer reads a JSON Pointer.
func (p *parser) pointer(n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.ScalarNode {
		return nil, p.errorf(n, "expected a path such as /user/email")
	}
	parts, err := pointer.Split(n.Value)
	if err != nil {
		return nil, p.errorf(n, "%w", err)
	}
	return parts, nil
}

// value reads any value. Its strings may contain placeholders.
func (p *parser) value(n *yaml.Node) (any, error) { return p.valueAt(n, 0) }

func (p *parser) valueAt(n *yaml.Node, depth int) (any, error) {
	if depth > maxNesting {
		return nil, p.errorf(n, "it is nested deeper than %d", maxNesting)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, entry := range n.Content {
			v, err := p.valueAt(entry, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		object := map[string]any{}
		err := p.each(n, "it", func(key, value *yaml.Node) error {
			v, err := p.valueAt(value, depth+1)
			object[key.Value] = v
			return err
		})
		return object, err
	case yaml.ScalarNode:
		return p.scalar(n)
	}
	return nil, p.errorf(n, "aliases (*) are not supported; write the value out")
}

func (p *parser) scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		if number.MatchString(n.Value) {
			return json.Number(n.Value), nil
		}
		var i int64
		if n.Decode(&i) == nil { // numbers such as 0x10 and 1_000
			return json.Number(strconv.FormatInt(i, 10)), nil
		}
		var f float64
		if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, p.errorf(n, "%s is not a JSON number", n.Value)
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
	case "!!str", "!!timestamp":
		return n.Value, p.placeholders(n)
	}
	return nil, p.errorf(n, "the tag %s is not supported", n.ShortTag())
}

// placeholders returns an error if a string contains an undefined placeholder.
func (p *parser) placeholders(n *yaml.Node) error {
	if p.known == nil { // all text is literal
		return nil
	}
	for _, found := range placeholder.FindAllStringSubmatch(n.Value, -1) {
		if !p.known[found[1]] {
			return p.errorf(n, "nothing before this captures {{%s}}", found[1])
		}
	}
	return nil
}
