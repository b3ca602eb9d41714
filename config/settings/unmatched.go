package settings

import (
	"maps"
	"slices"
)

// AllTags are the words for the server and for what it offers, sorted.
func (s *Server) AllTags() []string {
	tags := slices.Clone(s.Tags)
	for _, t := range s.Tools {
		tags = append(tags, t.Tags...)
	}
	for _, all := range []map[string]Entry{s.Prompts, s.Resources} {
		for e := range maps.Values(all) {
			tags = append(tags, e.Tags...)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Unmatched are those of some checked patterns that match none of these tools, prompts and tags. Patterns of resources
// are not among them: servers have resources that they do not list.
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
