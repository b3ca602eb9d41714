package main

import (
	"reflect"

	"github.com/junction-mcp/junction/policy"
)

// changes name what of the rules and settings is another than before.
func (now *arrangement) changes(before *arrangement) (what []string) {
	rules := func(n *arrangement) map[string][]*policy.File {
		all := map[string][]*policy.File{}
		for profile, book := range n.books {
			all[profile] = book.files
		}
		return all
	}
	if !reflect.DeepEqual(rules(now), rules(before)) {
		what = append(what, "the rules changed")
	}
	if !reflect.DeepEqual(now.settings, before.settings) {
		what = append(what, "the settings changed")
	}
	return what
}
