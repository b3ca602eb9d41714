package cases

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A mask selects the parts of a snapshot that vary: the value at a pointer, or the matches of a
// pattern in strings.
type mask struct {
	parts   []string // parts of the pointer; "*" matches every member or entry; nil for a pattern
	pattern *regexp.Regexp
}

// masks returns a function that reads masks. A mask that begins with a slash is a pointer; any
// other is a regular expression.
func (p *parser) masks(into *[]mask) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return p.list(n, func(n *yaml.Node) error {
			var m mask
			var err error
			switch {
			case n.Kind != yaml.ScalarNode || n.Value == "":
				err = p.errorf(n, "mask: expected a path such as /structuredContent/id, or a regular expression")
			case strings.HasPrefix(n.Value, "/"):
				m.parts, err = p.pointer(n)
			default:
				if m.pattern, err = regexp.Compile(n.Value); err != nil {
					err = p.errorf(n, "mask: %w", err)
				} else if m.pattern.MatchString("") {
					err = p.errorf(n, "mask: %s matches the empty text", n.Value)
				}
			}
			*into = append(*into, m)
			return err
		})
	}
}

// masked is the text that replaces a masked part.
const masked = "{{masked}}"

// A masking replaces the varying parts of a value.
type masking struct {
	masks []mask
	fixed *strings.Replacer // replaces the paths of folders by their placeholders
}

func newMasking(masks []mask, v vars) *masking {
	var pairs []string
	for _, name := range []string{placeDir, placeHere} {
		if folder, _ := v[name].(string); len(folder) > 1 {
			pairs = append(pairs, folder, "{{"+name+"}}")
		}
	}
	return &masking{masks, strings.NewReplacer(pairs...)}
}

// apply returns v with all masked parts replaced.
func (m *masking) apply(v any) any {
	for _, mask := range m.masks {
		if mask.parts != nil {
			v = m.pointed(v, mask.parts)
		}
	}
	return m.texts(v)
}

// pointed replaces the values at a pointer.
func (m *masking) pointed(v any, parts []string) any {
	if len(parts) == 0 {
		return masked
	}
	switch in := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(in))
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out[name] = in[name]
			if parts[0] == "*" || parts[0] == name {
				out[name] = m.pointed(in[name], parts[1:])
			}
		}
		return out
	case []any:
		out := make([]any, len(in))
		for i, entry := range in {
			out[i] = entry
			if parts[0] == "*" || parts[0] == fmt.Sprint(i) {
				out[i] = m.pointed(entry, parts[1:])
			}
		}
		return out
	}
	return v
}

// texts replaces the matches of patterns, and the paths of folders, in all strings of v.
func (m *masking) texts(v any) any {
	switch in := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(in))
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out[name] = m.texts(in[name])
		}
		return out
	case []any:
		out := make([]any, len(in))
		for i, entry := range in {
			out[i] = m.texts(entry)
		}
		return out
	case string:
		in = m.fixed.Replace(in)
		for _, mask := range m.masks {
			if mask.pattern != nil {
				in = mask.pattern.ReplaceAllLiteralString(in, masked)
			}
		}
		return in
	}
	return v
}
