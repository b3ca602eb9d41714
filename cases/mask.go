package cases

import (
	"fmt"
	"regexp"
	"strconv"
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
				}
			}
			*into = append(*into, m)
			return err
		})
	}
}

// A masking replaces what differs each time: the same value by the same text, wherever it stands.
type masking struct {
	masks  []mask
	fixed  *strings.Replacer // folders
	values map[string]string // what stands in the place of a value
}

func newMasking(masks []mask, v vars) *masking {
	m := &masking{masks: masks, values: map[string]string{}}
	var pairs []string
	for _, name := range []string{placeDir, placeHere} {
		if folder, _ := v[name].(string); len(folder) > 1 {
			pairs = append(pairs, folder, "{{"+name+"}}")
		}
	}
	m.fixed = strings.NewReplacer(pairs...)
	return m
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

func (m *masking) instead(v any) string {
	of := short(v)
	if m.values[of] == "" {
		m.values[of] = "{{masked-" + strconv.Itoa(len(m.values)+1) + "}}"
	}
	return m.values[of]
}

// pointed masks what a pointer leads to.
func (m *masking) pointed(v any, parts []string) any {
	if len(parts) == 0 {
		return m.instead(v)
	}
	switch in := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(in))
		for _, name := range sortedNames(in) {
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
		for _, name := range sortedNames(in) {
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
				in = mask.pattern.ReplaceAllStringFunc(in, func(found string) string {
					if found == "" {
						return ""
					}
					return m.instead(found)
				})
			}
		}
		return in
	}
	return v
}
