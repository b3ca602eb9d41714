package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A user approves and refuses the calls of another one in Chromium, at the page of the team.
func TestATeamApprovesCallsInItsPage(t *testing.T) {
	t.Parallel()
	browser, env := program(t, "chromium"), isolated(t)
	const password = "the password of bob"
	add := exec.Command(junction(t), "user", "add", "bob")
	add.Env, add.Stdin = env, strings.NewReader(password+"\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	key := strings.TrimSpace(run(t, env, junction(t), "key", "create", "ann"))
	rules := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(rules, []byte(`{"default": "allow", "rules": [{"effect": "ask", "of": "role:sre", "for": "1h", "tool": "echo", "reason": "look first"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, object{"ours": entryOf([]string{junction(t), "serve", "everything"})}, object{
		"policy": rules, "audit": object{"folder": t.TempDir()},
		"roles": object{"sre": object{"who": []string{"user:bob", "key:bob"}, "console": []string{"servers", "audit", "logins", "keys"}}, "dev": object{"who": []string{"key:ann"}}},
	})
	url := gatewayOf(t, env, config, "--auth", "keys,local")
	call := []string{junction(t), "call", url, "ours__echo", "message=TEXT", "--header", "Authorization: Bearer " + key}
	argv := nodeScript(t, "page", "page/team.mjs")
	stdout, stderr, err := tryRun(t, env, append(argv, browser, strings.TrimSuffix(url, "/mcp"), password, encode(t, call))...)
	if err != nil || !strings.Contains(stdout, "\nend\n") || strings.Contains(stdout, "FAULT ") {
		t.Errorf("%v\n%.8000s%.4000s", err, stdout, stderr)
	}
	t.Logf("%s", stdout)
}
