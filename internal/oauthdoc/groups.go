package oauthdoc

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxGroups    = 1_000 // of a user
	maxGroupName = 500   // bytes
)

// usualGroups is the default claim of a user's groups.
const usualGroups = "groups"

// GroupsClaim returns the member of the claims that has the groups. claim is its name, or a path to
// a member inside of it, such as /realm_access/roles; the default is groups.
func GroupsClaim(claim string) string {
	parts := groupsPath(claim)
	return parts[0]
}

func groupsPath(claim string) []string {
	path, is := strings.CutPrefix(claim, "/")
	if !is {
		return []string{cmp.Or(claim, usualGroups)}
	}
	return strings.Split(path, "/")
}

// Groups returns the groups in claims, one text or an array, without duplicates. claim is that of
// [GroupsClaim].
func Groups(claims map[string]any, claim string) (all []string) {
	path := groupsPath(claim)
	found := any(claims)
	for _, name := range path {
		object, _ := found.(map[string]any)
		found = object[name]
	}
	several, isArray := found.([]any)
	if !isArray {
		several = []any{found}
	}
	for _, one := range several {
		group, is := one.(string)
		if is && group != "" && len(group) <= maxGroupName && len(all) < maxGroups && !slices.Contains(all, group) {
			all = append(all, group)
		}
	}
	return all
}
