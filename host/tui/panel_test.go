package tui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

func panels() *scripted {
	return &scripted{
		servers: []host.ServerTools{
			{Server: "ev", State: host.StateConnected, Tools: 12, Seen: 12, Tokens: 1_500},
			{Server: "files", State: host.StateConnected, Tools: 5, Seen: 3, Tokens: 400},
			{Server: "web", State: host.StateFailed, Error: "exec: \x1b[2J not found"},
			{Server: "new", State: host.StateUnapproved, Tools: 2},
		},
		tools: []host.ToolInfo{
			{ToolRef: host.ToolRef{Server: "ev", Tool: "add"}, Title: "Add numbers", State: host.ToolSent},
			{ToolRef: host.ToolRef{Server: "files", Tool: "rm"}, State: host.ToolDenied},
		},
		ledger: host.WindowUse{Window: 10_000, Used: 8_500, Parts: []host.WindowPart{
			{Kind: "system", Name: "system prompt", Tokens: 300}, {Kind: "tools", Name: "ev", Tokens: 8_200, Deferred: 700}}},
		totals: host.Totals{Usage: model.Usage{Input: 12_345, Output: 678, CacheRead: 10_000}, Cost: 0.0456, Requests: 3, Calls: 1},
		saved:  Saved{ID: "abcd", Title: "Sums"},
		list:   []Saved{{ID: "abcd", Title: "Sums", Questions: 2, Changed: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}, {ID: "efgh", Title: "Trips"}},
	}
}

func TestPanels(t *testing.T) {
	for _, test := range []struct{ name, keys, want string }{
		{"servers", "/mcp<enter>", `
── servers ─────────────────────────────────────────────────
▸ ● ev connected, 12 tools, about 1.5k tokens
  ● files connected, 5 tools, about 400 tokens
    the model cannot use 2 of them: denied by a rule,
    disabled or not approved (/tools lists them)
  ✗ web failed
    exec: \x1b[2J not found
  ? new unapproved, 2 tools, about 0 tokens
    not approved yet: your next question shows the new
    definitions, and /review new shows the refused and
    disabled ones
Enter tools · r restart · o on/off · t trust · l log · Esc
close
test-model · 2/4 servers, 15 tools, 1 to review, 1 failed`},
		{"tools with a word", "/tools ad<enter>", `
── tools with “ad” ─────────────────────────────────────────
ev · add “Add numbers”  sent
↑↓ scroll · Esc close
test-model · 2/4 servers, 15 tools, 1 to review, 1 failed`},
		{"context", "<f3>", `
── context ─────────────────────────────────────────────────
  █████████████████░░░  85%  8.5k of 10.0k tokens

    8.2k tools    ev (700 more are found by search)
     300 system   system prompt

so far: 3 requests, 1 call, 12.3k tokens in (10.0k cached),
678 out, $0.0456
↑↓ scroll · Esc close
test-model · 2/4 servers, 15 tools, 1 to review, 1 failed`},
		{"an empty log", "<f4>", `
── log ─────────────────────────────────────────────────────
no server has logged anything or written to its standard
error
↑↓ scroll · Esc close
test-model · 2/4 servers, 15 tools, 1 to review, 1 failed`},
		{"kept conversations", "/resume<enter>tri", `
── conversations ───────────────────────────────────────────
▸ Trips  efgh · 0001-01-01 00:00 · 0 questions
filter: tri
Enter choose · ↑↓ move · Esc close
test-model · 2/4 servers, 15 tools, 1 to review, 1 failed`},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, panels(), 60, 20, func(st *stage) {
				st.keys(test.keys)
				expect(t, "the panel", st.frame(), test.want)
				if !st.screen.View().AltScreen {
					t.Error("a panel must leave the scrollback alone")
				}
				st.keys("<esc>")
				if st.screen.panel != nil || st.screen.View().AltScreen {
					t.Error("Esc does not close it")
				}
			})
		})
	}
}

func TestTheHelpNamesEveryKeyAndCommand(t *testing.T) {
	play(t, panels(), 80, 24, func(st *stage) {
		st.keys("<f1>")
		seen := st.frame()
		for range 4 {
			st.keys("<pgdown>")
			seen += st.frame()
		}
		for _, c := range commands() {
			if !strings.Contains(seen, "/"+c.name) {
				t.Errorf("/%s is not in the help", c.name)
			}
		}
		for _, key := range []string{"Ctrl+R", "Ctrl+F", "Ctrl+V", "Ctrl+O", "Ctrl+T", "Ctrl+C", "Alt+Enter", "@SERVER:URI"} {
			if !strings.Contains(seen, key) {
				t.Errorf("%s is not in the help", key)
			}
		}
	})
}

