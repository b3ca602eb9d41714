package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/policy"
)

// untrusting is a conversation in which no server is trusted.
type untrusting struct{ tui.Session }

func (untrusting) Talk() tui.Talk { return withoutServers{} }

type withoutServers struct{ tui.Talk }

func (withoutServers) Servers() []host.ServerTools { return nil }

func TestPermissionsNameServersAsThePersonDoes(t *testing.T) {
	hash := policy.OriginOf([]string{"npx -y files"})
	setup := &chatSetup{}
	setup.options.Servers = []host.Server{{Name: "odd@" + hash}}
	for _, test := range []struct{ about, name, want string }{
		{"a name alone", "files", "files"},
		{"a package of npm", "@scope/files", "@scope/files"},
		{"a package of npm with its version", "@scope/files@1.2.3", "@scope/files@1.2.3"},
		{"a name with an @ that is no origin", "files@cafe", "files@cafe"},
		{"a name with an origin", "files@" + hash, "files, as it was started when you trusted it"},
		{"a package of npm with an origin", "@scope/files@" + hash, "@scope/files, as it was started when you trusted it"},
		{"a server that ships", "everything@built-in", "everything, as it was started when you trusted it"},
		{"a server that is called like one with an origin", "odd@" + hash, "odd@" + hash},
		{"an origin of nothing", "@" + hash, "@" + hash},
	} {
		all := setup.trustPermissions(&policy.File{Path: "policy.json", Trusted: []string{test.name}, Public: []string{test.name}}, untrusting{})
		if all[0].What != "trust "+test.want {
			t.Errorf("%s: %s", test.about, all[0].What)
		}
		if public := strings.Replace(test.want, " when you trusted it", " then", 1); all[1].What != "nothing private comes from "+public {
			t.Errorf("%s: %s", test.about, all[1].What)
		}
	}
	rule := policy.Rule{Effect: policy.Allow, Server: "odd@" + hash, Tool: "send", When: "args.to == 'ada@" + hash + "'", After: "@scope/files@" + hash + ", files@" + hash + ", odd@" + hash}
	want := rule
	want.After = "@scope/files, files, odd@" + hash
	if got := setup.permitted(rule); got != want.String() {
		t.Errorf("the rule is shown as %s, want %s", got, want)
	}
}
