package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"go.yaml.in/yaml/v3"
)

const (
	maxFrontmatter = 64 << 10 // bytes of the frontmatter of one SKILL.md
	maxDepth       = 32       // nesting of lists and objects in it
)

// frontmatter returns the part of a SKILL.md between two lines of three hyphens, as one JSON
// object. It rejects aliases, as JSON has none and a few of them can expand to gigabytes.
func frontmatter(file []byte) (json.RawMessage, error) {
	node, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("the frontmatter: %w", err)
	}
	object, err := encode(node, 0)
	if err != nil {
		return nil, fmt.Errorf("the frontmatter: %w", err)
	}
	return object, nil
}

// parse returns the frontmatter of a file as a YAML node.
func parse(file []byte) (*yaml.Node, error) {
	text := bytes.ReplaceAll(bytes.TrimPrefix(file, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	rest, found := bytes.CutPrefix(text, []byte("---\n"))
	if !found {
		return nil, errors.New(`the file does not begin with the line "---"`)
	}
	text = rest[:min(len(rest), maxFrontmatter+1)]
	end := 0
	for line := range bytes.Lines(text) {
		if string(bytes.TrimRight(line, " \t\n")) == "---" {
			text, found = text[:end], false
			break
		}
		end += len(line)
	}
	if found {
		return nil, fmt.Errorf("no line --- ends it within %d KiB", maxFrontmatter>>10)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("expected names and values, such as name: git-workflow")
	}
	return document.Content[0], nil
}

// encode encodes a YAML node as JSON.
func encode(n *yaml.Node, depth int) (json.RawMessage, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: it is nested deeper than %d", n.Line, maxDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		w, seen := jsonrpc.NewObject(nil), map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" || seen[key.Value] {
				return nil, fmt.Errorf("line %d: expected a name that occurs once", key.Line)
			}
			seen[key.Value] = true
			value, err := encode(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			w.Raw(key.Value, value)
		}
		return w.Bytes(), nil
	case yaml.SequenceNode:
		w := jsonrpc.NewArray(nil)
		for _, element := range n.Content {
			value, err := encode(element, depth+1)
			if err != nil {
				return nil, err
			}
			w.Element(value)
		}
		return w.Bytes(), nil
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, fmt.Errorf("line %d: aliases are not supported", n.Line)
}

// scalar encodes text, a number, a boolean or null as JSON. It encodes other YAML values, such as
// dates, as text.
func scalar(n *yaml.Node) (json.RawMessage, error) {
	var into any
	switch n.ShortTag() {
	case "!!null":
		return json.RawMessage("null"), nil
	case "!!bool":
		into = new(bool)
	case "!!int":
		into = new(int64)
	case "!!float":
		into = new(float64)
	default:
		into = &n.Value
		return schema.Encode(nil, into)
	}
	if err := n.Decode(into); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	if f, is := into.(*float64); is && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
		return nil, fmt.Errorf("line %d: JSON has no number %s", n.Line, n.Value)
	}
	return schema.Encode(nil, into)
}

// same reports whether two JSON values are equal. Dates with and without milliseconds are equal, as
// some libraries add milliseconds.
func same(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	switch {
	case a[0] == '{' && b[0] == '{':
		return sameMembers(a, b) && sameMembers(b, a)
	case a[0] == '[' && b[0] == '[':
		var left, right []json.RawMessage
		jsonrpc.EachElement(a, func(v []byte) bool { left = append(left, v); return true })
		jsonrpc.EachElement(b, func(v []byte) bool { right = append(right, v); return true })
		if len(left) != len(right) {
			return false
		}
		for i := range left {
			if !same(left[i], right[i]) {
				return false
			}
		}
		return true
	case a[0] == '"' && b[0] == '"':
		left, _ := jsonrpc.Unquote(a)
		right, _ := jsonrpc.Unquote(b)
		return left == right || sameDay(left, right) || sameDay(right, left)
	}
	left, errA := strconv.ParseFloat(string(a), 64)
	right, errB := strconv.ParseFloat(string(b), 64)
	return bytes.Equal(a, b) || errA == nil && errB == nil && left == right
}

// sameMembers reports whether b has all members of a.
func sameMembers(a, b json.RawMessage) bool {
	all := true
	jsonrpc.EachMember(a, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		all = same(value, jsonrpc.Get(b, name))
		return all
	})
	return all
}

func sameDay(day, moment string) bool {
	d, err := time.Parse(time.DateOnly, day)
	at, fault := time.Parse(time.RFC3339, moment)
	return err == nil && fault == nil && at.Equal(d)
}
