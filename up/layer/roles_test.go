package layer

import (
	"slices"
	"testing"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// rolesOf returns the roles of settings.
func rolesOf(t *testing.T, text string) (*Roles, *settings.Settings) {
	t.Helper()
	s, err := settings.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return NewRoles(s), s
}

var (
	aKey         = &mcp.Principal{Issuer: "junction-keys", Subject: "ann"}
	aUser        = &mcp.Principal{Issuer: "https://login.example", Subject: "ann"}
	aStranger    = &mcp.Principal{Issuer: "https://partner.example", Subject: "ann", Groups: []string{"eng"}}
	aMember      = &mcp.Principal{Issuer: "https://login.example/", Subject: "ben", Groups: []string{"ops", "eng"}}
	aCertificate = &mcp.Principal{Issuer: "CN=https://login.example,O=Example", Subject: "ann"}
)

func TestRolesOfCallers(t *testing.T) {
	roles, _ := rolesOf(t, `{"roles": {
		"keys": {"who": ["key:ann"]},
		"users": {"who": ["user:ann"]},
		"own": {"who": ["user:ann", "group:eng"], "issuer": "https://login.example"},
		"members": {"who": ["group:eng", "group:ops"]},
		"clients": {"who": ["client:ann"], "issuer": "https://login.example"},
		"profiled": {"who": ["key:ann"], "profiles": ["p"]},
		"all": {"who": ["*"], "profiles": ["p"]}}}`)
	for _, tt := range []struct {
		name string
		who  *mcp.Principal
		want []string
	}{
		{"nobody", nil, nil},
		{"a key", aKey, []string{"keys", "all", "profiled"}},
		{"a user", aUser, []string{"own", "users", "all"}},
		{"a user of another issuer", aStranger, []string{"members", "users", "all"}},
		{"a user of groups", aMember, []string{"members", "own", "all"}},
		{"a certificate", aCertificate, []string{"clients", "all"}},
		{"a user without one", &mcp.Principal{Issuer: "https://login.example", Subject: "eve"}, []string{"all"}},
	} {
		if got := roles.Of(tt.who).Names(); !slices.Equal(got, tt.want) {
			t.Errorf("%s has %q, want %q", tt.name, got, tt.want)
		}
	}
	if roles, _ := rolesOf(t, `{}`); roles != nil || roles.Of(aKey) != nil {
		t.Error("there are roles without a setting")
	}
}

func TestRolesDecide(t *testing.T) {
	roles, _ := rolesOf(t, `{
		"servers": {"files": {"tools": {"read": {"tags": ["safe"]}}}},
		"profiles": {"reading": {"servers": ["files"], "only": ["files__read*"]}, "clock": {"servers": ["time"]}},
		"roles": {
			"whole": {"who": ["user:whole"]},
			"tools": {"who": ["user:tools", "user:both"], "tools": ["time__*"]},
			"tagged": {"who": ["user:tagged"], "tools": ["tag:safe"]},
			"reader": {"who": ["user:reader", "user:both"], "profiles": ["reading"]},
			"narrow": {"who": ["user:narrow"], "profiles": ["reading", "clock"], "tools": ["*__now"]},
			"gone": {"who": ["user:gone"], "profiles": ["missing"]}}}`)
	read, write, now := gateway.Entry{Kind: "tool", Server: "files", Name: "read", Exposed: "files__read"}, gateway.Entry{Kind: "tool", Server: "files", Name: "write", Exposed: "files__write"}, gateway.Entry{Kind: "tool", Server: "time", Name: "now", Exposed: "time__now"}
	prompt := gateway.Entry{Kind: "prompt", Server: "files", Name: "read", Exposed: "files__read"}
	for _, tt := range []struct {
		user, profile string
		entry         gateway.Entry
		role, via     string
	}{
		{"whole", "", write, "whole", ""},
		{"whole", "", prompt, "whole", ""},
		{"whole", "reading", read, "whole", "reading"},
		{"whole", "reading", write, "", ""},
		{"tools", "", now, "tools", ""},
		{"tools", "", read, "", ""},
		{"tools", "clock", now, "tools", "clock"},
		{"tools", "reading", read, "", ""},
		{"tagged", "", read, "tagged", ""},
		{"tagged", "", write, "", ""},
		{"reader", "", read, "reader", "reading"},
		{"reader", "", write, "", ""},
		{"reader", "", now, "", ""},
		{"reader", "", prompt, "reader", "reading"},
		{"reader", "reading", read, "reader", "reading"},
		{"reader", "clock", now, "", ""},
		{"narrow", "", now, "narrow", "clock"},
		{"narrow", "", read, "", ""},
		{"narrow", "", prompt, "", ""},
		{"narrow", "reading", read, "", ""},
		{"both", "", read, "reader", "reading"},
		{"both", "", now, "tools", ""},
		{"both", "reading", now, "", ""},
		{"gone", "", read, "", ""},
		{"gone", "missing", read, "", ""},
		{"none", "", read, "", ""},
	} {
		set := roles.Of(&mcp.Principal{Issuer: "https://login.example", Subject: tt.user})
		if role, via := roles.Decide(set, tt.profile, tt.entry); role != tt.role || via != tt.via {
			t.Errorf("%s at %q uses %s %s by %q through %q, want %q through %q", tt.user, tt.profile, tt.entry.Kind, tt.entry.Exposed, role, via, tt.role, tt.via)
		}
	}
}

func TestLimitsOfRolesAreTheMostGenerous(t *testing.T) {
	roles, _ := rolesOf(t, `{"roles": {
		"slow": {"who": ["user:slow", "user:both", "user:all"], "rate": "60/m", "budget": "1MB/h"},
		"fast": {"who": ["user:fast", "user:both", "user:all"], "rate": "2/s", "budget": "1MB/m"},
		"usual": {"who": ["user:usual", "user:all"]}}}`)
	for _, tt := range []struct {
		user     string
		defaults settings.Limits
		want     settings.Limits
	}{
		{"none", settings.Limits{Rate: "1/h"}, settings.Limits{Rate: "1/h"}},
		{"slow", settings.Limits{Rate: "1/h", Concurrent: 3}, settings.Limits{Rate: "60/m", Bytes: "1MB/h", Concurrent: 3}},
		{"slow", settings.Limits{Rate: "100/s"}, settings.Limits{Rate: "60/m", Bytes: "1MB/h"}},
		{"both", settings.Limits{}, settings.Limits{Rate: "2/s", Bytes: "1MB/m"}},
		{"usual", settings.Limits{Rate: "1/h"}, settings.Limits{Rate: "1/h"}},
		{"all", settings.Limits{Rate: "1/h", Bytes: "1KB/h"}, settings.Limits{Rate: "2/s", Bytes: "1MB/m"}},
		{"all", settings.Limits{Rate: "9/s"}, settings.Limits{Rate: "2/s", Bytes: "1MB/m"}},
		{"all", settings.Limits{}, settings.Limits{Rate: "2/s", Bytes: "1MB/m"}},
		{"usual", settings.Limits{}, settings.Limits{}},
	} {
		set := roles.Of(&mcp.Principal{Issuer: "https://login.example", Subject: tt.user})
		if got := set.Limits(tt.defaults); got != tt.want {
			t.Errorf("%s with %+v has %+v, want %+v", tt.user, tt.defaults, got, tt.want)
		}
	}
}

// TestRolesNeedAuthentication is about settings that would let nobody in.
func TestRolesNeedAuthentication(t *testing.T) {
	_, s := rolesOf(t, `{"roles": {"r": {"who": ["*"]}}}`)
	if _, err := new(Stack).Read(s); err == nil {
		t.Error("roles are read without authentication")
	}
	if _, err := (&Stack{Options: Options{Authenticates: true}}).Read(s); err != nil {
		t.Error(err)
	}
}
