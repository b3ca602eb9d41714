package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// handled is what a layer of junction up does with a call, and where that is found.
var handled = []struct {
	layer   string
	tool    string
	args    map[string]any
	audit   string // members of a line of the audit log, without the braces
	note    string // kind of the note in traffic and in the console
	message string // part of its message
	effect  string // label of the count, with note
}{
	{"a rule allows", "s__echo", nil, `"decision":"allow","rule":"\"default\" (rules.json:1)"`, "policy", `"effect":"allow"`, "allow"},
	{"a rule refuses", "s__forbidden", nil, `"decision":"deny","rule":"deny tool \"forbidden\" of any server (rules.json:1)"`, "policy", `"effect":"deny"`, "deny"},
	{"a rule asks, and the client cannot be asked", "s__asked", nil, `"decision":"deny","rule":"ask tool \"asked\" of any server (rules.json:1)"`, "policy", `"said":"ask"`, "deny"},
	{"a rule asks a role, which does not approve the call", "s__approved", nil, `"decision":"deny","rule":"ask tool \"approved\" of any server by role:most (rules.json:1)"`, "approval", `"outcome":"expired"`, "deny"},
	{"the limit of a tool refuses", "s__limited", nil, `"decision":"deny","rule":"the limit of `, "limit", `"refused":`, "deny"},
	{"a secret in the arguments", "s__secret", map[string]any{"text": "ghp_" + strings.Repeat("a1B2", 9)}, `"decision":"deny","rule":"secrets"`, "secrets", `"in":"arguments"`, "deny"},
	{"a secret in the result", "s__leaking", nil, `"decision":"deny","rule":"secrets"`, "secrets", `"in":"result"`, "deny"},
	{"a call of a definition that is withheld", "s__changing", nil, `"decision":"deny","rule":"review"`, "review", `"refused":`, "deny"},
	{"scopes that the user lacks", "s__scoped", nil, `"decision":"deny","rule":"scopes"`, "scopes", `"refused":`, "deny"},
	{"a tool that no role of the user offers", "s__restricted", nil, `"decision":"deny","rule":"roles"`, "role", `"refused":`, "deny"},
	{"a role offers a tool", "s__echo", nil, `"role":"most"`, "role", `{"role":"most"}`, ""},
	{"a call that is sent again after a pause", "s__failing", nil, `"resent":1`, "retry", `"after":`, ""},
	{"a call that is sent again at once", "s__lost", nil, `"resent":1`, "resent", `{`, ""},
	{"arguments that the settings fix", "s__fixed", nil, `"rewritten":["arguments"]`, "rewritten", `{"of":"arguments","by":"edit","members":["text"]}`, ""},
	{"arguments that are hidden", "s__hidden", map[string]any{"text": "mine"}, `"rewritten":["arguments"]`, "rewritten", `{"of":"arguments","by":"redact"}`, ""},
	{"a result that is hidden", "s__structured", nil, `"rewritten":["result"]`, "rewritten", `{"of":"result","by":"redact"}`, ""},
	{"a result that is too long", "s__long", nil, `"rewritten":["result"]`, "rewritten", `{"of":"result","by":"results"}`, ""},
}

