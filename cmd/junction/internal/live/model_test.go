package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

// scripted is a gateway that says what the test has it say.
type scripted struct {
	status   Status
	log      []string
	withheld string
	did      []string
}

func (s *scripted) Status() Status             { return s.status }
func (s *scripted) Log(server string) []string { return s.log }
func (s *scripted) Restart(server string) error {
	s.did = append(s.did, "restart "+server)
	if server == "dead" {
		return errors.New("there is none")
	}
	return nil
}
func (s *scripted) Unapproved(context.Context, string) (text, hash string, err error) {
	if s.withheld == "" {
		return "", "", nil
	}
	return s.withheld, "hash of " + s.withheld, nil
}
func (s *scripted) Approve(_ context.Context, server, hash string) error {
	s.did = append(s.did, "approve "+server+" "+hash)
	return nil
}
func (s *scripted) Hosts() []Host {
	return []Host{{"Cursor", []string{"junction", "host", "connect", "cursor"}}}
}
func (s *scripted) Connect() string { return "paste this" }

const hostile = "evil\x1b[2J\x1b]0;owned\a\u202e\r\nline"

func three() *scripted {
	return &scripted{status: Status{Endpoint: "http://127.0.0.1:7717/mcp", Summary: "3 servers: 2 connected, 1 failed · 31 tools", Servers: []Server{
		{Name: "files", State: "connected", Tools: 14, Withheld: 2},
		{Name: "time", State: "connected", Tools: 17},
		{Name: "dead", State: "failed", Failed: true, Problem: "connection refused " + hostile + strings.Repeat(" very long", 40)},
	}}}
}

// A user is somebody at a screen of a size.
type user struct {
	t *testing.T
	m *model
}

func sits(t *testing.T, u *UI, width, height int) *user {
	t.Helper()
	m := newModel(t.Context(), u)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return &user{t, m}
}

// press presses keys by their names, and lets happen what they begin.
func (u *user) press(names ...string) *user {
	u.t.Helper()
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "backspace": tea.KeyBackspace}
	for _, name := range names {
		msg := tea.KeyPressMsg{Code: special[name]}
		if msg.Code == 0 {
			msg = tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
		}
		if name == "ctrl+c" {
			msg = tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
		}
		_, cmd := u.m.Update(msg)
		if cmd != nil {
			u.m.Update(cmd())
		}
		u.shown() // it is drawn in between
	}
	return u
}

// shown is the screen without colours, after looking that it fits.
func (u *user) shown() string {
	u.t.Helper()
	content := u.m.View().Content
	lines := strings.Split(content, "\n")
	if len(lines) > u.m.height {
		u.t.Errorf("%d lines are shown on %d:\n%s", len(lines), u.m.height, content)
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > u.m.width {
			u.t.Errorf("%q does not fit in %d cells", line, u.m.width)
		}
	}
	plain := ansi.Strip(content)
	for _, r := range plain {
		if r < ' ' && r != '\n' || r == '\u202e' || r == 0x7f {
			u.t.Errorf("%q reaches the terminal", r)
		}
	}
	return plain
}

func (u *user) sees(texts ...string) *user {
	u.t.Helper()
	shown := u.shown()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			u.t.Errorf("%q is not on the screen:\n%s", text, shown)
		}
	}
	return u
}

func (u *user) misses(texts ...string) *user {
	u.t.Helper()
	shown := u.shown()
	for _, text := range texts {
		if strings.Contains(shown, text) {
			u.t.Errorf("%q is on the screen:\n%s", text, shown)
		}
	}
	return u
}

func TestServersAreATableOfAnySize(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}, {200, 60}, {40, 8}, {20, 3}, {1, 1}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			u := sits(t, New(Options{Gateway: three()}), size[0], size[1])
			u.press("down", "down", "c", "esc", "t", "esc", "m", "esc", "?", "esc", "l", "esc").shown()
			if size[0] >= 60 {
				u.sees("http://127.0.0.1:7717/mcp", "3 servers: 2 connected", "14, 2 withheld", "17", "failed", "dead: connection refused", "? help  q quit")
			}
		})
	}
}

