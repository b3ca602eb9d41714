package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/policy"
)

// untrusting is a conversation in which no server is trusted.
type untrusting struct{ tui.Session }

func (untrusting) Talk() tui.Talk { return withoutServers{} }

type withoutServers struct{ tui.Talk }

func (withoutServers) Servers() []host.ServerTools { return nil }

func TestPermissionsUseTheUsersNames(t *testing.T) {
	hash := policy.OriginOf([]string{"npx -y files"})
	setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}}
	setup.Options.Servers = []host.Server{{Name: "odd@" + hash}}
	for _, test := range []struct{ about, name, want string }{
		{"a name alone", "files", "files"},
		{"a package of npm", "@scope/files", "@scope/files"},
		{"a package of npm with its version", "@scope/files@1.2.3", "@scope/files@1.2.3"},
		{"a name with an @ that is no origin", "files@cafe", "files@cafe"},
		{"a name with an origin", "files@" + hash, "files, with the command that it had when you trusted it"},
		{"a package of npm with an origin", "@scope/files@" + hash, "@scope/files, with the command that it had when you trusted it"},
		{"a server that ships", "everything@built-in", "everything, with the command that it had when you trusted it"},
		{"a server that is called like one with an origin", "odd@" + hash, "odd@" + hash},
		{"an origin of nothing", "@" + hash, "@" + hash},
	} {
		all := setup.TrustPermissions(&policy.File{Path: "policy.json", Trusted: []string{test.name}, Public: []string{test.name}}, untrusting{})
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
	if got := setup.RuleText(rule); got != want.String() {
		t.Errorf("the rule is shown as %s, want %s", got, want.String())
	}
}

// approving is a conversation that remembers what was agreed to.
type approving struct {
	withoutServers
	all *[]guard.Approval
}

func (a approving) Approvals() []guard.Approval { return *a.all }

func (a approving) Withdraw(one guard.Approval) error {
	*a.all = slices.DeleteFunc(*a.all, func(b guard.Approval) bool {
		return b.Server == one.Server && b.Tool == one.Tool && b.Reason == one.Reason && b.Arguments == one.Arguments
	})
	return nil
}

type agreed struct {
	tui.Session
	approving
}

func (a agreed) Talk() tui.Talk { return a.approving }

func TestGrantsAreOneLineAndTakenBackWhole(t *testing.T) {
	web, memory := guard.Source{Server: "web", Tool: "fetch"}, guard.Source{Server: "memory", Tool: "read"}
	remembered := []guard.Approval{
		{Server: "files", Tool: "write", Reason: guard.CarriesText, Arguments: "1", Sources: []guard.Source{memory}},
		{Server: "files", Tool: "write", Reason: guard.Tainted, Sources: []guard.Source{web}},
		{Server: "files", Tool: "write", Reason: guard.CarriesText, Arguments: "2", Sources: []guard.Source{memory, web}},
		{Server: "search", Tool: "find", Reason: guard.CarriesText, Arguments: "1", Sources: []guard.Source{memory}},
		{Server: "search", Tool: "post", Reason: guard.CarriesText, Arguments: "1", Sources: []guard.Source{memory}},
		{Server: "search", Reason: guard.WayOut, Sources: []guard.Source{memory, web}},
		{Server: "notes", Tool: "look", Reason: guard.CarriesText, Arguments: "1", Sources: []guard.Source{web}},
	}
	session := agreed{approving: approving{all: &remembered}}
	all := chat.AnswerPermissions(session)
	want := []string{
		"allow files/write, although text from web/fetch was read, and to send text from memory/read, web/fetch, with the arguments that you saw",
		"allow queries to search, although private text from memory/read, web/fetch was read, and to send text from memory/read by search/find, search/post, with the arguments that you saw",
		"allow notes/look to send text from web/fetch, with the arguments that you saw",
	}
	var got []string
	for _, p := range all {
		got = append(got, p.What)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("listed are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, left := range []int{4, 1, 0} {
		if done, err := all[i].Undo(t.Context()); err != nil || done != "you are asked again: "+want[i] || len(remembered) != left {
			t.Errorf("taken back: %q, %v; left are %+v", done, err, remembered)
		}
	}
}