// TestLayersAreSeenEverywhere has each layer do what it does once, and looks for it in the audit log, the traffic, the metrics and the
// console.
func TestLayersAreSeenEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := newHandledServer(t)
	w.write("rules.json", `{"default": "allow", "rules": [{"effect": "allow", "tool": "nosuch"}, {"effect": "deny", "tool": "forbidden"}, {"effect": "ask", "tool": "asked"}, {"effect": "ask", "of": "role:most", "within": "1s", "tool": "approved"}]}`)
	w.write("mcp.json", `{"mcpServers": {"s": {"url": "`+server.url+`"}}, "junction": {"tools": "all", "policy": "rules.json", "review": "changes", "audit": {"folder": "log"},
		"authorization": {"tools": {"s__scoped": ["more"]}},
		"roles": {"most": {"who": ["key:ada"], "tools": ["s__[^r]*", "nosuch"]}},
		"servers": {"s": {"secrets": "both", "retries": 2, "maxResult": 2000, "tools": {
			"limited": {"limits": {"rate": "1/h"}},
			"fixed": {"fixed": {"text": "always"}},
			"hidden": {"redact": {"arguments": ["/text"]}},
			"structured": {"redact": {"results": ["/text"]}}}}}}}`)
	key := strings.TrimSpace(w.run("key", "create", "ada"))
	up := w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--auth", "keys")
	url, admin := up.find(`https?://127\.0\.0\.1:\d+/mcp`), up.find(`http://127\.0\.0\.1:\d+/metrics`)
	traffic := w.start("traffic", "--json", "--notes")
	traffic.find("Watching 1 process")
	console := w.console()

	c, err := mcp.Dial(t.Context(), streamable.ClientWith(url, streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server.change(t, c)
	console.joins(func() { _ = c.Ping(t.Context()) })
	for _, tt := range handled {
		for range 1 + strings.Count(tt.layer, "limit of") { // the first call is within it
			ctx, end := context.WithTimeout(t.Context(), guardTime)
			if _, err := c.CallTool(ctx, tt.tool, tt.args); ctx.Err() != nil {
				t.Errorf("%s: %v", tt.tool, err)
			}
			end()
		}
	}

	counts := w.get(admin)
	lines := w.run("audit", "query", "log", "--json")
	for _, tt := range handled {
		t.Run(tt.layer, func(t *testing.T) {
			own := strings.TrimPrefix(tt.tool, "s__")
			if !hasLine(lines, `"tool":"`+own+`"`, tt.audit) && !hasLine(lines, `"name":"`+tt.tool+`"`, tt.audit) {
				t.Errorf("the audit log has no %s of %s:\n%s", tt.audit, own, linesOf(lines, tt.tool))
			}
			if n := strings.Count(lines, `"name":"`+tt.tool+`"`); tt.effect == "deny" && strings.Count(linesOf(lines, tt.tool), `"kind":"decision"`) != 1 {
				t.Errorf("of %d lines about %s, not one is the decision:\n%s", n, tt.tool, linesOf(lines, tt.tool))
			}
			if !traffic.waitFor(func() bool { return hasNote(traffic.objects.String(), tt.tool, tt.note, tt.message) }) {
				t.Errorf("the traffic has no note %s of %s with %s", tt.note, tt.tool, tt.message)
			}
			if !strings.Contains(counts, fmt.Sprintf("mcp_notes_total{effect=%q,note=%q} ", tt.effect, tt.note)) {
				t.Errorf("no count of %s %s:\n%s", tt.note, tt.effect, grepped(counts, "mcp_notes_total"))
			}
			if !console.has(tt.tool, tt.note, tt.message) {
				t.Errorf("the console has no note %s of %s with %s", tt.note, tt.tool, tt.message)
			}
		})
	}
	if !hasLine(lines, `"server":"s"`, `"kind":"decision"`, `"name":"changing"`, `"tool":"changing","rule":"review"`) {
		t.Errorf("the audit log has no definition that is withheld:\n%s", lines)
	}
	if !strings.Contains(counts, `junction_withheld_definitions_total{server="s"} 1`) {
		t.Errorf("no count of definitions that are withheld:\n%s", grepped(counts, "withheld"))
	}
}

// hasLine reports whether a line has all parts.
func hasLine(lines string, parts ...string) bool {
	for line := range strings.Lines(lines) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// linesOf returns the lines about a tool, by the name that clients use.
func linesOf(lines, tool string) string { return grepped(lines, `"name":"`+tool+`"`) }

func grepped(text, part string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			all.WriteString(line)
		}
	}
	return all.String()
}

// hasNote reports whether objects of JSON, one after the other, have a note.
func hasNote(text, tool, kind, message string) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var e struct {
			Kind, Name, Note string
			Message          json.RawMessage
		}
		if decoder.Decode(&e) != nil {
			return false
		}
		compact, _ := json.Marshal(e.Message)
		if e.Kind == "note" && e.Name == tool && e.Note == kind && strings.Contains(string(compact), message) {
			return true
		}
	}
}

// A handledServer is the server that the layers are around.
type handledServer struct {
	url     string
	tools   *mcp.Server
	failing atomic.Bool // the first call fails
	lost    atomic.Bool // so does the first connection
}