func TestKeysOfServers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		keys    []string
		sees    []string
		misses  []string
		did     string
		running int
	}{
		{name: "the log", keys: []string{"enter"}, sees: []string{"Log of files", "a line of it", "r restart"}},
		{name: "the log by its letter", keys: []string{"j", "l"}, sees: []string{"Log of time"}},
		{name: "restart", keys: []string{"j", "r"}, sees: []string{"time restarts"}, did: "restart time"},
		{name: "restart in the log", keys: []string{"enter", "r"}, sees: []string{"files restarts"}, did: "restart files"},
		{name: "a restart that fails", keys: []string{"j", "j", "r"}, sees: []string{"there is none"}, did: "restart dead"},
		{name: "what is withheld is shown first", keys: []string{"a"}, sees: []string{"Withheld of files", "tool write"}},
		{name: "and approved then", keys: []string{"a", "y"}, sees: []string{"approved; files"}, misses: []string{"tool write"}, did: "approve files hash of tool write " + hostile},
		{name: "or not", keys: []string{"a", "esc", "y"}, misses: []string{"tool write", "approved"}},
		{name: "how to connect", keys: []string{"c"}, sees: []string{"Cursor", "host connect cursor", "paste this"}},
		{name: "a filter", keys: []string{"/", "t", "i", "m", "enter"}, sees: []string{"time", `only lines with "tim"`}, misses: []string{"files  conn"}},
		{name: "a filter that is corrected", keys: []string{"/", "x", "backspace", "t", "i", "enter"}, sees: []string{"time"}, misses: []string{"files  conn"}},
		{name: "a filter that is taken away", keys: []string{"/", "t", "i", "m", "enter", "esc"}, sees: []string{"files  conn", "time"}},
		{name: "a filter for nothing", keys: []string{"/", "x", "x", "enter", "enter", "r", "a", "down"}, misses: []string{"Log of"}},
		{name: "letters of a filter do nothing else", keys: []string{"/", "r", "q"}, sees: []string{"/rq"}},
		{name: "help", keys: []string{"?"}, sees: []string{"restart the server", "Up, k"}},
		{name: "quitting waits for calls", keys: []string{"q"}, running: 2, sees: []string{"2 requests of clients running"}},
		{name: "which any key calls off", keys: []string{"q", "j"}, running: 2, misses: []string{"running: q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := three()
			g.log, g.withheld = []string{"a line of it " + hostile}, "tool write "+hostile
			g.status.Servers[0].Running = tt.running
			u := sits(t, New(Options{Gateway: g}), 80, 24)
			u.press(tt.keys...).sees(tt.sees...).misses(tt.misses...)
			if got := strings.Join(g.did, "; "); got != tt.did {
				t.Errorf("the gateway did %q, want %q", got, tt.did)
			}
		})
	}
}

// What is on the screen follows what changes below it.
func TestChangesAreShown(t *testing.T) {
	g := three()
	ui := New(Options{Gateway: g})
	u := sits(t, ui, 80, 24)
	change := func() { u.m.Update(changedMsg{}) }
	g.status.Servers[1].State = "not responding"
	change()
	u.sees("not responding").press("l")
	for n := range 40 {
		g.log = append(g.log, fmt.Sprint("line ", n))
	}
	change()
	u.sees("line 39").misses("line 3\n").press("up")
	g.log = append(g.log, "line 40")
	change()
	u.sees("line 38").misses("line 40").press("G").sees("line 40")
	ui.Print("read again:\n  time changed " + hostile + "\n")
	u.sees("read again: time changed").press("esc").misses("read again").press("m").sees("read again:", "time changed")
}

func TestQGoesBackFromAnotherView(t *testing.T) {
	u := sits(t, New(Options{Gateway: three()}), 80, 24)
	for _, open := range []string{"t", "c", "m", "?"} {
		u.press(open, "q").sees("q quit").misses("Esc back")
	}
}

func TestNothingIsApprovedThatWasNotShown(t *testing.T) {
	g := three()
	g.withheld = strings.Repeat("a line\n", 40) + "the last line"
	u := sits(t, New(Options{Gateway: g}), 80, 24)
	u.press("a", "y").sees("more below: Space shows them")
	if len(g.did) > 0 {
		t.Errorf("it did %q", g.did)
	}
	u.press(" ", " ").sees("the last line").press("y")
	if len(g.did) != 1 {
		t.Errorf("it did %q", g.did)
	}
}

