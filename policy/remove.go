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

// Remove removes a rule from a file: the first that equals the given one in all fields except
// Source. It also removes the comments above the rule and after it on the same line. Like [Append],
// it replaces the file as a whole and holds the file's lock. The error wraps [ErrNotThere] if the
// file has no such rule.
func Remove(ctx context.Context, path string, rule Rule) error {
	rule.Source = ""
	return removeElement(ctx, path, "rules", false, func(file *File) int {
		return slices.IndexFunc(file.Rules, func(r Rule) bool {
			r.Source = ""
			return same(r, rule)
		})
	})
}

// RemoveTrusted removes a name from the member "trusted" of a file, wherever it occurs exactly as
// given. In all other respects it is like [Remove].
func RemoveTrusted(ctx context.Context, path, name string) error {
	return removeElement(ctx, path, "trusted", true, func(file *File) int { return slices.Index(file.Trusted, name) })
}

// removeElement removes the element whose index find returns from a member of a file. If all is
// set, it repeats that until find returns a negative index.
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

// withoutElement returns the file's content without one element of a member.
func withoutElement(path string, before []byte, member string, i int) ([]byte, error) {
	return edited(path, before, "without one of "+member, func(root *hujson.Value) error {
		return root.Patch(fmt.Appendf(nil, `[{"op": "remove", "path": "/%s/%d"}]`, member, i))
	})
}

// Without returns a copy of the policy without a rule that equals the given one in all fields. It
// reports whether p has such a rule.
func (p *Policy) Without(rule Rule) (*Policy, bool) {
	i := slices.IndexFunc(p.rules, func(c *compiled) bool { return same(*c.rule, rule) })
	if i < 0 {
		return p, false
	}
	fewer := *p
	fewer.rules = slices.Delete(slices.Clone(p.rules), i, i+1)
	fewer.matching = &matching{by: map[[2]string][]*compiled{}} // the cache of p contains the rule
	return &fewer, true
}
