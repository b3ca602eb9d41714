package settings

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/uritemplate"
)

// A Kind is a kind of feature that servers offer.
type Kind string

// The kinds. Resources are identified by their URIs, and resource templates count as resources.
const (
	ToolKind     Kind = "tool"
	PromptKind   Kind = "prompt"
	ResourceKind Kind = "resource"
)

// Patterns select features of servers. For example, read_* matches tools, prompt:review_* matches
// prompts, and resource:file:///docs/* matches resources and templates by their URIs. tag:WORD
// matches every feature with the tag.
type Patterns struct{ only, hide []pattern }

type pattern struct {
	kind     Kind // empty for a pattern that matches tags
	text     string
	resolved string                // pattern for the URIs as servers resolve them
	template *uritemplate.Template // of a resource template; may be nil
}

// tagWord is the prefix of a pattern for tags.
const tagWord = "tag"

// NewPatterns parses patterns. If only has patterns of a kind, it selects the features of that kind
// that match one of them; otherwise it selects all of that kind. hide then removes features. The
// error names a malformed pattern.
func NewPatterns(only, hide []string) (*Patterns, error) {
	p := &Patterns{}
	for at, list := range map[string][]string{"only": only, "hide": hide} {
		for i, text := range list {
			one := parsePattern(text)
			if _, err := path.Match(one.text, ""); err != nil {
				return nil, fmt.Errorf("%s[%d]: %q is not a valid pattern: %w", at, i, text, err)
			}
			if at == "only" {
				p.only = append(p.only, one)
			} else {
				p.hide = append(p.hide, one)
			}
		}
	}
	return p, nil
}

func parsePattern(text string) pattern {
	word, rest, found := strings.Cut(text, ":")
	switch {
	case found && word == tagWord:
		return pattern{text: unslashed(rest)}
	case found && Kind(word) == ResourceKind:
		one := pattern{kind: ResourceKind, text: unslashed(rest), resolved: unslashed(uritemplate.Resolved(rest))}
		if strings.Contains(rest, "{") {
			one.template, _ = uritemplate.Parse(rest) // a malformed template matches as text
		}
		return one
	case found && Kind(word) == PromptKind, found && Kind(word) == ToolKind:
		return pattern{kind: Kind(word), text: unslashed(rest)}
	}
	return pattern{kind: ToolKind, text: unslashed(text)}
}

// unslashed replaces slashes, so that * also matches across them. URIs have slashes, and names may
// have them.
func unslashed(name string) string { return strings.ReplaceAll(name, "/", "\x00") }

// Pick reports whether the patterns select a feature. tags holds all its tags, and names all its
// names. A resource must match by its URI both as written and as servers resolve it.
func (p *Patterns) Pick(kind Kind, tags []string, names ...string) bool {
	if picked := p.pick(kind, tags, names); !picked || kind != ResourceKind {
		return picked
	}
	resolved := make([]string, len(names))
	for i, name := range names {
		resolved[i] = uritemplate.Resolved(name)
	}
	return slices.Equal(resolved, names) || p.pick(kind, tags, resolved)
}

func (p *Patterns) pick(kind Kind, tags, names []string) bool {
	matches := func(one pattern) bool {
		return slices.ContainsFunc(names, func(name string) bool { return one.matches(kind, name, tags) })
	}
	speaks := func(one pattern) bool { return one.kind == kind || one.kind == "" }
	return (!slices.ContainsFunc(p.only, speaks) || slices.ContainsFunc(p.only, matches)) && !slices.ContainsFunc(p.hide, matches)
}

func (one *pattern) matches(kind Kind, name string, tags []string) bool {
	switch {
	case one.kind == "":
		return slices.ContainsFunc(tags, func(tag string) bool { ok, _ := path.Match(one.text, unslashed(tag)); return ok })
	case one.kind != kind:
		return false
	case one.template != nil:
		if _, ok := one.template.Match(name); ok {
			return true
		}
	}
	name = unslashed(name)
	ok, _ := path.Match(one.text, name) // NewPatterns checked the pattern
	if !ok && one.resolved != one.text {
		ok, _ = path.Match(one.resolved, name)
	}
	return ok
}

// Patterns returns the patterns of the profile.
func (p *Profile) Patterns() *Patterns { return mustPatterns(p.Only, p.Hide) }

