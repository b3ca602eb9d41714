package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/policy"
)

// A plainChat is junction chat --plain as somebody types into it.
type plainChat struct {
	t     *testing.T
	setup *chat.Setup
	talk  tui.Session
	keys  *io.PipeWriter
	out   *safeBuffer
	ended chan error
	read  int // bytes of what was shown that were looked at
}

// startPlain starts it with a configuration.
func startPlain(t *testing.T, configuration string, f *chat.Flags, args ...string) *plainChat {
	t.Helper()
	setup, _ := setUp(t, configuration, f, args...)
	r, w := io.Pipe()
	p := &plainChat{t: t, setup: setup, keys: w, out: new(safeBuffer), ended: make(chan error, 1)}
	ui, err := tui.New(tui.Options{In: r, Out: p.out, Plain: true, Theme: "mono", Greeting: "Welcome.", Permissions: setup.Permissions})
	if err != nil {
		t.Fatal(err)
	}
	if err := setup.Open(ui, ui.Event); err != nil {
		t.Fatal(err)
	}
	if err := setup.Host.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.talk, err = tui.Attach(t.Context(), setup.Host, nil, ""); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- ui.Run(t.Context(), p.talk) }()
	t.Cleanup(func() { w.Close() })
	p.await("Welcome.")
	return p
}

// shown is what was written, on one line.
func (p *plainChat) shown() string { return strings.Join(strings.Fields(p.out.String()), " ") }

// say types a line, and waits for a text behind what was waited for before.
func (p *plainChat) say(line, want string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	p.await(want)
}

func (p *plainChat) await(want string) {
	p.t.Helper()
	for range 1_000 {
		shown := p.shown()
		if i := strings.Index(shown[min(p.read, len(shown)):], want); i >= 0 {
			p.read += i + len(want)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("%q does not come; there is\n%s", want, p.shown()[p.read:])
}

// server waits until it stands so with a server.
func (p *plainChat) server(name string, is func(host.ServerTools) bool) {
	p.t.Helper()
	var now host.ServerTools
	for range 1_000 {
		all := p.talk.Talk().Servers()
		if now = all[slices.IndexFunc(all, func(s host.ServerTools) bool { return s.Server == name })]; is(now) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("server %q is %+v", name, now)
}

// list lists the permissions and returns them, each with its number.
func (p *plainChat) list() []string {
	p.t.Helper()
	from := len(p.out.String())
	p.say("/permissions", "── permissions ──")
	p.say("/permissions undo 0", "there is no number 0 in the list")
	var rows []string
	for line := range strings.SplitSeq(p.out.String()[from:], "\n") {
		switch {
		case numbered.MatchString(line):
			rows = append(rows, strings.TrimSpace(line))
		case strings.HasPrefix(line, "    ") && len(rows) > 0:
			rows[len(rows)-1] += " " + strings.TrimSpace(line)
		}
	}
	return rows
}

var numbered = regexp.MustCompile(`^ {0,2}\d+ \S`)

// undo takes a permission back that is listed with these words.
func (p *plainChat) undo(words, want string) {
	p.t.Helper()
	list := p.list()
	i := slices.IndexFunc(list, func(row string) bool { return strings.Contains(row, words) })
	if i < 0 {
		p.t.Fatalf("there is no %q in\n%s", words, strings.Join(list, "\n"))
	}
	p.say(fmt.Sprintf("/permissions undo %d", i+1), want)
}

func (p *plainChat) quit() {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, "/quit\n"); err != nil {
		p.t.Fatal(err)
	}
	if err := <-p.ended; err != nil {
		p.t.Error(err)
	}
}

// saying is the entry of a server that is started, and writes to its standard error first.
func saying(t *testing.T, says string) string {
	t.Helper()
	return fmt.Sprintf(`{"command":"/bin/sh","args":["-c","echo %s $$ >&2; exec '%s' serve everything"]}`, says, self(t)[0])
}

func TestServersAreChangedWithoutAScreen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no /bin/sh")
	}
	noState(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://web.example/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer refusing.Close()
	write(t, map[string]string{"servers.json": `{"mcpServers":{"ev":` + saying(t, "listening") + `,"web":{"url":"` + refusing.URL + `"}}}`})
	p := startPlain(t, "servers.json", &chat.Flags{})
	p.server("ev", func(s host.ServerTools) bool { return s.State == host.StateUnapproved })
	p.say("/mcp", "2 ? ev unapproved, 25 tools, about ")
	p.await("3 ✗ web failed")
	p.await("sign in: junction login web")
	p.say("/mcp tools ev", "ev · add")
	p.say("/mcp log ev", "listening ")
	first := p.setup.Host.Stderr("ev")
	p.say("/mcp restart ev", "ev is being restarted")
	p.server("ev", func(s host.ServerTools) bool { return s.State == host.StateUnapproved })
	if now := p.setup.Host.Stderr("ev"); len(first) != 1 || len(now) != 2 || now[0] != first[0] || now[1] == first[0] {
		t.Errorf("before the restart it wrote %q, now %q", first, now)
	}
	p.say("/mcp off ev", "ev is off in this conversation")
	p.say("add 2 and 40", "not a language model")
	p.say("/mcp on ev", "ev is on")
	p.say("/mcp trust ev", "number, words to find, or nothing:")
	p.say("", ">")
	p.server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	p.say("/mcp trust ev", "1 until junction chat ends")
	p.say("1", "ev is trusted until junction chat ends")
	p.say("add 2 and 40", "42")
	p.say("/mcp log web", "sign in: junction login web")
	p.quit()
}

func TestWhatAServerWritesIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	var tail cli.StderrTail
	c := tail.Attach(&command.Command{Name: "x", Stderr: func(string) {}}, false).(*command.Command)
	for i := range 10_000 {
		c.Stderr(fmt.Sprintf("line %d %s", i, strings.Repeat("x", 3_000)))
	}
	kept := tail.Lines()
	size := 0
	for _, line := range kept {
		size += len(line)
	}
	if size > cli.MaxStderrKept || size < cli.MaxStderrKept/2 || !strings.HasPrefix(kept[len(kept)-1], "line 9999 ") {
		t.Errorf("%d lines of %d bytes are kept", len(kept), size)
	}
	if same := mcp.Transport(fakeTransport{}); tail.Attach(same, false) != same {
		t.Error("a transport without a program is another one")
	}
}

