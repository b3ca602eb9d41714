package settings

import (
	"slices"
	"testing"
)

func TestPatternsPickToolsPromptsAndResources(t *testing.T) {
	one := func(text string) []string { return []string{text} }
	for _, test := range []struct {
		name       string
		only, hide []string
		kind       Kind
		of         string
		tags       []string
		want       bool
	}{
		{"without patterns all is there", nil, nil, PromptKind, "p", nil, true},
		{"a plain pattern is about tools", one("read_*"), nil, ToolKind, "read_file", nil, true},
		{"and leaves others out", one("read_*"), nil, ToolKind, "write_file", nil, false},
		{"and says nothing of prompts", one("read_*"), nil, PromptKind, "p", nil, true},
		{"and nothing of resources", nil, one("*"), ResourceKind, "file:///a", nil, true},
		{"* crosses the slashes of a name", nil, one("admin*"), ToolKind, "admin/all/drop", nil, false},
		{"of any name", nil, one("*"), ToolKind, "admin/drop", nil, false},
		{"of a prompt", nil, one("prompt:*"), PromptKind, "admin/drop", nil, false},
		{"of a tag", nil, one("tag:team*"), ToolKind, "t", one("team/ops"), false},
		{"and none that is not there", nil, one("admin/*"), ToolKind, "admin", nil, true},
		{"tools can be named", nil, one("tool:read_*"), ToolKind, "read_file", nil, false},
		{"prompts", one("prompt:review_*"), nil, PromptKind, "review_code", nil, true},
		{"prompts that are left out", one("prompt:review_*"), nil, PromptKind, "write", nil, false},
		{"prompts only", one("prompt:review_*"), nil, ToolKind, "write", nil, true},
		{"* crosses the slashes of a URI", nil, one("resource:file:///srv/*"), ResourceKind, "file:///srv/a/b", nil, false},
		{"but not what is outside", nil, one("resource:file:///srv/*"), ResourceKind, "file:///home/a", nil, true},
		{"hidden in another spelling", nil, one("resource:file:///srv/*"), ResourceKind, "file:///%73rv/a", nil, false},
		{"with another scheme's letters", nil, one("resource:file:///srv/*"), ResourceKind, "FILE:///srv/a", nil, false},
		{"by way of another folder", nil, one("resource:file:///srv/*"), ResourceKind, "file:///home/../srv/a", nil, false},
		{"with a brace before that", nil, one("resource:file:///srv/*"), ResourceKind, "file:///home/{/../../srv/a", nil, false},
		{"out of the folder", one("resource:file:///srv/*"), nil, ResourceKind, "file:///srv/%2e%2e/home/a", nil, false},
		{"within the folder", one("resource:file:///srv/*"), nil, ResourceKind, "file:///srv/x/../a", nil, true},
		{"a URI that is not canonical", one("resource:file:///a b/*"), nil, ResourceKind, "file:///a b/c", nil, true},
		{"a template of it", one("resource:file:///a b/{x}"), nil, ResourceKind, "file:///a b/{x}", nil, true},
		{"a template itself", nil, one("resource:notes://{id}"), ResourceKind, "notes://{id}", nil, false},
		{"what it matches", nil, one("resource:notes://{id}"), ResourceKind, "notes://7", nil, false},
		{"what it does not", nil, one("resource:notes://{id}"), ResourceKind, "notes://7/8", nil, true},
		{"a tag", one("tag:safe"), nil, ToolKind, "t", one("safe"), true},
		{"without the tag", one("tag:safe"), nil, ResourceKind, "r://", one("other"), false},
		{"a tag or a name", []string{"tag:safe", "t*"}, nil, ToolKind, "t", nil, true},
		{"hidden by a tag", nil, one("tag:danger*"), PromptKind, "p", one("dangerous"), false},
		{"hide is stronger", one("tag:a"), one("tag:b"), ToolKind, "t", []string{"a", "b"}, false},
		{"a colon in the name of a tool", one("ns:*"), nil, ToolKind, "ns:t", nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := NewPatterns(test.only, test.hide)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Pick(test.kind, test.tags, test.of); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
	for _, text := range []string{"[", "prompt:[", "resource:[a", "tag:["} {
		if _, err := NewPatterns(nil, one(text)); err == nil {
			t.Errorf("%q can be read", text)
		}
	}
}

func TestServersOfferWhatTheirSettingsAllow(t *testing.T) {
	s, err := Parse([]byte(`{"servers": {"a": {"tags": ["team"], "hide": ["tag:old", "prompt:draft_*"],
		"tools": {"t": {"name": "public", "tags": ["old"]}, "u": {"name": "plain", "tags": ["x", "team"]}, "v": {"hide": true}},
		"prompts": {"p": {"hide": true}, "q": {"name": "ask"}},
		"resources": {"notes://{id}": {"tags": ["notes"]}, "notes://1": {"hide": true}, "secret://{+all}": {"hide": true}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	a := s.Select("a")
	for _, test := range []struct {
		kind Kind
		name string
		want bool
		tags []string
	}{
		{ToolKind, "t", false, []string{"old", "team"}},
		{ToolKind, "u", true, []string{"team", "x"}},
		{ToolKind, "v", false, []string{"team"}},
		{ToolKind, "unknown", true, []string{"team"}},
		{PromptKind, "p", false, []string{"team"}},
		{PromptKind, "q", true, []string{"team"}},
		{PromptKind, "draft_q", false, []string{"team"}},
		{ResourceKind, "notes://{id}", true, []string{"notes", "team"}},
		{ResourceKind, "notes://2", true, []string{"notes", "team"}},
		{ResourceKind, "notes://1", false, []string{"notes", "team"}},
		{ResourceKind, "secret://a/b", false, []string{"team"}},
	} {
		if got := a.Offers(test.kind, test.name); got != test.want {
			t.Errorf("%s %s: offered is %t", test.kind, test.name, got)
		}
		if got := a.Tags(test.kind, test.name); !slices.Equal(got, test.tags) {
			t.Errorf("%s %s: tags are %q, want %q", test.kind, test.name, got, test.tags)
		}
	}
	if a.All() || !a.Tagged() || !s.Select("other").All() || s.Select("other").Tagged() {
		t.Error("it offers all, or another server does not")
	}
	s.Names = "map"
	for name, want := range map[string]bool{"u": true, "unknown": false, "t": false} {
		if got := s.Select("a").Offers(ToolKind, name); got != want {
			t.Errorf("with a map %s is offered: %t", name, got)
		}
	}
	if m := s.Select("other"); m.All() || m.Offers(ToolKind, "u") || m.Offers(PromptKind, "q") || !m.Offers(ResourceKind, "r://") {
		t.Error("a server without settings offers other than its resources")
	}
}

func TestAResourceIsHiddenInEachSpelling(t *testing.T) {
	s := &Settings{Servers: map[string]Server{"s": {Resources: map[string]Entry{
		"file:///secret": {Hide: true}, "file:///a b": {Hide: true}, "note://{id}": {Hide: true}, "file:///shown": {Tags: []string{"x"}},
	}}}}
	picks := s.Select("s")
	for uri, want := range map[string]bool{
		"file:///secret": false, "file:///%73ecret": false, "FILE:///secret": false, "file:///x/../secret": false,
		"file:///a b": false, "file:///a%20b": false, "note://7": false, "NOTE://7": false, "note://{id}": false,
		"file:///shown": true, "file:///other": true, "file:///secret/x": true,
	} {
		if got := picks.Offers(ResourceKind, uri); got != want {
			t.Errorf("%s is offered: %v", uri, got)
		}
	}
	if got := picks.Tags(ResourceKind, "file:///sh%6Fwn"); len(got) != 1 {
		t.Errorf("the tags of another spelling are %q", got)
	}
}
