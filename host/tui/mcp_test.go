package tui

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

func TestTheKeysOfTheServers(t *testing.T) {
	session := panels()
	session.stderr = map[string][]string{"web": {"no \x1b[2Jmodule"}}
	session.servers[2].Remedy = "it needs a token: get one"
	play(t, session, 80, 24, func(st *stage) {
		st.tell(host.Event{Log: &host.Logged{Server: "web", Level: mcp.LogError, Data: object(`"broken"`)}}, host.Event{Log: &host.Logged{Server: "ev", Level: mcp.LogInfo, Data: object(`"fine"`)}})
		st.keys("<f2><enter>")
		expect(t, "its tools", st.frame(), `
── tools of ev ─────────────────────────────────────────────────────────────────
ev · add “Add numbers”  sent
↑↓ scroll · Esc close
test-model · 2/4 servers, 15 tools, 1 to review, 1 failed · 13.0k tokens`)
		st.keys("<esc><down><down>")
		st.holds("▸ ✗ web failed\n    exec: \\x1b[2J not found; it needs a token: get one\n")
		st.keys("l")
		st.holds("── log of web ──")
		st.holds("no \\x1b[2Jmodule\n")
		st.holds("web broken\n")
		st.holds("exec: \\x1b[2J not found; it needs a token: get one\n")
		if frame := st.frame(); strings.Contains(frame, "fine") {
			t.Errorf("it has the log of another server:\n%s", frame)
		}
		st.keys("<esc>r")
		st.holds("web is being restarted")
		st.holds("▸ ✗ web failed") // the list is there still
		st.keys("<home>o")
		st.holds("▸ – ev off, connected, 12 tools, about 1.5k tokens\n    off in this conversation: the model cannot use it")
		st.keys("<down>")
		st.holds("1/3 servers, 3 tools, 1 to review, 1 failed, 1 off")
		st.keys("<up>o")
		st.holds("ev is on")
		st.holds("▸ ● ev connected, 12 tools, about 1.5k tokens\n")
		st.keys("t")
		st.holds("▸ until junction chat ends\n  permanently  with its present command\n")
		st.keys("<down><enter>")
		st.holds("▸ ● ev connected, 12 tools, about 1.5k tokens, trusted\n")
		st.keys("t")
		st.holds("ev is trusted; /permissions undoes it")
		st.keys("x<esc>")
		for _, want := range []string{"restart web", "trust ev true"} {
			if !session.did(want) {
				t.Errorf("it did not %s: %q", want, session.calls)
			}
		}
		for _, want := range []string{"web is being restarted", "ev is off in this conversation: the model has none of its tools", "ev is on", "ev is trusted permanently"} {
			st.printedText(want)
		}
		if st.screen.panel != nil {
			t.Error("Esc does not close it")
		}
	})
}

func TestServersAreChangedByCommand(t *testing.T) {
	session := panels()
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/mcp restart ev<enter>")
		st.printedText("ev is being restarted")
		st.keys("/mcp off ev<enter>")
		st.printedText("ev is off in this conversation")
		st.holds("1/3 servers")
		st.keys("/mcp trust files<enter><enter>")
		st.printedText("files is trusted until junction chat ends")
		st.keys("/mcp restart nowhere<enter>")
		st.holds(`there is no server "nowhere"; /mcp lists them`)
		st.keys("/mcp away ev<enter>")
		st.holds("expected /mcp VERB SERVER with one of tools, restart, off, on, trust, log")
		session.fail = errScripted
		st.keys("/mcp on ev<enter>")
		st.printedText("error: the provider is on holiday")
		st.keys("<f2>r")
		st.holds("error: the provider is on holiday")
	})
}

func TestAnEmptyListOfServers(t *testing.T) {
	play(t, &scripted{}, 60, 20, func(st *stage) {
		st.keys("<f2>r<down><end>o")
		st.holds("no server is configured")
		st.keys("<esc>/mcp log x<enter>")
		st.holds(`there is no server "x"`)
	})
}

func TestManyServersAreScrolledThrough(t *testing.T) {
	session := &scripted{}
	for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		session.servers = append(session.servers, host.ServerTools{Server: name, State: host.StateConnected})
	}
	play(t, session, 60, 12, func(st *stage) {
		st.keys("<f2><end>")
		st.holds("▸ ● z connected")
		st.keys("<pgup><up>")
		st.holds("▸ ● u connected")
		st.keys("<home><pgdown>")
		st.holds("▸ ● e connected")
		st.holds("  ● a connected")
	})
}