// A Selection determines which features of a server are offered, and their tags, by the settings of
// the server.
type Selection struct {
	server    *Server
	patterns  *Patterns
	templates map[string]*uritemplate.Template // of Server.Resources
	resolved  map[string]string                // URIs of Server.Resources, by resolved URI
	named     bool                             // whether to offer only tools and prompts that the settings name
}

// Select returns the selection for a server. The server may have no settings.
func (s *Settings) Select(server string) *Selection {
	one := s.Servers[server]
	picks := &Selection{server: &one, patterns: mustPatterns(one.Only, one.Hide), templates: map[string]*uritemplate.Template{}, resolved: map[string]string{}, named: s.Names == "map"}
	for uri := range one.Resources {
		picks.resolved[uritemplate.Resolved(uri)] = uri
		if strings.Contains(uri, "{") {
			if t, err := uritemplate.Parse(uri); err == nil {
				picks.templates[uri] = t
			}
		}
	}
	return picks
}

// mustPatterns parses the patterns of settings that [Parse] checked.
func mustPatterns(only, hide []string) *Patterns {
	p, err := NewPatterns(only, hide)
	if err != nil {
		panic(err)
	}
	return p
}

// All reports whether the server offers all its features.
func (p *Selection) All() bool {
	for e := range p.server.entries {
		if e.Hide {
			return false
		}
	}
	return !p.named && len(p.patterns.only)+len(p.patterns.hide) == 0
}

// Tagged reports whether the server or any of its features has a tag.
func (p *Selection) Tagged() bool {
	for e := range p.server.entries {
		if len(e.Tags) > 0 {
			return true
		}
	}
	return len(p.server.Tags) > 0
}

// entries returns the settings of a feature, found by the server's name or URI of it. For a
// resource it also returns the settings under other spellings of the URI and under templates that
// match it.
func (p *Selection) entries(kind Kind, name string) (all []Entry) {
	switch kind {
	case ToolKind:
		all = append(all, p.server.Tools[name].Entry)
	case PromptKind:
		all = append(all, p.server.Prompts[name])
	case ResourceKind:
		all = append(all, p.server.Resources[name])
		resolved := uritemplate.Resolved(name)
		if uri, ok := p.resolved[resolved]; ok && uri != name {
			all = append(all, p.server.Resources[uri])
		}
		for uri, t := range p.templates {
			_, ok := t.Match(name)
			if !ok && resolved != name {
				_, ok = t.Match(resolved)
			}
			if ok && uri != name {
				all = append(all, p.server.Resources[uri])
			}
		}
	}
	return all
}

// Tags returns the tags of the server and of one feature, sorted.
func (p *Selection) Tags(kind Kind, name string) []string {
	tags := slices.Clone(p.server.Tags)
	for _, e := range p.entries(kind, name) {
		tags = append(tags, e.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Offers reports whether the server offers a feature.
func (p *Selection) Offers(kind Kind, name string) bool {
	entries := p.entries(kind, name)
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Hide }) {
		return false
	}
	if p.named && kind != ResourceKind && entries[0].Name == "" {
		return false
	}
	return p.patterns.Pick(kind, p.Tags(kind, name), name)
}

// entries iterates over the settings of all tools, prompts and resources of the server, in no
// particular order.
func (s *Server) entries(yield func(Entry) bool) {
	for _, t := range s.Tools {
		if !yield(t.Entry) {
			return
		}
	}
	for _, all := range []map[string]Entry{s.Prompts, s.Resources} {
		for _, e := range all {
			if !yield(e) {
				return
			}
		}
	}
}

// AllTags returns the tags of the server and of all its features, sorted.
func (s *Server) AllTags() []string {
	tags := slices.Clone(s.Tags)
	for e := range s.entries {
		tags = append(tags, e.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Unmatched returns the patterns that match none of the given tools, prompts and tags. The patterns
// must be valid. It skips patterns of resources, because servers may have resources that they do
// not list.
func Unmatched(patterns, tools, prompts, tags []string) (none []string) {
	for _, text := range patterns {
		one := parsePattern(text)
		var names []string
		switch one.kind {
		case ToolKind:
			names = tools
		case PromptKind:
			names = prompts
		case ResourceKind:
			continue
		default:
			if !one.matches(one.kind, "", tags) {
				none = append(none, text)
			}
			continue
		}
		if !slices.ContainsFunc(names, func(name string) bool { return one.matches(one.kind, name, nil) }) {
			none = append(none, text)
		}
	}
	return none
}
