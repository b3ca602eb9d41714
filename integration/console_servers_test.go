package integration

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/replay"
	"github.com/junction-mcp/junction/model"
)

var linkOfConsole = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S+\?token=\S+`)

// openedConsole runs junction console for the user of env, and returns its link.
func openedConsole(t testing.TB, env []string) string {
	t.Helper()
	lines, words := start(t, env, junction(t), "console", "--no-browser")
	within := time.After(30 * time.Second)
	for {
		select {
		case line, open := <-lines:
			if link := linkOfConsole.FindString(line); link != "" {
				return link
			}
			if !open {
				t.Fatalf("junction console ended: %s", words)
			}
		case <-within:
			t.Fatalf("junction console prints no link: %s", words)
		}
	}
}

// viewed does what a scenario of page/servers.mjs says in the console of the user of env. Pictures are kept in $SHOTS.
func viewed(t *testing.T, env []string, scenario string, settings object) {
	t.Helper()
	argv := nodeScript(t, "page", "page/servers.mjs", "page/console.mjs", "page/payloads.json")
	stdout, stderr, err := tryRun(t, env, append(argv, scenario, program(t, "chromium"), openedConsole(t, env), encode(t, settings))...)
	if err != nil || !strings.Contains(stdout, "\nend\n") || strings.Contains(stdout, "FAULT ") {
		t.Errorf("%s: %v\n%.8000s%.4000s", scenario, err, stdout, stderr)
	}
	t.Logf("%s", stdout)
}

// scriptedServer is a server of page/console_server.mjs.
func scriptedServer(t testing.TB, kind string, more ...string) []string {
	t.Helper()
	return append(nodeScript(t, "page", "page/console_server.mjs", "page/payloads.json"), append([]string{kind}, more...)...)
}

// gatewayOf runs junction up with a configuration, and waits until it answers.
func gatewayOf(t testing.TB, env []string, config string, flags ...string) (url string) {
	t.Helper()
	address := freeAddress(t)
	serving(t, env, address, append([]string{junction(t), "up", "--config", config, "--http", address}, flags...)...)
	return "http://" + address + "/mcp"
}

// configuration writes a configuration file with these servers and settings.
func configuration(t testing.TB, servers, settings object) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	written := object{"mcpServers": servers}
	if settings != nil {
		written["junction"] = settings
	}
	if err := os.WriteFile(path, []byte(encode(t, written)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func entryOf(argv []string) object { return object{"command": argv[0], "args": argv[1:]} }

func TestTheConsoleShowsServersAndTheirGateway(t *testing.T) {
	t.Parallel()
	env, dir := isolated(t), t.TempDir()
	servers := object{"ours": entryOf([]string{junction(t), "serve", "everything"})}
	var files realServer
	for _, s := range realServers(t)[:3] {
		servers[s.name] = entryOf(s.argv(t))
		if s.name == "filesystem" {
			files = s
		}
	}
	definition, rules, log := filepath.Join(dir, "definition.json"), filepath.Join(dir, "policy.json"), filepath.Join(dir, "audit")
	for path, text := range map[string]string{
		definition: `{"description":"Tells the weather of a city."}`,
		rules:      `{"rules":[{"effect":"deny","tool":"delete_*","reason":"what is known is kept"},{"effect":"ask","server":"filesystem","when":"!annotations.readOnly","reason":"a person agrees first"}],"default":"allow"}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servers["weather"] = entryOf(scriptedServer(t, "changing", definition))
	config := configuration(t, servers, object{"profiles": object{"reading": object{"servers": []string{"filesystem"}, "tools": "all"}}})
	url := gatewayOf(t, env, config, "--review", "all", "--policy", rules, "--audit="+log)
	call := []string{junction(t), "call", url}
	viewed(t, env, "gateway", object{"config": config, "audit": log, "definition": definition,
		"calls": [][]string{append(call, "filesystem__"+files.tool, encode(t, files.arguments(t))), append(call, "memory__delete_entities", `{"entityNames":["Ada"]}`)}})
}

