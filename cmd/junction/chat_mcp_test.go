package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/policy"
)

// saying is the entry of a server that is started, and writes to its standard error first.
func saying(t *testing.T, says string) string {
	t.Helper()
	return fmt.Sprintf(`{"command":"/bin/sh","args":["-c","echo %s $$ >&2; exec '%s' serve everything"]}`, says, self(t)[0])
}

func TestServersAreChangedWithoutAScreen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no /bin/sh")
	}
	clitest.NoState(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://web.example/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer refusing.Close()
	clitest.Write(t, map[string]string{"servers.json": `{"mcpServers":{"ev":` + saying(t, "listening") + `,"web":{"url":"` + refusing.URL + `"}}}`})
	p := clitest.StartPlain(t, "servers.json", &chat.Flags{})
	p.Server("ev", func(s host.ServerTools) bool { return s.State == host.StateUnapproved })
	p.Say("/mcp", "2 ? ev unapproved, 25 tools, about ")
	p.Await("3 ✗ web failed")
	p.Await("sign in: junction login web")
	p.Say("/mcp tools ev", "ev · add")
	p.Say("/mcp log ev", "listening ")
	first := p.Setup.Host.Stderr("ev")
	p.Say("/mcp restart ev", "ev is being restarted")
	p.Server("ev", func(s host.ServerTools) bool { return s.State == host.StateUnapproved })
	if now := p.Setup.Host.Stderr("ev"); len(first) != 1 || len(now) != 2 || now[0] != first[0] || now[1] == first[0] {
		t.Errorf("before the restart it wrote %q, now %q", first, now)
	}
	p.Say("/mcp off ev", "ev is off in this conversation")
	p.Say("add 2 and 40", "not a language model")
	p.Say("/mcp on ev", "ev is on")
	p.Say("/mcp trust ev", "number, words to find, or nothing:")
	p.Say("", ">")
	p.Server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	p.Say("/mcp trust ev", "1 until junction chat ends")
	p.Say("1", "ev is trusted until junction chat ends")
	p.Say("add 2 and 40", "42")
	p.Say("/mcp log web", "sign in: junction login web")
	p.Quit()
}

// everything is a policy, with a rule of each kind.
const somePolicy = `{
  "rules": [
    {"effect": "deny", "tool": "delete", "reason": "nothing is deleted"}, // mine
    {"name": "notes", "effect": "allow", "server": "ev", "tool": "echo"}
  ],
  "trusted": ["ev", "gone"],
  "public": ["search"]
}
`

func TestPermissionsAreListedAndTakenBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no /bin/sh")
	}
	clitest.NoState(t)
	own := filepath.Join(clitest.PlaceOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	clitest.Write(t, map[string]string{own: `{"mcpServers":{"ev":` + saying(t, "a") + `,"two":` + saying(t, "b") + `}}`, "policy.json": somePolicy,
		".junction/policy.json": `{"rules":[{"effect":"ask","tool":"echo"}]}`, "AGENTS.md": "Be brief."})
	if err := (&cli.App{Place: clitest.PlaceOf(t)}).Launch.ChangeConsents(func(said map[string]bool) { said[chat.InstructionsKey("Be brief.")] = true }); err != nil {
		t.Fatal(err)
	}
	p := clitest.StartPlain(t, own, &chat.Flags{Policy: "policy.json", Allow: []string{"two/*"}})
	p.Say("add 2 and 40", "New server “two”")
	p.Say("n", "42")
	list := p.List()
	for _, want := range []string{
		`deny tool "delete" of any server (nothing is deleted) policy.json:3`, `ask tool "echo" of any server .junction/policy.json:1`,
		`allow notes: tool "echo" of server "ev" policy.json:4`, `allow tool "*" of server "two" command line`,
		`built-in`, `default: everything`, `trust ev policy.json`, `trust gone policy.json`, `nothing private comes from search policy.json`, `follow AGENTS.md of this folder`,
	} {
		if !slices.ContainsFunc(list, func(row string) bool { return strings.Contains(spaced(row), want) }) {
			t.Errorf("%q is not in\n%s", want, strings.Join(list, "\n"))
		}
	}
	for row, want := range map[string]string{
		".junction/policy.json:1": "this rule is one of the project's; it can be removed in .junction/policy.json:1", "command line": "this rule comes from the command line: start without it",
		"read-only: ": "this rule is built in", "default: everything": `"default" in policy.json decides calls without a rule`, "nothing private": `remove "search" from "public" in policy.json`,
	} {
		p.Undo(row, want)
	}

	// A rule of the file, of which the line moved meanwhile.
	p.Undo("deny tool \"delete\"", "removed from policy.json: deny tool")
	p.Say("/permissions", `allow notes: tool "echo" of server "ev" policy.json:3`)
	file, err := policy.Load("policy.json", policy.LoadOptions{})
	if err != nil || len(file.Rules) != 1 || slices.ContainsFunc(p.Setup.Host.Rules(), func(r policy.Rule) bool { return r.Effect == policy.Deny }) {
		t.Errorf("%v: left are %+v and %+v", err, file, p.Setup.Host.Rules())
	}
	p.Undo("trust gone", "removed from policy.json: trust gone")
	p.Undo("trust ev", "removed from policy.json: trust ev")
	p.Server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	p.Undo("follow AGENTS.md", "you are asked about AGENTS.md when junction chat starts again")
	if said := (&cli.App{Place: clitest.PlaceOf(t)}).Launch.StoredConsents(); len(said) != 0 {
		t.Errorf("the answer is kept: %v", said)
	}

	// What is said in the chat itself: an approval, a rule for the session, one for good, trust.
	p.Say("add 2 and 40", "New server “ev”")
	p.Say("y", "42")
	p.Say("delete name=x", "may this call run?")
	p.Say("y", "x")
	p.Say("delete name=y", "may this call run?")
	p.Say("s", "which calls?")
	p.Say("2", "y") // exactly this call
	p.Say("delete name=z", "may this call run?")
	p.Say("a", "which calls?")
	p.Say("1", "z")
	p.Undo("until junction chat ends", `no longer holds: allow tool "delete" of server "ev" of this origin when args == {"name": "y"}, also after text from ev`)
	p.Undo("policy.json:4, from a card", `removed from policy.json: allow tool "delete" of server "ev"`)
	p.Say("delete name=z", "may this call run?")
	p.Say("n", "")
	p.Undo("allow ev/delete, although text from ev/add, ev/delete was read", "you are asked again: allow ev/delete")
	p.Say("/mcp trust ev", "1 until junction chat ends")
	p.Say("1", "ev is trusted")
	p.Undo("trust ev", "ev is no longer trusted")
	p.Say("/mcp trust ev", "2 permanently")
	p.Say("2", "ev is trusted permanently")
	p.Undo("trust ev, with the command that it had when you trusted it", "removed from policy.json: trust ev")
	p.Server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	p.Undo(`definitions of server "ev"`, "you review the definitions of server ev again before the model sees them")
	p.Say("add 2 and 40", "New server “ev”")
	p.Say("n", ">")
	if list := strings.Join(p.List(), "\n"); strings.Contains(list, "delete") || strings.Contains(list, "trust") {
		t.Errorf("left are\n%s", list)
	}
	p.Quit()
}

func spaced(row string) string { return strings.Join(strings.Fields(row), " ") }