func TestCommands(t *testing.T) {
	for _, test := range []struct{ typed, did, printed string }{
		{"/model", "", "test-model at test"},
		{"/keep the sky is blue", "keep the sky is blue", "kept in this conversation: the sky is blue"},
		{"/compact", "compact", "old turns are replaced by a summary"},
		{"/save A title", "name A title", "the conversation is called A title"},
		{"/save", "", "the conversation is stored as abcd: Sums"},
		{"/fork", "fork", "conversation abcd Sums"},
		{"/new", "new", "new conversation"},
		{"/export out.md", "", "the conversation is in out.md"},
		{"/resume efgh", "resume efgh", "conversation abcd Sums"},
		{"/theme pink", "", "expected /theme with one of dark, light, mono"},
		{"/theme light", "", ""},
	} {
		t.Run(test.typed, func(t *testing.T) {
			session := panels()
			note := model.UserText("earlier")
			if strings.HasPrefix(test.typed, "/resume") {
				session.entries = []host.Entry{{Message: &note}}
			}
			play(t, session, 80, 24, func(st *stage) {
				st.keys(test.typed + "<enter>")
				if test.did != "" && !session.did(test.did) {
					t.Errorf("did %q", session.calls)
				}
				st.printedText(test.printed)
			})
			session = panels()
			session.fail = errScripted
			play(t, session, 80, 24, func(st *stage) {
				st.keys(test.typed + "<enter>")
				if test.did != "" {
					st.printedText("error: the provider is on holiday")
				}
			})
		})
	}
}

func TestAResumedConversationIsShownAgain(t *testing.T) {
	session := panels()
	session.servers = nil
	question := model.UserText("add 2 and 40")
	session.entries = []host.Entry{
		{Message: &question},
		{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			{Reasoning: &model.Reasoning{Text: "hm"}}, {Text: "I **will**."}, {Call: &model.Call{ID: "1", Name: "ev__add", Arguments: object(`{"a":2}`)}}}}},
		{Message: &model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: "1", Name: "ev__add", Parts: []model.Part{{Text: "42"}}}}}}},
		{Note: "a note"}, {Summary: &host.Summary{Messages: 2, Text: "short"}},
	}
	play(t, session, 60, 24, func(st *stage) {
		expect(t, "the scrollback", st.scrollback(), `
── conversation abcd Sums ──────────────────────────────────

❯ add 2 and 40

I will.

✓ ev · add  {"a":2}
  42

kept in this conversation: a note

for the model, this summary replaces the text above:

short

This has no answer: junction chat ended too early.`)
	})
	session.entries = append(session.entries, host.Entry{Totals: &host.Totals{}})
	play(t, session, 60, 24, func(st *stage) {
		if strings.Contains(st.scrollback(), "This has no answer") {
			t.Error("an answer is missing in a run that came to its end")
		}
	})
}

func TestTheLog(t *testing.T) {
	play(t, panels(), 80, 24, func(st *stage) {
		at := time.Now()
		for _, l := range []mcp.LogLevel{mcp.LogDebug, mcp.LogInfo, mcp.LogWarning, mcp.LogError} {
			st.tell(host.Event{At: at, Log: &host.Logged{Server: "ev", Logger: "db", Level: l, Data: json.RawMessage(`"` + string(l) + ` \u001b[2J"`)}})
		}
		st.settle()
		st.holds("2 warnings in /log")
		st.keys("<f4>")
		st.holds(at.Format("15:04:05") + " error   ev/db error \\x1b[2J")
		if strings.Contains(st.frame(), "warnings in /log") {
			t.Error("warnings that were read are still counted")
		}
		for range maxLog + 10 {
			st.screen.logs(&host.Event{Log: &host.Logged{Server: "ev", Data: object("1")}})
		}
		if len(st.screen.log) > maxLog {
			t.Errorf("%d messages are kept", len(st.screen.log))
		}
	})
}

func TestSearchFindsPrintedLines(t *testing.T) {
	session := &scripted{}
	play(t, session, 60, 12, func(st *stage) {
		session.ask = func(_ context.Context, q host.Question) error {
			for range 20 {
				st.tell(text("filler\n\n"))
			}
			st.tell(text("the needle " + q.Text + "\n\n"))
			return nil
		}
		st.keys("one<enter>two<enter><ctrl+f>NEEDLE")
		st.holds("▸ the needle two")
		st.holds("  the needle one")
		st.keys("<down><enter>")
		st.holds("filler")
		st.holds("the needle one")
		st.keys("<esc>x")
		st.holds("nothing fits")
		st.keys("<esc>")
	})
}