// The user who runs junction up approves and refuses calls in the console, for every role.
func TestTheConsoleShowsCallsThatWait(t *testing.T) {
	t.Parallel()
	env, rules := isolated(t), filepath.Join(t.TempDir(), "policy.json")
	key := strings.TrimSpace(run(t, env, junction(t), "key", "create", "ann"))
	if err := os.WriteFile(rules, []byte(`{"default": "allow", "rules": [{"effect": "ask", "of": "role:sre", "for": "1h", "tool": "echo", "reason": "look first"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, object{"ours": entryOf([]string{junction(t), "serve", "everything"})}, object{
		"policy": rules, "audit": object{"folder": t.TempDir()},
		"roles": object{"sre": object{"who": []string{"key:bob"}}, "dev": object{"who": []string{"key:ann"}}},
	})
	url := gatewayOf(t, env, config, "--auth", "keys")
	viewed(t, env, "approvals", object{"call": []string{junction(t), "call", url, "ours__echo", "message=TEXT", "--header", "Authorization: Bearer " + key}})
}

func TestTheConsoleShowsConversations(t *testing.T) {
	t.Parallel()
	dir := sandbox(t)
	note := filepath.Join(dir, "hello.txt")
	c := newChat(t, map[string][]string{"files": npmServer("@modelcontextprotocol/server-filesystem/dist/index.js", dir)(t)}, []replay.Turn{
		{Expect: asked("What is in the note?"), Calls: callOf("files__read_text_file", object{"path": note})},
		{Text: "The note says hello from a file."},
	}, "--approve", "files", "--allow", "files/read_*")
	if stdout, stderr, code := c.ask(t, "What is in the note?"); code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stdout, stderr)
	}
	other := newChat(t, nil, []replay.Turn{{Text: "Bread needs flour."}})
	other.env = c.env
	if stdout, stderr, code := other.ask(t, "What does bread need?"); code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stdout, stderr)
	}
	stored := storedIn(t, filepath.Join(c.home, "state"))
	planned := stored.New(archive.Meta{Model: "recorded"})
	wish := model.UserText("A report, please.")
	for _, e := range []host.Entry{{Title: "A report"}, {Message: &wish}, {Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: hostileMarkdown}}}}, {Plan: &host.Plan{Goal: "Write the report", Steps: []host.PlanStep{{Text: "look at the file", State: host.PlanDone}, {Text: "write"}}}}} {
		e.At = time.Now()
		if err := planned.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	viewed(t, c.env, "conversations", object{})
}

// hostileMarkdown is what a model could write to deceive who reads it.
const hostileMarkdown = `# Report

- **one** and ` + "`code`" + `
- [my bank](https://evil.example/a) [https://bank.example](https://evil.example/b) <https://plain.example/>
- [run](javascript:window.ran=1) [data](data:text/html,<script>window.ran=1</script>) [mail](mailto:a@b.example)

![pixel](https://evil.example/pixel.png) <img src=x onerror=window.ran=1> <script>window.ran=1</script>
`

// Each text of page/payloads.json stands wherever a server, a client or a model can write into these views.
func TestNothingThatWasWrittenRunsInTheConsole(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("page", "payloads.json"))
	if err != nil {
		t.Fatal(err)
	}
	var payloads []string
	if err := json.Unmarshal(data, &payloads); err != nil || len(payloads) < 60 {
		t.Fatalf("%d payloads, %v", len(payloads), err)
	}
	c := newChat(t, nil, nil)
	storeHostile(t, filepath.Join(c.home, "state"), payloads)
	config := configuration(t, object{"hostile": entryOf(scriptedServer(t, "hostile")), "failing": entryOf(scriptedServer(t, "hostile-failing"))}, nil)
	log := filepath.Join(t.TempDir(), "audit")
	url := gatewayOf(t, c.env, config, "--audit="+log, "--review", "all")
	viewed(t, c.env, "hostile", object{"call": []string{junction(t), "call", url}})
}

// storedIn opens the conversations that are stored in a folder.
func storedIn(t testing.TB, state string) *archive.Archive {
	t.Helper()
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	stored, err := archive.Open(t.Context(), filepath.Join(state, "conversations.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stored.Close() })
	return stored
}

// storeHostile stores a conversation for each payload, with it at every place that another wrote.
func storeHostile(t testing.TB, state string, payloads []string) {
	t.Helper()
	stored := storedIn(t, state)
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, payload := range payloads {
		c := stored.New(archive.Meta{Model: payload, Folder: payload})
		quoted := encode(t, payload)
		said := model.UserText(payload)
		called := model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: payload}, {Reasoning: &model.Reasoning{Text: payload}},
			{Call: &model.Call{ID: "1", Name: payload, Arguments: json.RawMessage(`{` + quoted + `:` + quoted + `}`)}}}}
		returned := model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: "1", Name: payload, IsError: true, Parts: []model.Part{
			{Text: payload}, {Media: &model.Media{Type: payload, Data: []byte(payload)}}, {Media: &model.Media{Type: "image/svg+xml", Data: []byte(payload)}},
			{Media: &model.Media{Type: "image/png", Data: []byte(payload)}}}}}}}
		for _, e := range []host.Entry{
			{At: at, Title: payload}, {At: at, Message: &said, Shown: payload}, {At: at, Message: &called}, {At: at, Message: &returned}, {At: at, Note: payload},
			{At: at, Flow: json.RawMessage(`{"sources":[{"server":` + quoted + `,"tool":` + quoted + `,"labels":` + quoted + `,"alarms":1}]}`)},
		} {
			if err := c.Append(e); err != nil {
				t.Fatalf("%q: %v", payload, err)
			}
		}
	}
}

// What a page of somebody else, at another port of this machine or under another name, gets of the console: nothing.
func TestOtherPagesCannotUseTheConsole(t *testing.T) {
	t.Parallel()
	env := isolated(t)
	gatewayOf(t, env, configuration(t, object{"talks": entryOf(scriptedServer(t, "talks"))}, nil))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Another</title><p>Another page."))
	}))
	t.Cleanup(other.Close)
	viewed(t, env, "others", object{"other": other.URL})
}

// The page of a server whose process has ended shows what was said last, and asks for nothing.
func TestTheConsoleLeavesAProcessThatEndedAlone(t *testing.T) {
	t.Parallel()
	env := isolated(t)
	gatewayOf(t, env, configuration(t, object{"talks": entryOf(scriptedServer(t, "talks"))}, nil))
	viewed(t, env, "ended", nil)
}

// Ten faults that somebody meets, each at a server of its own, whose page says why and what to do.
func TestTheConsoleSaysWhyAServerFails(t *testing.T) {
	t.Parallel()
	env := isolated(t)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of those who do not trust it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(locked.Close)
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	slow := entryOf(scriptedServer(t, "slow"))
	slow["startTimeout"] = "3s"
	config := configuration(t, object{
		"binary":   object{"command": "no-such-program-anywhere"},
		"file":     object{"command": "/nowhere/server"},
		"unset":    object{"command": node(t), "env": object{"KEY": "${NO_SUCH_VARIABLE_ANYWHERE}"}},
		"variable": entryOf(scriptedServer(t, "variable")),
		"path":     entryOf([]string{node(t), "/nowhere/server.mjs"}),
		"address":  object{"url": missing.URL + "/wrong"},
		"nobody":   object{"url": "http://" + freeAddress(t) + "/mcp"},
		"tls":      object{"url": secure.URL + "/mcp"},
		"login":    object{"url": locked.URL + "/mcp"},
		"era":      entryOf(scriptedServer(t, "era")),
		"schema":   entryOf(scriptedServer(t, "schema")),
		"slow":     slow,
		"noise":    entryOf(scriptedServer(t, "noise")),
		"crash":    entryOf(scriptedServer(t, "crash")),
	}, nil)
	url := gatewayOf(t, env, config)
	viewed(t, env, "faults", object{"call": []string{junction(t), "call", url, "crash__go"}, "faults": [][]string{
		{"binary", `start "no-such-program-anywhere": not found in PATH`, `install it, or set "command" to its absolute path`},
		{"file", `start "/nowhere/server": no such file`, `set "command" of the entry`},
		{"unset", "env.KEY: variable NO_SUCH_VARIABLE_ANYWHERE is not set", "set the variable in the environment of junction"},
		{"variable", "WEATHER_API_KEY environment variable is required", `the server needs the environment variable WEATHER_API_KEY: add "env"`},
		{"path", "Cannot find module '/nowhere/server.mjs'", `a file in "args" does not exist: use an absolute path`},
		{"address", "404", "the address often ends with /mcp or /sse"},
		{"nobody", "connection refused", "nothing listens there: start the server"},
		{"tls", "certificate", `"tls": {"ca": FILE} in the entry`},
		{"login", "401", "sign in: junction login login"},
		{"era", `got "1999-01-01"`, "no protocol revision in common: update the older one"},
		{"schema", `its type is not "object"`, `write "type": "object"`},
		{"slow", "no handshake within", `set a longer "startTimeout" in its entry`},
		{"noise", "is not JSON-RPC", "must log to standard error"},
		{"crash", "TypeError: cannot read properties of undefined", "restart it; if it fails again"},
	}})
}
