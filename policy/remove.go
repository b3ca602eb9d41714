package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// ErrNotThere reports that a file does not have the element to remove.
var ErrNotThere = errors.New("it is not in the file")

// Remove removes a rule from a file, the first one that is equal except for its Source. It also
// removes the comments above it and after it on its line. Like [Append] it replaces the file as a
// whole, under the same lock. The error wraps [ErrNotThere] if there is no such rule.
func Remove(ctx context.Context, path string, rule Rule) error {
	rule.Source = ""
	return removeElement(ctx, path, "rules", false, func(file *File) int {
		return slices.IndexFunc(file.Rules, func(r Rule) bool {
			r.Source = ""
			return same(r, rule)
		})
	})
}

// RemoveTrusted removes all occurrences of the name of a server, as it is written, from the member
// trusted of a file. Otherwise it is like [Remove].
func RemoveTrusted(ctx context.Context, path, name string) error {
	return removeElement(ctx, path, "trusted", true, func(file *File) int { return slices.Index(file.Trusted, name) })
}

// removeElement removes the element at the index of find from a member of a file. With all it
// repeats that until find returns none.
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

// withoutElement returns a file without one element of a member.
func withoutElement(path string, before []byte, member string, i int) ([]byte, error) {
	return edited(path, before, "without one of "+member, func(root *hujson.Value) error {
		return root.Patch(fmt.Appendf(nil, `[{"op": "remove", "path": "/%s/%d"}]`, member, i))
	})
}

// Without returns a policy without a rule that equals this one in all its fields, and reports
// whether p had it. It does not change p.
func (p *Policy) Without(rule Rule) (*Policy, bool) {
	i := slices.IndexFunc(p.rules, func(c *compiled) bool { return same(*c.rule, rule) })
	if i < 0 {
		return p, false
	}
	fewer := *p
	fewer.rules = slices.Delete(slices.Clone(p.rules), i, i+1)
	fewer.matching = &matching{by: map[[2]string][]*compiled{}} // as that of p has the rule
	return &fewer, true
}