type fakeTransport struct{ mcp.Transport }

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
	noState(t)
	own := filepath.Join(placeOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	write(t, map[string]string{own: `{"mcpServers":{"ev":` + saying(t, "a") + `,"two":` + saying(t, "b") + `}}`, "policy.json": somePolicy,
		".junction/policy.json": `{"rules":[{"effect":"ask","tool":"echo"}]}`, "AGENTS.md": "Be brief."})
	if err := reach.ChangeConsents((&cli.App{Place: placeOf(t)}), func(said map[string]bool) { said[chat.InstructionsKey("Be brief.")] = true }); err != nil {
		t.Fatal(err)
	}
	p := startPlain(t, own, &chat.Flags{Policy: "policy.json", Allow: []string{"two/*"}})
	p.say("add 2 and 40", "New server “two”")
	p.say("n", "42")
	list := p.list()
	for _, want := range []string{
		`deny tool "delete" of any server (nothing is deleted) policy.json:3`, `ask tool "echo" of any server .junction/policy.json:1`,
		`allow notes: tool "echo" of server "ev" policy.json:4`, `allow tool "*" of server "two" command line`,
		`built-in`, `default: everything`, `trust ev policy.json`, `trust gone policy.json`, `nothing private comes from search policy.json`, `follow AGENTS.md of this folder: yes`,
	} {
		if !slices.ContainsFunc(list, func(row string) bool { return strings.Contains(spaced(row), want) }) {
			t.Errorf("%q is not in\n%s", want, strings.Join(list, "\n"))
		}
	}
	for row, want := range map[string]string{
		".junction/policy.json:1": "this rule is one of the project's; it can be removed in .junction/policy.json:1", "command line": "cannot be removed here: start without it",
		"read-only: ": "this rule is built in", "default: everything": `is said by "default" in policy.json`, "nothing private": `remove "search" from "public" in policy.json`,
	} {
		p.undo(row, want)
	}

	// A rule of the file, of which the line moved meanwhile.
	p.undo("deny tool \"delete\"", "removed from policy.json: deny tool")
	p.say("/permissions", `allow notes: tool "echo" of server "ev" policy.json:3`)
	file, err := policy.Load("policy.json", policy.LoadOptions{})
	if err != nil || len(file.Rules) != 1 || slices.ContainsFunc(p.setup.Host.Rules(), func(r policy.Rule) bool { return r.Effect == policy.Deny }) {
		t.Errorf("%v: left are %+v and %+v", err, file, p.setup.Host.Rules())
	}
	p.undo("trust gone", "removed from policy.json: trust gone")
	p.undo("trust ev", "removed from policy.json: trust ev")
	p.server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	p.undo("follow AGENTS.md", "you are asked about AGENTS.md when junction chat starts again")
	if said := reach.StoredConsents((&cli.App{Place: placeOf(t)})); len(said) != 0 {
		t.Errorf("the answer is kept: %v", said)
	}

	// What is said in the chat itself: an approval, a rule for the session, one for good, trust.
	p.say("add 2 and 40", "New server “ev”")
	p.say("y", "42")
	p.say("delete name=x", "may this call run?")
	p.say("y", "x")
	p.say("delete name=y", "may this call run?")
	p.say("s", "which calls?")
	p.say("2", "y") // exactly this call
	p.say("delete name=z", "may this call run?")
	p.say("a", "which calls?")
	p.say("1", "z")
	p.undo("until junction chat ends", `does not hold any more: allow tool "delete" of server "ev" of this origin when args == {"name": "y"}, also after text of ev`)
	p.undo("policy.json:4, from a card", `removed from policy.json: allow tool "delete" of server "ev"`)
	p.say("delete name=z", "may this call run?")
	p.say("n", "")
	p.undo("allow ev/delete, though text of ev/add, ev/delete was read", "you are asked again: allow ev/delete")
	p.say("/mcp trust ev", "1 until junction chat ends")
	p.say("1", "ev is trusted")
	p.undo("trust ev", "ev is not trusted any more")
	p.say("/mcp trust ev", "2 for good")
	p.say("2", "ev is trusted for good")
	p.undo("trust ev, as it was started when you trusted it", "removed from policy.json: trust ev")
	p.server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	p.undo(`definitions of server "ev"`, "what server ev defines is reviewed again before the model sees it")
	p.say("add 2 and 40", "New server “ev”")
	p.say("n", ">")
	if list := strings.Join(p.list(), "\n"); strings.Contains(list, "delete") || strings.Contains(list, "trust") {
		t.Errorf("left are\n%s", list)
	}
	p.quit()
}

