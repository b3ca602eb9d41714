package openapi

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Selection selects operations. Tags holds names. Paths holds patterns for the document's paths,
// in which * matches one segment and ** any number. Operations holds patterns in the syntax of
// path.Match for operationIds or tool names. Methods holds HTTP methods in any case.
type Selection struct {
	Tags, Paths, Operations, Methods []string
}

// all reports whether every non-empty field selects the operation.
func (s Selection) all(o *operation) bool {
	return (len(s.Tags) == 0 || s.tags(o)) && (len(s.Paths) == 0 || s.paths(o)) &&
		(len(s.Operations) == 0 || s.operations(o)) && (len(s.Methods) == 0 || s.methods(o))
}

// any reports whether at least one field selects the operation.
func (s Selection) any(o *operation) bool {
	return s.tags(o) || s.paths(o) || s.operations(o) || s.methods(o)
}

func (s Selection) tags(o *operation) bool {
	return slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(o.tags, tag) })
}

func (s Selection) paths(o *operation) bool {
	return slices.ContainsFunc(s.Paths, func(pattern string) bool { return matchPath(pattern, o.path) })
}

func (s Selection) operations(o *operation) bool {
	return slices.ContainsFunc(s.Operations, func(pattern string) bool {
		return slices.ContainsFunc([]string{o.id, o.name}, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return pattern == name || ok && err == nil
		})
	})
}

func (s Selection) methods(o *operation) bool {
	return slices.ContainsFunc(s.Methods, func(m string) bool { return strings.EqualFold(m, o.method) })
}

// check returns an error if a pattern is malformed.
func (s Selection) check() error {
	for _, pattern := range slices.Concat(s.Paths, s.Operations) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("the pattern %s cannot be read: a [ is not closed, or a \\ ends it", pattern)
		}
	}
	return nil
}

// matchPath matches a pattern segment by segment. Its time is proportional to the product of the
// numbers of segments.
func matchPath(pattern, name string) bool {
	wants, has := strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(name, "/"), "/")
	reach := make([]bool, len(has)+1) // reach[i] reports whether the pattern so far matches the first i segments
	reach[0] = true
	for _, want := range wants {
		next := make([]bool, len(has)+1)
		for i := range reach {
			if want == "**" {
				next[i] = reach[i] || i > 0 && next[i-1]
				continue
			}
			if i > 0 && reach[i-1] {
				ok, err := path.Match(want, has[i-1])
				next[i] = err == nil && ok || want == has[i-1]
			}
		}
		reach = next
	}
	return reach[len(has)]
}