func TestQuitting(t *testing.T) {
	for _, tt := range []struct {
		running int
		keys    []string // all but the last quit nothing
	}{
		{0, []string{"q"}}, {0, []string{"ctrl+c"}}, {1, []string{"q", "q"}}, {1, []string{"q", "j", "q", "ctrl+c"}},
	} {
		g := three()
		g.status.Servers[1].Running = tt.running
		u := sits(t, New(Options{Gateway: g}), 80, 24)
		for i, name := range tt.keys {
			msg := tea.KeyPressMsg{Code: rune(name[0]), Text: name}
			if name == "ctrl+c" {
				msg = tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
			}
			_, cmd := u.m.Update(msg)
			quits := false
			if cmd != nil {
				_, quits = cmd().(tea.QuitMsg)
			}
			if quits != (i == len(tt.keys)-1) {
				t.Errorf("with %d requests key %d of %q quits: %v", tt.running, i+1, tt.keys, quits)
			}
		}
	}
}

// goes is a call of which all messages went.
func goes(ui *UI, number uint64, tool, arguments, result string) {
	at := time.Date(2026, 11, 29, 17, 9, 13, 0, time.Local)
	message := func(hop, kind string, toServer bool, after time.Duration, name, text string) {
		ui.Event(Event{PID: 7, Shown: true, Event: traffic.Event{Time: at.Add(after), Kind: kind, Hop: hop, ToServer: toServer, Server: map[string]string{traffic.Server: "time"}[hop],
			Client: "cursor/1.2", Call: number, Method: "tools/call", Name: name, Message: json.RawMessage(text)}})
	}
	request := fmt.Sprintf(`{"params":{"name":"time__%s","arguments":%s,"_meta":{"x":1}}}`, tool, arguments)
	message(traffic.Client, traffic.Request, true, 0, "time__"+tool, request)
	message(traffic.Server, traffic.Request, true, 1e6, tool, request)
	if result == "" {
		return
	}
	message(traffic.Server, traffic.Response, false, 2e6, tool, result)
	message(traffic.Client, traffic.Response, false, 3e6, "time__"+tool, result)
}

func TestCallsAreOneLineEach(t *testing.T) {
	ui := New(Options{})
	goes(ui, 1, "get_current_time", `{"timezone":"UTC"}`, `{"result":{"content":[{"type":"text","text":"noon"}]}}`)
	goes(ui, 2, "get_current_time", `{"timezone":"Mars/Base"}`, `{"result":{"isError":true,"content":[{"type":"text","text":"Invalid timezone, `+strings.Repeat("really ", 50)+`"}]}}`)
	goes(ui, 3, "convert", `{"a":"`+"\\u001b[2J"+`"}`, "")
	u := sits(t, ui, 80, 24)
	want := []string{
		`17:09:13 cursor      time/get_current_time      ok       3.0 ms {"timezone":"UT…`,
		`17:09:13 cursor      time/get_current_time      failed   3.0 ms Invalid timezon…`,
		`17:09:13 cursor      time/convert               running`,
	}
	ui.Event(Event{Event: traffic.Event{Kind: traffic.Dropped, Count: 2}})
	u.sees(want...).sees("3 requests, 1 failed, 2 messages missed").misses("Esc back")
	u.press("up", "enter").sees("time/get_current_time, for cursor/1.2: failed", `"timezone": "Mars/Base"`, "Invalid timezone", "Result")
	u.press("esc", "/", "n", "v", "e", "r", "t", "enter").sees("time/convert").misses("get_current_time")
	u.press("esc", "up", "up").press("enter").sees("UTC")
	sits(t, ui, 60, 20).sees("time/get_current_time", "failed")
}