func TestTheTraceShowsTheSteps(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(context.Context, host.Question) error {
			st.tell(host.Event{Listed: &host.Listed{Native: 3, Deferred: 2, Tokens: 800, Servers: []host.ServerTools{{Server: "ev"}}}},
				host.Event{Step: 1, Asked: &host.Asked{Model: "m", Messages: 1, Tools: 3, Tokens: 900}},
				host.Event{Decided: &host.Decided{Message: &model.Message{}, Stop: model.StopCalls, Usage: model.Usage{Input: 900, Output: 20}}},
				host.Event{Called: &host.Called{CallID: "1", Server: "ev", Tool: "add", Arguments: object(`{"a":1}`)}},
				host.Event{Returned: &host.Returned{CallID: "1", Server: "ev", Tool: "add", Text: "2", Tokens: 1, Bytes: 40}},
				host.Event{Step: 2, Asked: &host.Asked{Model: "m", Messages: 3, Tools: 3, Tokens: 950}},
				host.Event{Generated: &host.Generated{For: host.ForSampling, Server: "ev", Decided: &host.Decided{Usage: model.Usage{Input: 70, Output: 8}}}},
				host.Event{Answered: &host.Answered{Stop: "end", Totals: host.Totals{Requests: 2, Calls: 1}}})
			return nil
		}
		st.keys("<ctrl+t>x<enter>")
		for _, want := range []string{"1 list tools: 3 tools of 1 server are sent", "2 ask m: 1 message, 3 tools", "3 decided: calls, 900 in, 20 out",
			`4 tools/call ev · add {"a":1}`, "5 result of ev · add: 0 ms, 40 bytes, 1 tokens", "6 ask m: 3 messages", "· sampling ev: 70 in, 8 out", "7 answer: end, 2 requests, 1 call"} {
			st.printedText(want)
		}
	})
}

func TestEventsOfARun(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(context.Context, host.Question) error {
			st.tell(text("half an ans"), host.Event{Delta: &model.Delta{Retry: &model.Retry{Attempt: 1}}}, text("A whole answer."),
				host.Event{Notice: &host.Notice{Kind: host.NoticeGuard, Server: "ev", Tool: "rm", Text: "hidden text in \u202e"}},
				host.Event{ServerRequest: &host.ServerRequested{Server: "ev", Method: "sampling/createMessage", Outcome: "refused"}},
				host.Event{Consent: &host.Consented{CallID: "9", Server: "ev", Tool: "rm", By: "policy", Rule: "no-rm"}},
				host.Event{Consent: &host.Consented{CallID: "8", Server: "ev", Tool: "mv", By: "person", Rule: "default", Reason: "it may write and delete, and may reach other systems; no rule allows it yet"}},
				host.Event{Returned: &host.Returned{CallID: "7", Server: "ev", Tool: "draw", Text: "x", IsError: true, Media: []model.Media{{Type: "image/png", Data: []byte("abc")}}}},
				host.Event{Notice: &host.Notice{Kind: host.NoticeLimit, Text: "the run was ended at its limit of requests to the model, 50"}}, host.Event{Answered: &host.Answered{Stop: "steps", Error: "the disk is full"}})
			return nil
		}
		st.keys("x<enter>")
		for _, want := range []string{"A whole answer.", `! ev · rm: hidden text in \u202e`, "? ev asked the model: refused",
			"✗ ev · rm did not run; a rule says no: no-rm", "✗ ev · mv did not run; you said no\n", "✗ ev · draw", "image/png, 3 bytes is in pictures/ev-draw.png", "! the run was ended at its limit of requests to the model, 50\n\nerror: the disk is full"} {
			st.printedText(want)
		}
	}, func(o *Options) {
		o.SaveMedia = func(server, tool string, _ model.Media) (string, error) {
			return "pictures/" + server + "-" + tool + ".png", nil
		}
	})
}

func TestAThemeFollowsTheBackground(t *testing.T) {
	play(t, &scripted{}, 80, 24, func(st *stage) {
		st.send(tea.BackgroundColorMsg{Color: white{}})
		if st.screen.theme.Name != "light" {
			t.Errorf("the theme is %s", st.screen.theme.Name)
		}
	}, func(o *Options) { o.Theme = "auto" })
	play(t, &scripted{}, 80, 24, func(st *stage) {
		st.send(tea.BackgroundColorMsg{Color: white{}})
		st.keys("/theme dark<enter>")
		if st.screen.theme.Name != "mono" {
			t.Errorf("the theme is %s, without colours", st.screen.theme.Name)
		}
	}, func(o *Options) { o.Theme, o.NoColor = "dark", true })
	if _, err := New(Options{Theme: "pink"}); err == nil {
		t.Error("there is a theme pink")
	}
}

