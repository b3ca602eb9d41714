package cases

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A mask says what of a snapshot differs each time: what a pointer leads to, or what a pattern matches in texts.
type mask struct {
	parts   []string // "*" is every member or entry
	pattern *regexp.Regexp
}

// masks reads what differs: pointers begin with a slash, all else are regular expressions.
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
					err = p.errorf(n, "mask: %s matches where there is nothing", n.Value)
				}
			}
			*into = append(*into, m)
			return err
		})
	}
}

// masked stands in the place of what is masked.
const masked = "{{masked}}"

// A masking replaces what differs each time.
type masking struct {
	masks []mask
	fixed *strings.Replacer // folders
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

// apply returns a value in which all that is masked is replaced.
func (m *masking) apply(v any) any {
	for _, mask := range m.masks {
		if mask.parts != nil {
			v = m.pointed(v, mask.parts)
		}
	}
	return m.texts(v)
}

// pointed masks what a pointer leads to.
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

// texts masks what patterns match in texts, and folders.
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