// A running call shows its time and its progress; a response may ask the client for input before the next request.
func TestRunningCalls(t *testing.T) {
	ui := New(Options{})
	now := time.Date(2026, 11, 29, 17, 9, 13, 0, time.Local)
	ui.calls.now = func() time.Time { return now }
	event := func(kind string, toServer bool, method, text string) {
		ui.Event(Event{PID: 7, Shown: true, Event: traffic.Event{Time: now, Kind: kind, Hop: traffic.Client, ToServer: toServer, Call: 1, Method: method, Name: "copy", Message: json.RawMessage(text)}})
	}
	u := sits(t, ui, 80, 24)
	request := `{"params":{"name":"copy","arguments":{"from":"a"}}}`
	event(traffic.Request, true, "tools/call", request)
	u.sees(`running         {"from":"a"}`)
	now = now.Add(75 * time.Second)
	event(traffic.Notification, false, "notifications/progress", `{"params":{"progress":3,"total":10,"message":"files"}}`)
	u.sees(`running   1m15s 3 of 10: files`)
	if _, running := ui.calls.status(); !running {
		t.Error("no call runs")
	}
	event(traffic.Response, false, "tools/call", `{"result":{"resultType":"input_required","inputRequests":{}}}`)
	u.sees(`asks      1m15s {"from":"a"}`).misses("3 of 10")
	u.press("enter").sees("needs input from its client").press("esc")
	was := now
	now = now.Add(mcp.DefaultStateTimeout)
	u.press("enter").sees("the client left").press("esc")
	u.sees(`left      1m15s the client did …`).misses("asks")
	now = was
	event(traffic.Request, true, "tools/call", request)
	u.sees("running")
	event(traffic.Response, false, "tools/call", `{"result":{"content":[]}}`)
	u.sees("ok").misses("running")
}

// A legacy client that cancels a call gets no response to it.
func TestCancelledCallsEnd(t *testing.T) {
	ui := New(Options{})
	at := time.Now()
	event := func(call uint64, method, id, message string) {
		ui.Event(Event{PID: 7, Shown: true, Event: traffic.Event{Time: at, Kind: map[bool]string{true: traffic.Request, false: traffic.Notification}[call > 0], Hop: traffic.Client, ToServer: true, Client: "c/1", Call: call,
			ID: json.RawMessage(id), Method: method, Name: "wait", Message: json.RawMessage(message)}})
	}
	event(1, "tools/call", "4", `{"params":{"name":"wait"}}`)
	event(2, "tools/call", "5", `{"params":{"name":"wait"}}`)
	event(0, "notifications/cancelled", "", `{"params":{"requestId":4}}`)
	event(0, "notifications/cancelled", "", `{"params":{"requestId":9}}`)
	u := sits(t, ui, 120, 24)
	u.sees("failed", "cancelled by the client", "running")
	if n, failed, _ := ui.calls.counted(); n != 2 || failed != 1 {
		t.Errorf("%d calls, %d failed", n, failed)
	}
}

func TestHandshakesAndListsAreHidden(t *testing.T) {
	ui := New(Options{})
	for n, method := range []string{"server/discover", "tools/list", "resources/read", "prompts/list"} {
		event := Event{PID: 7, Shown: true, Event: traffic.Event{Time: time.Now(), Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Call: uint64(n + 1), Method: method}}
		ui.Event(event)
		event.Kind, event.ToServer = traffic.Response, false
		if method == "prompts/list" { // failed
			event.Kind, event.Fault = traffic.Failure, "the server is lost"
		}
		ui.Event(event)
	}
	u := sits(t, ui, 80, 24)
	u.sees("4 requests, 1 failed; o shows 2 others", "resources/read", "prompts/list").misses("tools/list", "server/discover")
	u.press("o").sees("tools/list", "server/discover").misses("o shows")
	u.press("o").misses("tools/list")
}

func TestLinesBelowTheScreenAreCounted(t *testing.T) {
	ui := New(Options{})
	for n := range 50 {
		goes(ui, uint64(n+1), fmt.Sprint("tool", n), `{}`, `{"result":{}}`)
	}
	u := sits(t, ui, 80, 14)
	u.misses("below").press("g").sees("40 lines below").press("G").misses("below")
}

// The cursor stays on a call while others come, unless it is on the last one.
func TestTheCursorFollows(t *testing.T) {
	ui := New(Options{})
	for n := range 50 {
		goes(ui, uint64(n+1), fmt.Sprint("tool", n), `{}`, `{"result":{}}`)
	}
	u := sits(t, ui, 80, 10)
	u.sees("tool49").misses("tool40")
	goes(ui, 51, "tool50", `{}`, `{"result":{}}`)
	u.sees("tool50").press("up", "up")
	for n := range 30 {
		goes(ui, uint64(100+n), fmt.Sprint("more", n), `{}`, `{"result":{}}`)
	}
	if u.sees("tool48"); u.m.selected() != "7/49" {
		t.Errorf("the cursor is on %q", u.m.selected())
	}
	u.press("G").sees("more29").press("g").sees("tool0")
}