type white struct{}

func (white) RGBA() (r, g, b, a uint32) { return 0xffff, 0xffff, 0xffff, 0xffff }

func TestEverySizeWorks(t *testing.T) {
	for width := 1; width < 90; width += 11 {
		for height := 1; height < 30; height += 7 {
			session := panels()
			play(t, session, width, height, func(st *stage) {
				session.ask = func(context.Context, host.Question) error {
					st.tell(text("# T\n\n- a\n\n|a|b|\n|-|-|\n|c|d|\n"))
					return nil
				}
				_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, writeCard()) })
				st.keys("d<down><esc><pgdown>")
				cancel()
				st.keys("hello<enter>/<down><esc><ctrl+u><f1><pgdown><esc><f2><esc><ctrl+f>a<esc>")
				st.send(tea.WindowSizeMsg{Width: 100 - width, Height: 40 - height})
			})
		}
	}
}

func TestAnUnknownCostIsNotNothing(t *testing.T) {
	for _, test := range []struct {
		dollars float64
		unknown bool
		want    string
	}{{0, false, "$0"}, {0, true, "cost unknown"}, {0.25, true, "at least $0.25"}, {0.25, false, "$0.25"}} {
		session := panels()
		session.totals.Cost, session.totals.CostUnknown = test.dollars, test.unknown
		play(t, session, 100, 20, func(st *stage) {
			st.keys("<f3>")
			if got := st.frame(); !strings.Contains(got, ", "+test.want+"\n") {
				t.Errorf("the panel is\n%s\nwant %q", got, test.want)
			}
		})
	}
}

func TestACallWithoutAResultIsShownAfterARestart(t *testing.T) {
	session := panels()
	question := model.UserText("pay")
	session.entries = []host.Entry{{Message: &question}, {Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		{Call: &model.Call{ID: "1", Name: "bank__pay", Arguments: object(`{"euros":30}`)}}}}}}
	play(t, session, 80, 24, func(st *stage) {
		st.printedText("✗ bank · pay  {\"euros\":30}\n  junction chat ended before there was a result; it may have been carried out")
		st.printedText("Find out whether the call\nabove was carried out before you ask for it again.")
		if strings.Contains(st.scrollback(), "Ask again") {
			t.Error("it says to ask again for what may have been done")
		}
	})
}

// A call of a run that was cut off stands below its own question, also where later runs have calls of the same ID, or were cut off, too.
func TestCallsOfInterruptedRunsFollowTheirQuestions(t *testing.T) {
	session := panels()
	one, two, three := model.UserText("one"), model.UserText("two"), model.UserText("three")
	calls := func(tool string) host.Entry {
		return host.Entry{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Call: &model.Call{ID: "1", Name: "bank__" + tool, Arguments: object(`{}`)}}}}}
	}
	cut := host.Entry{Totals: &host.Totals{}, Ended: &host.Ended{Stop: host.StopCutOff}}
	session.entries = []host.Entry{
		{Message: &one}, calls("first"), {Asking: &host.Asking{Calls: []string{"1"}}}, cut,
		{Message: &two}, calls("second"),
		{Message: &model.Message{Role: model.RoleUser, Parts: []model.Part{{Result: &model.Result{CallID: "1", Parts: []model.Part{{Text: "done"}}}}}}}, cut,
		{Message: &three}, calls("third"),
	}
	play(t, session, 100, 60, func(st *stage) {
		st.printedText("Find out")
		text, at := st.scrollback(), 0
		for _, want := range []string{"one", "bank · first", "it was not carried out", "This has no answer", "two", "bank · second", "This has no answer", "three", "bank · third", "it may have been carried out", "This has no answer"} {
			i := strings.Index(text[at:], want)
			if i < 0 {
				t.Fatalf("%q is not below what comes before it in\n%s", want, text)
			}
			at += i + len(want)
		}
		if n := strings.Count(text, "bank · "); n != 3 {
			t.Errorf("%d calls are shown:\n%s", n, text)
		}
	})
}