// A whole program on a terminal that prints lines: what is shown and done is the same.
func TestServersAndPermissionsLineByLine(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer("ev", "1.0.0")
	mcp.AddTool(server, "add", func(context.Context, struct{ A, B int }) (int, error) { return 0, nil })
	started := make(chan struct{}, 2)
	g := gateway.New(gateway.Options{OneClient: true, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { g.Close() })
	err := g.Add("ev", gateway.Upstream{Dial: func(context.Context, *gateway.Start) (*mcp.Client, error) {
		started <- struct{}{}
		return mcp.NewClientWith(server, mcp.ClientOptions{Name: "ev"}), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	keys, out, ended := withPermissions(t, host.Options{Gateway: g, Servers: []host.Server{{Name: "ev", Trusted: true, Stderr: func() []string { return []string{"listening"} }}}})
	say := func(await, line string) {
		out.await(t, await)
		if _, err := io.WriteString(keys, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say("Welcome.", "/mcp")
	say("1 ● ev connected, 1 tool", "/mcp tools ev")
	say("ev · add  sent", "/mcp log ev")
	say("listening", "/mcp off ev")
	say("ev is off in this conversation", "/mcp tools ev")
	say("ev · add  off", "/mcp restart ev")
	say("ev is being restarted", "/permissions undo 1")
	say("there is no number 1 in the list", "/permissions")
	say(`2 built in  built-in`, "/permissions undo 1")
	say("a rule is removed", "/permissions undo 2")
	say("it is built in", "/permissions remove")
	say("expected /permissions, or /permissions undo NUMBER", "/quit")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	<-started
	<-started
}

// withPermissions runs a UI of a real host on a terminal that prints lines, with two permissions.
func withPermissions(t *testing.T, o host.Options) (keys *io.PipeWriter, out *output, ended chan error) {
	t.Helper()
	o.Model = parrot{}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	if err := h.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	session, err := Attach(t.Context(), h, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	out, ended = &output{}, make(chan error, 1)
	ui, err := New(Options{In: r, Out: out, Env: []string{"TERM=dumb"}, Theme: "mono", Greeting: "Welcome.", Permissions: (&granted{}).list})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- ui.Run(ctx, session) }()
	t.Cleanup(func() { cancel(); w.Close() })
	return w, out, ended
}

func TestTheServersOfASession(t *testing.T) {
	t.Parallel()
	h, err := host.New(host.Options{Model: parrot{}, Servers: []host.Server{{Name: "ev", Handler: mcp.NewServer("ev", "1")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	store := &folder{kept: map[string]*kept{}}
	s, err := Attach(t.Context(), h, store, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{h.Settle(t.Context()), s.Talk().SetOff("ev", true), s.Talk().Trust("ev", false), s.Name(t.Context(), "x")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if ev := s.Talk().Servers()[0]; !ev.Off || !ev.Trusted || len(s.Talk().Approvals()) != 0 || s.Stderr("ev") != nil {
		t.Errorf("it is %+v", ev)
	}
	if err := s.Talk().Distrust("ev"); err != nil || s.Talk().Servers()[0].Trusted {
		t.Errorf("%v, %+v", err, s.Talk().Servers())
	}
	id := s.Saved().ID
	if err := s.New(t.Context()); err != nil || s.Talk().Servers()[0].Off {
		t.Errorf("%v; in another conversation it is %+v", err, s.Talk().Servers()[0])
	}
	if err := s.Resume(t.Context(), id); err != nil || !s.Talk().Servers()[0].Off {
		t.Errorf("%v; resumed it is %+v", err, s.Talk().Servers()[0])
	}
}

// A whole program on a terminal of 80 columns: every key of both lists.
func TestServersAndPermissionsInAWholeProgram(t *testing.T) {
	t.Parallel()
	session, g := panels(), &granted{}
	session.stderr = map[string][]string{"ev": {"listening on a pipe"}}
	r, keys := io.Pipe()
	out := &output{}
	ui, err := New(Options{In: r, Out: out, Env: []string{"TERM=xterm-256color"}, Theme: "mono", Greeting: "Welcome.", Permissions: g.list})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ui.Run(ctx, session) }()
	t.Cleanup(func() { cancel(); keys.Close() })
	for _, step := range []struct {
		keys, shown string
		done        func() bool // what the terminal redraws in pieces
	}{
		{"", "Welcome.", nil},           // the size of what is no terminal is not known
		{"\x1b[48;24;80;0;0t", "", nil}, // as terminals report it
		{"/mcp\r", "Enter tools · r restart · o on/off · t trust · l log · Esc close", nil},
		{"\r", "ev · add “Add numbers”  sent", nil},
		{"\r", "", nil}, // which closes it
		{"r", "", func() bool { return session.did("restart ev") }},
		{"o", "", func() bool { return session.Servers()[0].Off }},
		{"o", "", func() bool { return !session.Servers()[0].Off }},
		{"l", "listening on a pipe", nil},
		{"q", "", nil},
		{"t", "until junction chat ends", nil},
		{"\r", "", func() bool { return session.did("trust ev false") }},
		{"q", "", nil},
		{"/permissions\r", "d take back", nil},
		{"d", "", func() bool { all, _ := g.list(ctx, nil); return len(all) == 1 }},
		{"q", "", nil},
		{"/quit\r", "", nil},
	} {
		if _, err := io.WriteString(keys, step.keys); err != nil {
			t.Fatal(err)
		}
		out.await(t, step.shown)
		for range 1_000 {
			if step.done == nil || step.done() {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if step.done != nil && !step.done() {
			t.Fatalf("%q does nothing; there is\n%q", step.keys, out.String())
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
