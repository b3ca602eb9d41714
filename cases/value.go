package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// In this package a JSON value is nil, a bool, a string, a json.Number, a []any or a
// map[string]any.

// decode parses valid JSON. Numbers keep their spelling.
func decode(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// weight returns an estimate of the memory in bytes that decoded JSON takes. Many small values take
// several times the length of their JSON.
func weight(raw []byte) int {
	n := len(raw)
	for _, before := range []string{"{", "[", ","} {
		n += valueOverhead * bytes.Count(raw, []byte(before))
	}
	return n
}

// equal reports whether two JSON values are equal. It ignores the order of members and the spelling
// of numbers.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			other, there := b[name]
			if !there || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(string(a), string(b))
	}
	switch b.(type) {
	case map[string]any, []any:
		return false // comparing them with == would panic
	}
	return a == b
}

// equalNumbers reports whether two numbers are equal. It compares integers exactly and other
// numbers as float64.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := new(big.Int).SetString(a, 10)
	y, both := new(big.Int).SetString(b, 10)
	if ok && both {
		return x.Cmp(y) == 0
	}
	f, err := strconv.ParseFloat(a, 64)
	g, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && f == g
}

// contains reports whether got contains want, by these rules:
//
//   - A string contains its substrings, the text of a number that occurs in it, and a list of such
//     values.
//   - An object contains an object if it has all members of that object.
//   - A list contains a value if one of its entries does, and a list if it contains each entry.
//
// Inside objects and lists, strings must be equal.
func contains(got, want any) bool {
	if text, ok := got.(string); ok {
		switch want := want.(type) {
		case string:
			return strings.Contains(text, want)
		case []any: // a list of substrings
			return !slices.ContainsFunc(want, func(w any) bool { return !contains(got, w) })
		case map[string]any:
			return false
		}
		return strings.Contains(text, plain(want)) // a word such as 500 without quotes is a number in the file
	}
	return includes(got, want)
}

func includes(got, want any) bool {
	switch got := got.(type) {
	case map[string]any:
		object, ok := want.(map[string]any)
		if !ok {
			return false
		}
		for name, w := range object {
			g, there := got[name]
			if !there || !includes(g, w) {
				return false
			}
		}
		return true
	case []any:
		entries, ok := want.([]any)
		if !ok {
			entries = []any{want}
		}
		for _, w := range entries {
			if !slices.ContainsFunc(got, func(g any) bool { return includes(g, w) }) {
				return false
			}
		}
		return true
	}
	return equal(got, want)
}

// at returns the value at a JSON Pointer that is split into parts. The result is false if there is
// no such value.
func at(v any, parts []string) (any, bool) {
	for _, part := range parts {
		switch in := v.(type) {
		case map[string]any:
			next, there := in[part]
			if !there {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) || part != strconv.Itoa(i) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// short returns a value as one line of JSON.
func short(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// toYAML returns a value as readable YAML. Members are sorted, and strings of several lines are
// blocks.
func toYAML(v any) string {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(node(v)); err != nil {
		return short(v) + "\n" // JSON is valid YAML
	}
	_ = e.Close() // writing to a buffer cannot fail
	return b.String()
}

func node(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, text(name), node(v[name]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, entry := range v {
			n.Content = append(n.Content, node(entry))
		}
		return n
	case string:
		return text(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(string(v), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(v)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// text returns a YAML node for a string. A string of several lines becomes a block if all its
// characters are visible.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	unshown := func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	}
	switch {
	case s == "<<", strings.ContainsFunc(s, unshown): // without quotes, << would merge a mapping
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
		if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.Contains(s, " \n") || strings.HasSuffix(s, "\n\n") {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}
