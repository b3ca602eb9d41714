package chat_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/policy"
)

func TestPermissionsFromElsewhereAreNotTakenBackHere(t *testing.T) {
	clitest.NoState(t)
	own := filepath.Join(clitest.PlaceOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	clitest.Write(t, map[string]string{own: `{"mcpServers":{"ev":{"command":"no-such-program"}}}`, "policy.json": `{"rules":[{"effect":"deny"},{"effect":"deny"}]}`})
	p := clitest.StartPlain(t, own, &chat.Flags{Policy: "policy.json", Trust: []string{"ev"}}, "ev", "everything")
	p.Undo("trust everything", "ships with junction and is trusted; /mcp off everything switches it off")
	p.Undo("trust ev ", "--trust comes from the command line: start without it")
	p.Undo("deny everything", "several times and still has one copy; remove that copy, too")
	p.Undo("deny everything", "removed from policy.json: deny everything")
	if list := strings.Join(p.List(), "\n"); strings.Contains(list, "deny") {
		t.Errorf("left are\n%s", list)
	}
	p.Quit()
}

// Whoever takes trust back learns what else says that they trust the server.
func TestTrustThatIsSaidTwiceIsTakenBackOrNamed(t *testing.T) {
	clitest.NoState(t)
	own := filepath.Join(clitest.PlaceOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	clitest.Write(t, map[string]string{own: `{"mcpServers":{"ev":{"command":"no-such-program"},"two":{"command":"no-such-program"}}}`})
	setup, _ := clitest.SetUp(t, own, &chat.Flags{})
	bound := policy.NameOf("ev", policy.OriginOf(setup.Options.Servers[0].Origin))
	clitest.Write(t, map[string]string{"policy.json": `{"trusted":["ev","` + bound + `","ev","two"]}`})
	p := clitest.StartPlain(t, own, &chat.Flags{Policy: "policy.json", Trust: []string{"two"}}, "ev", "two")
	trusted := func(s host.ServerTools) bool { return s.Trusted }
	p.Undo("trust ev  policy.json", "removed from policy.json: trust ev; but ev is still trusted, by \"trust ev, with the command that it had when you trusted it\" in policy.json")
	p.Server("ev", trusted)
	p.Undo("trust two  policy.json", "removed from policy.json: trust two; but two is still trusted, by --trust on the command line")
	p.Server("two", trusted)
	p.Undo("trust ev, with the command that it had", "removed from policy.json: trust ev")
	p.Server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	if file, err := policy.Load("policy.json", policy.LoadOptions{}); err != nil || len(file.Trusted) != 0 {
		t.Errorf("%v: left is %+v", err, file)
	}
	p.Quit()
}

func TestAnswersAboutAProjectsServersAreTakenBack(t *testing.T) {
	clitest.NoState(t)
	clitest.Write(t, map[string]string{".git/HEAD": "", ".mcp.json": `{"mcpServers":{"a":{"command":"run-a"},"b":{"command":"run-b"},"c":{"command":"run-c"}}}`})
	a, _ := clitest.Asking(t, "1\n")
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		t.Fatal(err)
	}
	a.Launch.Consents(t.Context(), entries, false)
	all := chat.ProjectPermissions(a)
	if len(all) != 3 || all[0].What != `start server "a" of the project` || all[1].What != `do not start server "b" of the project` || !strings.HasSuffix(all[0].Where, ".mcp.json") {
		t.Fatalf("listed are %+v", all)
	}
	if done, err := all[0].Undo(t.Context()); err != nil || !strings.Contains(done, "asked about server a when junction chat starts again") {
		t.Errorf("%s, %v", done, err)
	}
	if left := chat.ProjectPermissions(a); len(left) != 2 || left[0].What != all[1].What {
		t.Errorf("left are %+v", left)
	}
}
