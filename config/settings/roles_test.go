package settings_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config/settings"
)

func TestRolesAreChecked(t *testing.T) {
	for _, tt := range []struct{ role, fault string }{
		{`{"who": ["user:ann", "group:eng", "key:ci", "client:build.example", "*"]}`, ""},
		{`{"who": ["user:ann@example.com:x"], "issuer": "https://login.example.com", "profiles": ["p"], "tools": ["a__*", "prompt:b__*", "resource:file:///*", "tag:x"], "rate": "60/m", "budget": "10MB/h"}`, ""},
		{`{"who": ["team:eng"]}`, `roles.r.who[0]: expected user:NAME, group:NAME, key:NAME, client:NAME or *, got "team:eng"`},
		{`{"who": ["user:ann", "ann"]}`, `roles.r.who[1]: expected user:NAME`},
		{`{"who": ["user:"]}`, `got "user:"`},
		{`{"who": ["**"]}`, `got "**"`},
		{`{}`, `roles.r.who`},
		{`{"who": ["*"], "tools": ["["]}`, `roles.r.tools[0]: "[" is not a valid pattern`},
		{`{"who": ["*"], "tools": []}`, `roles.r.tools: the list is empty; leave it out for all`},
		{`{"who": ["*"], "profiles": []}`, `roles.r.profiles: the list is empty`},
		{`{"who": ["*"], "rate": "60"}`, `roles.r.rate`},
		{`{"who": ["*"], "budget": "10MB"}`, `roles.r.budget`},
		{`{"who": ["*"], "concurrent": 1}`, `concurrent`},
	} {
		_, err := settings.Parse([]byte(`{"roles": {"r": ` + tt.role + `}}`))
		if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v, want %q", tt.role, err, tt.fault)
		}
	}
	if _, err := settings.Parse([]byte(`{"roles": {"a b": {"who": ["*"]}}}`)); err == nil || !strings.Contains(err.Error(), "roles.a b: expected a name") {
		t.Errorf("a name with a blank: %v", err)
	}
}

func TestPatternsOfRolesMatchNothingElse(t *testing.T) {
	for _, tt := range []struct {
		tools       []string
		kind        settings.Kind
		name        string
		tags        []string
		is, without bool
	}{
		{[]string{"a__*"}, settings.ToolKind, "a__x", nil, true, true},
		{[]string{"a__*"}, settings.ToolKind, "b__x", nil, false, false},
		{[]string{"a__*"}, settings.PromptKind, "a__x", nil, false, true},
		{[]string{"a__*"}, settings.ResourceKind, "file:///a", nil, false, true},
		{[]string{"prompt:a__*"}, settings.PromptKind, "a__x", nil, true, true},
		{[]string{"prompt:a__*"}, settings.ToolKind, "a__x", nil, false, true},
		{[]string{"resource:file:///a/*"}, settings.ResourceKind, "file:///a/b", nil, true, true},
		{[]string{"resource:file:///a/*"}, settings.ResourceKind, "file:///a/../b", nil, false, false},
		{[]string{"tag:safe"}, settings.ResourceKind, "x:y", []string{"safe"}, true, true},
		{[]string{"tag:safe"}, settings.ToolKind, "x", []string{"other"}, false, false},
		{nil, settings.ToolKind, "x", nil, true, true},
	} {
		r, p := settings.Role{Tools: tt.tools}, settings.Profile{Only: tt.tools}
		if got := r.Patterns().Pick(tt.kind, tt.tags, tt.name); got != tt.is {
			t.Errorf("a role with %q has %s %s: %t", tt.tools, tt.kind, tt.name, got)
		}
		if got := p.Patterns().Pick(tt.kind, tt.tags, tt.name); got != tt.without {
			t.Errorf("a profile with %q has %s %s: %t", tt.tools, tt.kind, tt.name, got)
		}
	}
}

// TestGroupsOfRolesWaitForARestart is about logins at a provider, which have no groups if no role
// named one.
func TestGroupsOfRolesWaitForARestart(t *testing.T) {
	parse := func(text string) *settings.Settings {
		s, err := settings.Parse([]byte(`{"authorization": {"provider": {"issuer": "https://login.example", "clientId": "x", "domains": ["example.com"]}}, "roles": ` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	none, user, group := parse(`{}`), parse(`{"r": {"who": ["user:ann"]}}`), parse(`{"r": {"who": ["group:eng"]}}`)
	for _, tt := range []struct {
		before, after *settings.Settings
		waits         int
	}{{none, user, 0}, {user, group, 1}, {group, group, 0}, {group, user, 0}} {
		if got := tt.before.Waiting(tt.after, settings.RestartTokens); len(got) != tt.waits {
			t.Errorf("%v waits, want %d", got, tt.waits)
		}
	}
}

func TestIssuersNeedAClientIDForIntrospectionOnly(t *testing.T) {
	for text, fault := range map[string]string{
		`{"claims": {"groups": "/realm_access/roles"}}`:    "",
		`{"clientId": "gateway", "secretEnv": "S"}`:        "",
		`{"secretEnv": "S"}`:                               "authorization.issuers.https://login.example: expected clientId",
		`{"introspection": "https://login.example/check"}`: "expected clientId",
	} {
		_, err := settings.Parse([]byte(`{"authorization": {"issuers": {"https://login.example": ` + text + `}}}`))
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
}
