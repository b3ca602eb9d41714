package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
)

// Rules are tried on calls as they were, and where the log does not tell how, that is said.
func TestRulesAreTriedOnTheLog(t *testing.T) {
	inFolder(t)
	key, err := audit.ReadKey(clitest.In(t, "key"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(clitest.In(t, "log"), audit.Options{Key: key, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	long := `{"path":"` + strings.Repeat("a", 300) + `","n":1}`
	huge := `{"list":[` + strings.Repeat(`"aaaaaaaaaaaaaaaaaaaaaaa",`, 400) + `1]}`
	night := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	add := func(server, tool, arguments string, change func(*audit.Record)) {
		t.Helper()
		r := &audit.Record{Kind: audit.KindCall, Time: night, Method: "tools/call", Name: server + "__" + tool, Server: server, Tool: tool, Hash: "abc", Arguments: audit.Redacted([]byte(arguments))}
		if change != nil {
			change(r)
		}
		if err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	add("files", "read", `{"path":"/etc/x"}`, func(r *audit.Record) {
		r.Annotations = audit.HintsOf([]byte(`{"name":"read","annotations":{"readOnlyHint":true,"title":"x"}}`))
		r.Profile, r.Principal, r.Scopes = "work", "ada", []string{"write"}
	})
	add("files", "long", long, nil)
	add("files", "huge", huge, nil)
	add("files", "secret", `{"password":"hunter2","n":1}`, nil)
	add("files", "omitted", "", func(r *audit.Record) { r.Arguments = audit.Omitted([]byte(`{"a":1}`)) })
	add("gone", "read", `{}`, nil)
	add("files", "plain", `{}`, func(r *audit.Record) { r.Client = "c/1.0" })
	add("files", "slashes", `{}`, func(r *audit.Record) { r.Client = "c/d/1/2" })
	add("", "", "", func(r *audit.Record) { r.Name = "files__hidden" })
	add("", "", "", func(r *audit.Record) { r.Method, r.Name = "resources/read", "file:///a?***" })
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, "mine.json"), []byte(`{"mcpServers": {"files": {"command": "files"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	verdicts := func(rules string) string {
		t.Helper()
		if err := os.WriteFile(clitest.In(t, "rules.json"), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		got := runs(t, "", "policy", "test", "log", "--policy", "rules.json", "--config", "mine.json", "--json")
		got.expect(t, cli.ExitOK, "verdicts", "")
		return got.stdout
	}
	for _, test := range []struct{ name, rules, want, not string }{
		{"the time of the call", `{"rules": [{"effect": "deny", "tool": "read", "when": "now.getHours() == 3"}], "default": "allow"}`, `{"effect":"deny","server":"files","tool":"read"`, ""},
		{"its profile", `{"rules": [{"effect": "deny", "when": "profile == 'work'"}], "default": "allow"}`, `{"effect":"deny","server":"files","tool":"read"`, decidable},
		{"annotations", `{"rules": [{"effect": "deny", "when": "!annotations.readOnly"}], "default": "allow"}`, `{"effect":"allow","server":"files","tool":"read"`, decidable},
		{"scopes", `{"rules": [{"effect": "deny", "when": "'write' in principal.scopes"}], "default": "allow"}`, `{"effect":"deny","server":"files","tool":"read"`, decidable},
		{"groups, which the log does not have", `{"rules": [{"effect": "deny", "when": "'ops' in principal.groups"}], "default": "allow"}`, `{"effect":"cannot tell","server":"files","tool":"read"`, ""},
		{"trust in a server that is configured", `{"rules": [{"effect": "deny", "when": "trusted"}], "default": "allow", "trusted": ["files"]}`, `{"effect":"deny","server":"files","tool":"read"`, ""},
		{"trust in one that is not", `{"rules": [{"effect": "deny", "when": "trusted"}], "default": "allow", "trusted": ["files"]}`, `{"effect":"cannot tell","server":"gone","tool":"read"`, ""},
		{"a text that was cut", `{"rules": [{"effect": "deny", "when": "has(args.path) && args.path.endsWith('z')"}], "default": "allow"}`, `{"effect":"cannot tell","server":"files","tool":"long"`, ""},
		{"what stands next to it", `{"rules": [{"effect": "deny", "when": "has(args.n) && args.n == 1"}], "default": "allow"}`, `{"effect":"deny","server":"files","tool":"long"`, ""},
		{"arguments that were too long", `{"rules": [{"effect": "deny", "when": "has(args.list)"}], "default": "allow"}`, `{"effect":"cannot tell","server":"files","tool":"huge"`, ""},
		{"arguments that are not kept", `{"rules": [{"effect": "deny", "when": "has(args.list)"}], "default": "allow"}`, `{"effect":"cannot tell","server":"files","tool":"omitted"`, ""},
		{"a secret", `{"rules": [{"effect": "deny", "when": "has(args.password) && args.password == 'x'"}], "default": "allow"}`, `{"effect":"cannot tell","server":"files","tool":"secret","rule":"deny everything when has(args.password) && args.password == 'x' (rules.json:1)","reason":"the rule reads args.password, which the log does not keep in full"`, ""},
		{"a tool that no server listed", `{"rules": [{"effect": "deny", "tool": "hidden"}], "default": "allow"}`, `{"effect":"cannot tell","tool":"files__hidden"`, ""},
		{"a client", `{"rules": [{"effect": "deny", "tool": "plain", "when": "client == 'c'"}], "default": "allow"}`, `{"effect":"deny","server":"files","tool":"plain"`, ""},
		{"one that may end in several places", `{"rules": [{"effect": "deny", "tool": "slashes", "when": "client == 'c/d/1'"}], "default": "allow"}`, `{"effect":"cannot tell","server":"files","tool":"slashes"`, ""},
		{"a URI without its query", `{"rules": [{"effect": "deny", "when": "resource.contains('b')"}], "default": "allow"}`, `{"effect":"cannot tell","tool":"file:///a?***"`, ""},
	} {
		got := verdicts(test.rules)
		if !strings.Contains(got, test.want) || test.not == decidable && strings.Contains(got, string(policies.Undecided)) {
			t.Errorf("%s: got %s", test.name, got)
		}
	}
	if files, _ := filepath.Glob(clitest.In(t, "log/*.jsonl")); len(files) != 1 {
		t.Errorf("the log has %v", files)
	}
}

// What a program reads, such as grep, has each row on a line of its own.
func TestRulesAreListedOnOneLineEachWhereNoTerminalIs(t *testing.T) {
	clitest.Alone(t)
	key, err := audit.ReadKey(clitest.In(t, "key"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(clitest.In(t, "log"), audit.Options{Key: key, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(&audit.Record{Kind: audit.KindCall, Method: "tools/call", Name: "files__read", Server: "files", Tool: "read", Hash: "abc", Arguments: audit.Redacted([]byte("{}"))}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	when := "has(args.path) && args.path.endsWith('/a/long/name.txt')"
	if err := os.WriteFile(clitest.In(t, "rules.json"), []byte(`{"rules": [{"effect": "deny", "tool": "read", "when": "`+when+`"}, {"effect": "allow", "tool": "read", "when": "!(`+when+`)"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"list": when, "test log": when, "explain files read": when} {
		got := runs(t, "", append([]string{"policy"}, append(strings.Fields(args), "--policy", "rules.json")...)...)
		got.expect(t, cli.ExitOK, want, "")
	}
}

// decidable marks tests in which the log tells enough of every call.
const decidable = string(policies.Undecided)
