package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/gateway/rules"
)

// withPolicy is alone with a policy of one's own and one of the project.
func withPolicy(t *testing.T) {
	t.Helper()
	inFolder(t)
	folder, err := clitest.PlaceOf(t).UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(folder, "junction", "policy.json")
	for path, text := range map[string]string{
		own: `{
  "rules": [
    {"name": "small", "effect": "allow", "server": "everything", "tool": "add", "when": "args.a < 100 && args.b < 100"},
    {"effect": "deny", "server": "everything", "tool": "fail", "reason": "it fails"}, // indeed
  ],
}`,
		rules.ProjectFile: `{"rules": [{"name": "careful", "effect": "ask", "when": "'untrusted' in labels"}, {"name": "greedy", "effect": "allow"}]}`,
		"other.json":      `{"default": "deny"}`,
		"slip.json":       `{"rules": [{"effect": "deny", "server": "filesytem"}, {"effect": "deny", "server": "elsewhere"}, {"effect": "deny", "server": "file*"}]}`,
		"wrong.json":      "{\"rules\": [{\"effect\": \"alow\"},\n{\"name\": \"bad\", \"effect\": \"deny\", \"when\": \"args.x = 3\"}]}",
	} {
		if err := os.MkdirAll(clitest.In(t, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(clitest.In(t, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPolicyCommands(t *testing.T) {
	withPolicy(t)
	for _, test := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string // found in there
	}{
		{"a call is explained", "explain everything add a=1 b=2", cli.ExitOK, "ALLOW: add of everything\n  decided by \"small\" (", ""},
		{"the rule's file and line are reported", "explain everything add a=1 b=2", cli.ExitOK, "policy.json:3)", ""},
		{"arguments decide", "explain everything add --annotations readOnly=false a=100 b=2 --trusted=false", cli.ExitOK, "ASK: add of everything\n  decided by \"default\" (built-in)\n  because: it may write and delete, and may reach other systems; no rule allows it yet\n", ""},
		{"arguments may be left out, and then the rule fails", "explain everything add a=1 --trusted=false", cli.ExitOK, "no such key: b", ""},
		{"arguments may be JSON", `explain everything add --args {"a":1,"b":2}`, cli.ExitOK, "ALLOW", ""},
		{"arguments are typed by the tool", "explain everything add a=x b=2", cli.ExitUsage, "", `junction: tool "add": `},
		{"a tool that is denied is hidden", "explain everything fail", cli.ExitOK, "DENY: fail of everything\n  decided by deny tool \"fail\" of server \"everything\" (", ""},
		{"and that is said", "explain everything fail", cli.ExitOK, "no model sees it", ""},
		{"the reason of a rule is reported", "explain everything fail", cli.ExitOK, "because: it fails\n", ""},
		{"a project's rule tightens", "explain everything add a=1 b=2 --label untrusted --trusted=false", cli.ExitOK, `ASK: add of everything`, "is left out: this file may only deny and ask"},
		{"a tool that there is not is not decided about", "explain everything ecko", cli.ExitUsage, "", `server "everything" lists no tool "ecko"; did you mean "echo"? (--offline explains without the server)`},
		{"nor is the name that clients see", "explain everything everything__fail", cli.ExitUsage, "", `rules use the server's own name; did you mean "fail"?`},
		{"but where the server is not asked", "explain everything count --offline", cli.ExitOK, "ASK: count of everything", ""},
		{"a tool that reads is allowed", "explain everything echo message=x", cli.ExitOK, `ALLOW: echo of everything`, ""},
		{"annotations can be given", "explain nobody x --trusted --annotations readOnly=true,openWorld=false", cli.ExitOK, `decided by "read-only" (built-in)`, `no server is called "nobody"`},
		{"a server need not be asked", "explain everything add a:=1 b:=2 --offline", cli.ExitOK, "ALLOW", ""},
		{"another policy takes the place of one's own", "explain everything add a=1 b=2 --policy other.json", cli.ExitOK, "DENY: add", ""},
		{"a default says the file that it stands in, and nothing of what the call does", "explain everything echo message=x --policy other.json", cli.ExitOK, "DENY: echo of everything\n  decided by \"default\" (other.json:1)\n  because: no rule allows it\n", ""},
		{"a server that cannot be reached is reported", "explain http://127.0.0.1:1/mcp x", cli.ExitConnection, "", "--offline explains without the server"},
		{"a hint is one of four", "explain everything add --annotations readonly=true", cli.ExitUsage, "", `unknown hint "readonly"`},
		{"a hint is true or false", "explain everything add --annotations readOnly", cli.ExitUsage, "", "expected HINT=true"},
		{"a tool must be named", "explain everything", cli.ExitUsage, "", "expected SERVER and TOOL"},
		{"a policy that is named must be there", "explain everything add --policy nowhere.json", cli.ExitConnection, "", "nowhere.json: no such file or directory; it is named by --policy, or as policy in the settings"},
		{"a policy with mistakes decides nothing", "explain everything add --policy wrong.json", cli.ExitConnection, "", `unknown effect "alow"; write "allow", "ask" or "deny"`},
		{"the strictest rules are listed first", "list", cli.ExitOK, "ask    .junction", ""},
		{"with what is built in", "list", cli.ExitOK, "read-only: ", ""},
		{"a slip in the name of a server is found", "list --policy slip.json", cli.ExitOK, "slip.json:1", `no server "filesytem" is configured here; did you mean "filesystem"?`},
		{"what is left out of a project's file is reported", "list --policy other.json", cli.ExitOK, "careful", `rule "greedy": is left out`},
		{"mistakes are reported with their places", "list --policy wrong.json", cli.ExitConnection, "", `wrong.json:2: rule "bad": when: column 8: Syntax error`},
		{"all of them", "list --policy wrong.json", cli.ExitConnection, "", `wrong.json:1: rule 1: effect: unknown effect "alow"; write "allow", "ask" or "deny"`},
		{"list takes nothing", "list x", cli.ExitUsage, "", `unexpected "x"`},
		{"what is expected is compared", "explain everything fail --expect ask", cli.ExitToolFailed, "DENY: fail of everything", ""},
		{"what is as expected is no failure", "explain everything fail --expect deny", cli.ExitOK, "DENY: fail of everything", ""},
		{"an effect is one of three", "explain everything fail --expect no", cli.ExitUsage, "", "--expect: expected allow, ask or deny"},
		{"a log is missing", "test a b", cli.ExitConnection, "", "open a: no such file or directory; junction up --audit writes a log"},
		{"an unknown command is reported", "explian", cli.ExitUsage, "", `unknown command "explian"`},
		{"help tells the exit codes", "test --help", cli.ExitOK, "1    explain: the call is decided otherwise", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdin := `{"input": {"server": "everything", "tool": "fail"}, "effect": "allow"}`
			got := runs(t, stdin, append([]string{"policy"}, strings.Split(test.args, " ")...)...)
			got.expect(t, test.code, test.stdout, test.stderr)
		})
	}
}

func TestPolicyJSON(t *testing.T) {
	withPolicy(t)
	for _, test := range []struct {
		name, args string
		code       int
		members    string // of the object, in its order
	}{
		{"an explanation", "explain everything add a=1 b=2 --json", cli.ExitOK, "effect rule reason default hidden input files rules"},
		{"a list", "list --json", cli.ExitOK, "files rules"},
		{"a list of rules with mistakes", "list --policy wrong.json --json", cli.ExitConnection, "error"},
		{"a mistake on the command line", "explain --json", cli.ExitUsage, "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runs(t, "", append([]string{"policy"}, strings.Split(test.args, " ")...)...)
			got.expectObject(t, test.code, test.members)
		})
	}
}
