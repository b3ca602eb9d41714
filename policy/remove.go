package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
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

// removeElement removes the element that find returns from a member of a file, or all that it
// returns in turn.
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

// Without returns a policy that has a rule less, equal to this one in all its fields, and
// whether it had it; p stays as it is.
func (p *Policy) Without(rule Rule) (*Policy, bool) {
	i := slices.IndexFunc(p.rules, func(c *compiled) bool { return same(*c.rule, rule) })
	if i < 0 {
		return p, false
	}
	fewer := *p
	fewer.rules = slices.Delete(slices.Clone(p.rules), i, i+1)
	fewer.matching = &matching{by: map[[2]string][]*compiled{}} // that of p has the rule
	return &fewer, true
}