func TestCallThatWaitedForApprovalWasNotCarriedOut(t *testing.T) {
	session := panels()
	question := model.UserText("pay")
	session.entries = []host.Entry{{Message: &question}, {Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		{Call: &model.Call{ID: "1", Name: "bank__pay", Arguments: object(`{"euros":30}`)}}}}}, {Asking: &host.Asking{Calls: []string{"1"}}}}
	play(t, session, 80, 24, func(st *stage) {
		st.printedText("✗ bank · pay  {\"euros\":30}\n  junction chat ended while you were asked; it was not carried out")
		if text := st.scrollback(); strings.Contains(text, "may have been") || strings.Contains(text, "Find out") || !strings.Contains(text, "This has no answer") {
			t.Errorf("printed\n%s", text)
		}
	})
	session.entries = append(session.entries, host.Entry{Asking: &host.Asking{Calls: []string{"1"}, Answered: true}})
	play(t, session, 80, 24, func(st *stage) { st.printedText("it may have been carried out") })
}

func TestResumedConversationShowsHowRunsEnded(t *testing.T) {
	session := panels()
	one, two, three, four := model.UserText("one"), model.UserText("two"), model.UserText("three"), model.UserText("four")
	session.entries = []host.Entry{
		{Message: &one}, {Totals: &host.Totals{}, Ended: &host.Ended{Stop: "error", Error: "HTTP status 401: no key"}},
		{Message: &two}, {Totals: &host.Totals{}, Ended: &host.Ended{Stop: "cancelled", Error: "context canceled"}},
		{Message: &three}, {Totals: &host.Totals{}, Ended: &host.Ended{Stop: "steps"}},
		{Message: &four}, {Totals: &host.Totals{}, Ended: &host.Ended{Stop: host.StopCutOff}},
	}
	play(t, session, 80, 24, func(st *stage) {
		text := st.scrollback()
		for _, want := range []string{"one\n", "error: HTTP status 401: no key\n", "two\n", "cancelled\n", "three\n", "the answer is not complete: the run ended with steps\n", "four\n", "This has no answer: junction chat ended too early.\n"} {
			_, rest, found := strings.Cut(text+"\n", want)
			if !found {
				t.Errorf("%q is not printed, or not in order:\n%s", want, st.scrollback())
			}
			text = rest
		}
	})
}

func TestCompactSaysOneThing(t *testing.T) {
	const dropped = "a summary of 21 messages was dropped, as it gains too little"
	session := panels()
	play(t, session, 100, 24, func(st *stage) {
		session.compact = func(context.Context) error {
			st.tell(host.Event{Notice: &host.Notice{Kind: host.NoticeCompact, Text: dropped}})
			return nil
		}
		st.keys("/compact<enter>")
		st.printedText(dropped)
		if text := st.scrollback(); strings.Contains(text, "are replaced") {
			t.Errorf("printed\n%s", text)
		}
	})
}

// The first key that an overlay does not take is the first of the input.
func TestAnOverlayLosesNoKeys(t *testing.T) {
	for _, test := range []struct{ name, keys, input string }{
		{"help", "<f1>quick", "quick"},
		{"help, and a command", "<f1>/he", "/he"},
		{"no plan", "/plan<enter>what is it", "what is it"},
		{"a pager that is scrolled", "<f1><space><pgdown>a b", "a b"},
		{"servers", "<f2>/lo", "/lo"},
		{"servers, a key of the list", "<f2>rwho", "who"},
		{"a list that is filtered", "<ctrl+r>what", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, &scripted{}, 80, 24, func(st *stage) {
				st.keys(test.keys)
				if got := st.screen.input.Text(); got != test.input || (st.screen.panel == nil) != (test.input != "") {
					t.Errorf("the input is %q, and the overlay is closed: %v", got, st.screen.panel == nil)
				}
			})
		})
	}
	play(t, &scripted{}, 80, 24, func(st *stage) {
		st.keys("<f1>")
		st.screen.Update(tea.PasteMsg{Content: "pasted"})
		if got := st.screen.input.Text(); got != "pasted" || st.screen.panel != nil {
			t.Errorf("the input is %q", got)
		}
	})
}

func TestTheLogHasTheStandardErrorOfServers(t *testing.T) {
	session := panels()
	session.stderr = map[string][]string{"ev": {"listening on a pipe"}, "web": {"no \x1b[2J module"}}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/log<enter>")
		st.holds("stderr   ev listening on a pipe\nstderr   web no \\x1b[2J module")
	})
}

// The text of a field is shown whole, since the default of a server is read before it is sent.
func TestTypedLinesAreWhole(t *testing.T) {
	var b editor.Buffer
	b.Set("It was a dark and stormy night, and the rain fell in torrents.")
	for _, width := range []int{80, 20} {
		var shown []string
		for _, line := range typedLines(&b, width) {
			shown = append(shown, strings.TrimSpace(line.String()))
		}
		if got := strings.TrimSpace(strings.Join(shown, " ")); got != b.Text() {
			t.Errorf("at %d columns: %q", width, got)
		}
	}
}
