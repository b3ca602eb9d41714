package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNotThere says that a file does not have what was to be removed from it.
var ErrNotThere = errors.New("it is not in the file")

// Remove takes a rule out of a file, the first one that is equal but for its Source, with the
// comments above it and behind it on its line. Like [Append] it replaces the file as a whole,
// under the same lock. The error wraps [ErrNotThere] where there is no such rule.
func Remove(ctx context.Context, path string, rule Rule) error {
	rule.Source = ""
	return removeElement(ctx, path, "rules", false, func(file *File) int {
		return slices.IndexFunc(file.Rules, func(r Rule) bool {
			r.Source = ""
			return same(r, rule)
		})
	})
}

// RemoveTrusted takes the name of a server, as it is written there, out of the member
// trusted of a file, as often as it is in it. It is like [Remove] in everything else.
func RemoveTrusted(ctx context.Context, path, name string) error {
	return removeElement(ctx, path, "trusted", true, func(file *File) int { return slices.Index(file.Trusted, name) })
}

// removeElement takes the element that find finds out of a member of a file, or all that it
// finds in turn.
func removeElement(ctx context.Context, path, member string, all bool, find func(*File) int) error {
	return rewrite(ctx, path, func(path string, before []byte) ([]byte, error) {
		for removed := false; ; removed = true {
			file, err := Parse(path, before, LoadOptions{})
			if err != nil {
				return nil, err
			}
			switch i := find(file); {
			case removed && (i < 0 || !all):
				return before, nil
			case i < 0:
				return nil, fmt.Errorf("policy: nothing was removed from %s: %w", path, ErrNotThere)
			default:
				before, err = withoutElement(path, before, member, i)
			}
			if err != nil {
				return nil, err
			}
		}
	})
}

// withoutElement is a file without one element of a member.
func withoutElement(path string, before []byte, member string, i int) ([]byte, error) {
	root, err := parseFile(before)
	if err == nil {
		err = root.Patch(fmt.Appendf(nil, `[{"op": "remove", "path": "/%s/%d"}]`, member, i))
	}
	if err != nil {
		return nil, &Problem{Source: path, Err: err}
	}
	after := root.Pack()
	if _, err := Parse(path, after, LoadOptions{}); err != nil {
		return nil, fmt.Errorf("without one of %s: %w", member, err)
	}
	return after, nil
}

// Without returns a policy that has a rule less, equal to this one in all its fields, and
// whether it had it; p stays as it is.
func (p *Policy) Without(rule Rule) (*Policy, bool) {
	i := slices.IndexFunc(p.rules, func(c *compiled) bool { return same(*c.rule, rule) })
	if i < 0 {
		return p, false
	}
	fewer := *p
	fewer.rules = slices.Delete(slices.Clone(p.rules), i, i+1)
	return &fewer, true
}
