package settings

import (
	"slices"
	"testing"
)

func TestPatternsThatMatchNothingAreFound(t *testing.T) {
	own := Server{Tags: []string{"a"}, Tools: map[string]Tool{"read": {Entry: Entry{Tags: []string{"b", "a"}}}}, Prompts: map[string]Entry{"p": {Tags: []string{"c"}}}, Resources: map[string]Entry{"u:x": {Tags: []string{"d"}}}}
	if tags := own.AllTags(); !slices.Equal(tags, []string{"a", "b", "c", "d"}) {
		t.Errorf("tags are %q", tags)
	}
	patterns := []string{"read", "re*", "wr*te", "prompt:p", "prompt:read", "tool:p", "tag:b", "tag:nope", "resource:u:y"}
	got := Unmatched(patterns, []string{"read", "list"}, []string{"p"}, own.AllTags())
	if want := []string{"wr*te", "prompt:read", "tool:p", "tag:nope"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
