package cases

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v3"
)

// A condition restricts a value. All its parts must be true.
type condition struct {
	equals   []any // at most one element
	contains []any
	lacks    []any
	matches  []string
	at       []pointed
	absent   bool
}

// pointed is a condition on the value at a JSON Pointer.
type pointed struct {
	pointer string
	parts   []string
	condition
}

// condition returns a function that reads a condition. A mapping holds the parts of a condition;
// any other value must equal the tested value.
func (p *parser) condition(c *condition) func(*yaml.Node) error {
	return func(n *yaml.Node) error { return p.conditionAt(c, n, 0) }
}

func (p *parser) conditionAt(c *condition, n *yaml.Node, depth int) error {
	if depth > maxNesting {
		return p.errorf(n, "it is nested deeper than %d", maxNesting)
	}
	add := func(to *[]any) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			v, err := p.value(n)
			*to = append(*to, v)
			return err
		}
	}
	if n.Kind != yaml.MappingNode {
		return add(&c.equals)(n)
	}
	return p.mapping(n, "a condition (write an object to compare with under equals or contains)", members{
		"equals": add(&c.equals), "contains": add(&c.contains), "lacks": add(&c.lacks),
		"absent": p.bool(&c.absent),
		"matches": func(n *yaml.Node) error {
			return p.list(n, func(n *yaml.Node) error {
				c.matches = append(c.matches, n.Value)
				return p.pattern(n)
			})
		},
		"at": func(n *yaml.Node) error {
			return p.each(n, "at", func(key, value *yaml.Node) error {
				parts, err := p.pointer(key)
				if err != nil {
					return err
				}
				inner := pointed{pointer: key.Value, parts: parts}
				if err := p.conditionAt(&inner.condition, value, depth+1); err != nil {
					return err
				}
				c.at = append(c.at, inner)
				return nil
			})
		},
	})
}

// pattern checks that a node is a valid regular expression.
func (p *parser) pattern(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return p.errorf(n, "expected a regular expression")
	}
	if err := p.placeholders(n); err != nil {
		return err
	}
	if _, err := (vars{}).pattern(n.Value); err != nil {
		return p.errorf(n, "%w", err)
	}
	return nil
}

// check returns a failure for each part of the condition that is false for a value. The argument
// what names the value, and there reports whether it exists. A nil condition is always true.
func (c *condition) check(what string, got any, there bool, v vars) []string {
	switch {
	case c == nil, c.absent && !there:
		return nil
	case c.absent:
		return []string{fmt.Sprintf("%s: expected nothing, got %s", what, shown(got))}
	case !there:
		return []string{what + ": there is nothing"}
	}
	var faults []string
	for _, want := range c.equals {
		if want = v.fill(want); !equal(got, want) {
			faults = append(faults, what+": "+difference(got, want))
		}
	}
	for _, want := range c.contains {
		if want = v.fill(want); !contains(got, want) {
			faults = append(faults, fmt.Sprintf("%s: expected it to contain %s\n%s", what, shown(want), indented("got: ", got)))
		}
	}
	for _, unwanted := range c.lacks {
		faults = append(faults, lacks(what, got, v.fill(unwanted))...)
	}
	for _, source := range c.matches {
		pattern, err := v.pattern(source)
		if err != nil || !pattern.MatchString(plain(got)) {
			faults = append(faults, fmt.Sprintf("%s: expected it to match %s\n%s", what, source, indented("got: ", got)))
		}
	}
	for _, inner := range c.at {
		found, is := at(got, inner.parts)
		faults = append(faults, inner.check(what+" at "+inner.pointer, found, is, v)...)
	}
	return faults
}

// lacks returns a failure for each unwanted part that the value contains. The entries of an
// unwanted list are separate parts.
func lacks(what string, got, unwanted any) (faults []string) {
	entries, several := unwanted.([]any)
	if !several {
		entries = []any{unwanted}
	}
	_, isText := got.(string)
	for _, one := range entries {
		switch one := one.(type) {
		case []any:
			if isText {
				faults = append(faults, lacks(what, got, one)...)
				continue
			}
		case map[string]any:
			if isText { // a text never contains an object, so the condition would always be true
				faults = append(faults, fmt.Sprintf("%s: lacks: expected a part of a text, which the object %s cannot be", what, shown(one)))
				continue
			}
		}
		if contains(got, one) {
			faults = append(faults, fmt.Sprintf("%s: expected it not to contain %s\n%s", what, shown(one), indented("got: ", got)))
		}
	}
	return faults
}

// Limits of the values in failures.
const (
	maxShownLine = 200    // runes
	maxShownDiff = 16_000 // bytes
)

// shown returns the beginning of a value's text.
func shown(v any) string { return cut(short(v), maxShownLine) }

func cut(s string, longest int) string {
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return s
}

// indented returns a value as indented lines, to follow the first line of a failure.
func indented(label string, v any) string {
	lines := strings.Split(strings.TrimSuffix(toYAML(v), "\n"), "\n")
	if len(lines) > 20 {
		lines = append(lines[:20], fmt.Sprintf("… and %d more lines", len(lines)-20))
	}
	for i, line := range lines {
		lines[i] = strings.Repeat(" ", len(label)) + cut(line, maxShownLine)
	}
	return label + strings.TrimLeft(lines[0], " ") + strings.TrimSuffix("\n"+strings.Join(lines[1:], "\n"), "\n")
}

// difference describes how a value differs from the expected one.
func difference(got, want any) string {
	before, after := lines(want), lines(got)
	if len(short(got))+len(short(want)) < 100 && !isLong(before) && !isLong(after) {
		return fmt.Sprintf("expected %s, got %s", shown(want), shown(got))
	}
	text := diff.Diff("want", []byte(before), "got", []byte(after))
	_, body, _ := strings.Cut(string(text), "\n") // omit the first line, which names the diff command
	if len(body) > maxShownDiff {
		body = strings.ToValidUTF8(body[:maxShownDiff], "") + "\n…"
	}
	return "it is not as expected\n" + strings.TrimSuffix(body, "\n")
}

// lines returns a value as lines: a string unchanged, any other value as YAML.
func lines(v any) string {
	if text, ok := v.(string); ok {
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	return toYAML(v)
}

func isLong(lines string) bool { return strings.Count(lines, "\n") > 5 }