func spaced(row string) string { return strings.Join(strings.Fields(row), " ") }

func TestWhatIsNotSaidHereIsNotTakenBackHere(t *testing.T) {
	noState(t)
	own := filepath.Join(placeOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	write(t, map[string]string{own: `{"mcpServers":{"ev":{"command":"no-such-program"}}}`, "policy.json": `{"rules":[{"effect":"deny"},{"effect":"deny"}]}`})
	p := startPlain(t, own, &chat.Flags{Policy: "policy.json", Trust: []string{"ev"}}, "ev", "everything")
	p.undo("trust everything", "ships with junction and is trusted; /mcp off everything switches it off")
	p.undo("trust ev ", "--trust stands on the command line: start without it")
	p.undo("deny everything", "and one of them is left; it holds until that is removed, too")
	p.undo("deny everything", "removed from policy.json: deny everything")
	if list := strings.Join(p.list(), "\n"); strings.Contains(list, "deny") {
		t.Errorf("left are\n%s", list)
	}
	p.quit()
}

// Whoever takes trust back learns what else says that they trust the server.
func TestTrustThatIsSaidTwiceIsTakenBackOrNamed(t *testing.T) {
	noState(t)
	own := filepath.Join(placeOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	write(t, map[string]string{own: `{"mcpServers":{"ev":{"command":"no-such-program"},"two":{"command":"no-such-program"}}}`})
	setup, _ := setUp(t, own, &chat.Flags{})
	bound := policy.NameOf("ev", policy.OriginOf(setup.Options.Servers[0].Origin))
	write(t, map[string]string{"policy.json": `{"trusted":["ev","` + bound + `","ev","two"]}`})
	p := startPlain(t, own, &chat.Flags{Policy: "policy.json", Trust: []string{"two"}}, "ev", "two")
	trusted := func(s host.ServerTools) bool { return s.Trusted }
	p.undo("trust ev  policy.json", "removed from policy.json: trust ev; but ev is trusted still, by \"trust ev, as it was started when you trusted it\" in policy.json")
	p.server("ev", trusted)
	p.undo("trust two  policy.json", "removed from policy.json: trust two; but two is trusted still, by --trust on the command line")
	p.server("two", trusted)
	p.undo("trust ev, as it was started", "removed from policy.json: trust ev")
	p.server("ev", func(s host.ServerTools) bool { return !s.Trusted })
	if file, err := policy.Load("policy.json", policy.LoadOptions{}); err != nil || len(file.Trusted) != 0 {
		t.Errorf("%v: left is %+v", err, file)
	}
	p.quit()
}

func TestAnswersAboutAProjectsServersAreTakenBack(t *testing.T) {
	noState(t)
	write(t, map[string]string{".git/HEAD": "", ".mcp.json": `{"mcpServers":{"a":{"command":"run-a"},"b":{"command":"run-b"},"c":{"command":"run-c"}}}`})
	a, _ := asking(t, "1\n")
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		t.Fatal(err)
	}
	reach.Consents(t.Context(), a, entries, false)
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