func TestCallsThatAreManyAreForgotten(t *testing.T) {
	ui := New(Options{})
	for n := range maxCalls + 10 {
		goes(ui, uint64(n+1), "a", `{}`, `{"result":{}}`)
	}
	if n := len(ui.calls.all); n != maxCalls || len(ui.calls.by) != maxCalls {
		t.Errorf("%d calls are kept, %d by their numbers; want %d", n, len(ui.calls.by), maxCalls)
	}
	if got := ui.calls.tallies()["time"].calls; got != maxCalls+10 {
		t.Errorf("%d calls of the server are counted", got)
	}
	if got := ui.calls.text("7/1"); !strings.Contains(got, "no longer kept") {
		t.Errorf("the first call is %q", got)
	}
}

func TestDocumentationHasTheKeys(t *testing.T) {
	for page, up := range map[string]bool{"gateway.md": true, "cli.md": false} {
		text, err := os.ReadFile("../../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		if want := Documented(up); !strings.Contains(string(text), want) {
			t.Errorf("%s does not have\n%s", page, want)
		}
	}
}

// What is asked for in one view does not come over another one, whose keys are pressed then.
func TestAReviewThatComesLateIsNotApprovedForAnother(t *testing.T) {
	for name, keys := range map[string][]string{
		"while another is shown":    {"j", "a"},
		"while a filter is typed":   {"/"},
		"while the traffic is read": {"t"},
	} {
		t.Run(name, func(t *testing.T) {
			g := three()
			g.withheld = "tool late"
			u := sits(t, New(Options{Gateway: g}), 80, 24)
			_, late := u.m.Update(tea.KeyPressMsg{Code: 'a', Text: "a"})
			g.withheld = "tool write"
			u.press(keys...)
			g.withheld = "tool late"
			u.m.Update(late())
			u.misses("Withheld of files", "tool late").press("y")
			for _, did := range g.did {
				if strings.Contains(did, "files") {
					t.Errorf("the gateway did %q", did)
				}
			}
		})
	}
}

func TestAllIsShownBeforeItIsApproved(t *testing.T) {
	g := three()
	g.withheld = "tool harmless\ntool write"
	u := sits(t, New(Options{Gateway: g}), 80, 24)
	u.press("a", "/", "h", "a", "r", "m", "enter").misses("tool write").press("y")
	if len(g.did) > 0 {
		t.Errorf("the gateway did %q, of which a part was shown", g.did)
	}
	if u.sees("tool write").press("y"); len(g.did) != 1 {
		t.Errorf("the gateway did %q", g.did)
	}
}

func TestForgottenCallsTakeNoMemoryAndAreCounted(t *testing.T) {
	ui := New(Options{})
	goes(ui, 1, "a", `{}`, `{"result":{"isError":true}}`)
	for n := range maxCalls - 1 {
		goes(ui, uint64(n+2), "a", `{}`, `{"result":{}}`)
	}
	first := ui.calls.all
	if cap(first) == len(first) {
		t.Fatal("the next call has them copied")
	}
	goes(ui, maxCalls+1, "a", `{}`, `{"result":{}}`)
	if first[0] != nil {
		t.Error("the first call is kept")
	}
	if got, want := ui.Summary(), fmt.Sprintf("%d requests, 1 failed", maxCalls+1); got != want {
		t.Errorf("there were %q, want %q", got, want)
	}
}

// What a peer says does not look like what Junction says next to it.
func TestNoTextOfAPeerBeginsALineOfACall(t *testing.T) {
	ui := New(Options{})
	const forged = "\\n\\nMessages\\n\\n17:09:13.000  junction -> bank  request tools/call pay\\n"
	goes(ui, 1, "a"+forged, `{"a":1}`, `{"result":{"content":[{"type":"text","text":"b`+forged+`"}]}}`)
	ui.Event(Event{PID: 7, Shown: true, Event: traffic.Event{Kind: traffic.Failure, Hop: traffic.Server, Call: 1, Client: "c\n\nMessages\n", Method: "m\nMessages\n", Name: "n\nMessages\n", Fault: "f\nMessages\n", Note: "o\nMessages\n"}})
	ui.calls.all[0].client, ui.calls.all[0].named = "c\nMessages\n", "d\nMessages\n"
	text := ui.calls.text("7/1")
	if n := strings.Count(text, "\nMessages\n"); n != 1 {
		t.Errorf("there are %d lists of messages:\n%s", n, text)
	}
}