func newHandledServer(t *testing.T) *handledServer {
	s := &handledServer{tools: mcp.NewServer("handled", "1")}
	type text struct {
		Text string `json:"text,omitempty"`
	}
	for _, name := range []string{"echo", "forbidden", "asked", "approved", "limited", "secret", "scoped", "fixed", "hidden", "changing", "restricted"} {
		mcp.AddTool(s.tools, name, func(_ context.Context, in text) (string, error) { return "got " + in.Text, nil })
	}
	mcp.AddTool(s.tools, "leaking", func(context.Context, struct{}) (string, error) { return "ghp_" + strings.Repeat("a1B2", 9), nil })
	mcp.AddTool(s.tools, "structured", func(context.Context, struct{}) (text, error) { return text{"mine"}, nil })
	mcp.AddTool(s.tools, "long", func(context.Context, struct{}) (string, error) { return strings.Repeat("long ", 1000), nil })
	mcp.AddToolWith(s.tools, mcp.Tool{Name: "lost", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(context.Context, struct{}) (string, error) { return "found", nil })
	mcp.AddToolWith(s.tools, mcp.Tool{Name: "failing", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(context.Context, struct{}) (string, error) { return "it goes", nil })
	h := streamable.Handler(s.tools)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), `"failing"`) && !s.failing.Swap(true) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if strings.Contains(string(body), `"lost"`) && !s.lost.Swap(true) {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	s.url = served.URL + "/mcp"
	return s
}

// change has the tool changing do something else than it did when junction saw it first, and waits until clients do not see it.
func (s *handledServer) change(t *testing.T, c *mcp.Client) {
	listed := func() (has bool) {
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			has = has || tool.Name == "s__changing"
		}
		return has
	}
	if !listed() {
		t.Fatal("the tool is not listed before it changes")
	}
	err := s.tools.SetTool(mcp.Tool{Name: "changing", Description: "Deletes all.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, errors.New("it ran") })
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(guardTime); listed(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the changed tool is still listed")
		}
	}
}

// A world is a home and a folder, in which other processes of junction run.
type world struct {
	*testing.T
	dir string
}

func newWorld(t *testing.T) *world { return &world{T: t, dir: t.TempDir()} }

func (w *world) write(name, text string) {
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) command(args ...string) *exec.Cmd {
	argv := self(w.T, args...)
	cmd := child(w.T, argv[0], argv[1:]...)
	cmd.Dir = w.dir
	cmd.Env = append(clitest.PlaceOf(w.T).Environ(), "HOME="+w.dir, "XDG_CONFIG_HOME="+w.dir, "XDG_CACHE_HOME="+w.dir, "APPDATA="+w.dir, "LOCALAPPDATA="+w.dir, "XDG_RUNTIME_DIR="+w.dir)
	return cmd
}

// run returns what a command prints.
func (w *world) run(args ...string) string {
	w.Helper()
	out, err := w.command(args...).Output()
	if err != nil {
		var failed *exec.ExitError
		errors.As(err, &failed)
		w.Fatalf("junction %q: %v: %s", args, err, failed.Stderr)
	}
	return string(out)
}

// A startedCommand is a command that runs until the test ends.
type startedCommand struct {
	*world
	objects *clitest.SafeBuffer // standard output
	printed *clitest.SafeBuffer // standard error
	process *os.Process
}

func (w *world) start(args ...string) *startedCommand {
	p := &startedCommand{world: w, objects: new(clitest.SafeBuffer), printed: new(clitest.SafeBuffer)}
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = p.objects, p.printed
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	p.process = cmd.Process
	w.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return p
}

// waitFor waits until something is so, and reports whether that came within guardTime.
func (p *startedCommand) waitFor(so func() bool) bool {
	for end := time.Now().Add(guardTime); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// find returns what the process prints that matches.
func (p *startedCommand) find(pattern string) string {
	p.Helper()
	re := regexp.MustCompile(pattern)
	printed := func() string { return p.printed.String() + p.objects.String() }
	if !p.waitFor(func() bool { return re.MatchString(printed()) }) {
		p.Fatalf("it does not print %s: %s", pattern, printed())
	}
	return re.FindString(printed())
}

func (w *world) get(url string) string {
	w.Helper()
	response, err := http.Get(url)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return string(body)
}

// A messages is the API of a console.
type messages struct {
	*world
	api     string
	browser *http.Client
}

func (w *world) console() *messages {
	link := w.start("console", "--no-browser").find(`http://\S+\?token=\S+`)
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	m := &messages{w, strings.Split(link, "?")[0] + "api/v1/", &http.Client{Jar: jar}}
	m.get(link)
	return m
}

func (m *messages) get(url string) []byte {
	response, err := m.browser.Get(url)
	if err != nil {
		m.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		m.Fatal(err)
	}
	return body
}

// joins waits until the console shows messages, of which send sends one: it looks for processes now and then.
func (m *messages) joins(send func()) {
	for end := time.Now().Add(guardTime); ; time.Sleep(20 * time.Millisecond) {
		send()
		var page struct{ Items []json.RawMessage }
		if err := json.Unmarshal(m.get(m.api+"traffic?limit=1"), &page); err != nil {
			m.Fatal(err)
		}
		if len(page.Items) > 0 {
			return
		}
		if time.Now().After(end) {
			m.Fatal("the console does not see junction up")
		}
	}
}

// has reports whether the console has a note, which may come a moment later.
func (m *messages) has(tool, kind, message string) bool {
	for end := time.Now().Add(guardTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var page struct {
			Items []struct {
				Seq        uint64
				Name, Note string
			}
		}
		if err := json.Unmarshal(m.get(m.api+"traffic?kind=note&headers=false&limit=1000&name="+tool), &page); err != nil {
			m.Fatal(err)
		}
		for _, item := range page.Items {
			var whole struct{ Message json.RawMessage }
			if item.Name == tool && item.Note == kind && json.Unmarshal(m.get(m.api+fmt.Sprint("traffic/", item.Seq)), &whole) == nil && strings.Contains(string(whole.Message), message) {
				return true
			}
		}
	}
	return false
}
