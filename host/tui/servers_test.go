package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

func TestServersThatAppearAreReported(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{
		{Server: "files", State: host.StateConnecting}, {Server: "web", State: host.StateConnecting}, {Server: "old", State: host.StateConnected, Tools: 3, Seen: 3},
		{Server: host.OwnServer, State: host.StateConnected, Tools: 2, Seen: 2}}}
	play(t, session, 60, 20, func(st *stage) {
		st.holds("1/3 servers, 3 tools")
		session.servers = []host.ServerTools{{Server: "files", State: host.StateUnapproved, Tools: 4},
			{Server: "web", State: host.StateFailed, Error: `server "web": it exited with status 1; its standard error ends with: ` + strings.Repeat("no module\n", 20)}, session.servers[2]}
		st.send(pollMsg{})
		expect(t, "the scrollback", st.scrollback(), `
✗ web failed: it exited with status 1; its standard error
  ends with: no module
  no module
  no module
  no module
  … (/mcp has it all)

? Needs review: files. You will see what is new when you
  send your next question.`)
		st.holds("1/3 servers, 3 tools, 1 to review, 1 failed")
		before := st.scrollback()
		failed := session.servers[1]
		session.servers[1] = host.ServerTools{Server: "web", State: host.StateConnecting}
		st.send(pollMsg{})
		session.servers[1] = failed
		st.tell(host.Event{Notice: &host.Notice{Kind: host.NoticeTools, Server: "old", Text: "changed"}})
		st.keys("x<enter>")
		if after := st.scrollback(); strings.Count(after, "Needs review") != 1 || strings.Count(after, "failed") != 1 || !strings.HasPrefix(after, before) {
			t.Errorf("it is reported again:\n%s", after)
		}
	})
	play(t, session, 40, 20, func(st *stage) {
		st.printedText("web failed")
		st.send(tea.WindowSizeMsg{Width: 50, Height: 20})
		st.holds("test-model · 1/3 servers, 1 to review, 1 failed")
	})
}

func TestNoticesOfAServerAreShownOnce(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "web", State: host.StateConnected}}}
	play(t, session, 60, 20, func(st *stage) {
		for _, text := range []string{"it is gone", "it is back"} {
			session.servers = []host.ServerTools{{Server: "web", State: host.StateFailed, Error: "broken pipe"}}
			if text == "it is back" {
				session.servers = []host.ServerTools{{Server: "web", State: host.StateConnected}}
			}
			st.tell(host.Event{Notice: &host.Notice{Kind: host.NoticeServer, Server: "web", Text: text}})
			st.settle()
		}
		expect(t, "the scrollback", st.scrollback(), `
✗ web failed: broken pipe

! it is back`)
		session.ask = func(context.Context, host.Question) error {
			st.tell(text("half"), host.Event{Notice: &host.Notice{Kind: host.NoticeRetry, Text: "attempt 1 failed"}}, host.Event{Delta: &model.Delta{Retry: &model.Retry{}}},
				text("cut at"), host.Event{Notice: &host.Notice{Kind: host.NoticeStop, Text: "the answer was cut"}}, host.Event{Answered: &host.Answered{Stop: "length"}})
			return nil
		}
		st.keys("x<enter>")
		_, run, _ := strings.Cut(st.scrollback(), "❯ x")
		expect(t, "the run", run, `
cut at

! the answer was cut`)
	})
}

func TestAServerOfManyToolsCanBeReviewed(t *testing.T) {
	schema := `{"properties":{"id":{"description":"the id, \"quoted\"","type":"string"},"fields":{"type":"array"}},"type":"object"}`
	review := host.Review{Server: "crm", First: true}
	for i := range 8 {
		review.Items = append(review.Items, host.ReviewItem{Kind: "tool", Name: fmt.Sprintf("read_%d", i), Text: "description: Reads.\nschema:\n  " + schema})
	}
	review.Items[7].Findings = []guard.Finding{{Severity: guard.Block, Why: "it gives orders", Where: "description", Excerpt: "Reads."}}
	session := &scripted{servers: []host.ServerTools{{Server: "crm", State: host.StateUnapproved}, {Server: "next", State: host.StateUnapproved}}}
	play(t, session, 80, 45, func(st *stage) {
		agreed, _, cancel := asks(st, func(ctx context.Context) ([]bool, error) { return agreed(st.ui.Review(ctx, []host.Review{review})) })
		st.holds(`
── New server “crm”: let the model use it? (1 more to review) ──────────────────
  crm  8 tools: 0 read, 8 write; 1 warning
    ! tool read_7: it gives orders, in its description: “Reads.”
y approve · n refuse · t approve and trust… · d Enter details · Esc refuse
F1 keys · Ctrl+C cancel
`)
		st.keys("<enter>")
		st.holds(`
+ new tool read_7
  ! it gives orders, in its description: “Reads.”
  description: Reads.
  schema:
    properties:
      id: {description: "the id, \"quoted\"", type: "string"}
      fields: {type: "array"}
    type: "object"

7 tools: read_0, read_1, read_2, read_3, read_4, read_5, read_6

+ new tool read_0
`)
		st.wait(time.Second)
		st.keys("y")
		if !slices.Equal(*agreed, []bool{true}) {
			t.Error("it was agreed to")
		}
		st.printedText("✓ crm approved: 8 tools")
		cancel()
	})
}

func TestJSONInOneLineHidesNothing(t *testing.T) {
	for _, test := range []struct{ name, raw, want string }{
		{"small things stand in one line", `{"a":{"b":[1,{"c":null}],"d":"x"}}`, `a: {b: [1, {c: null}], d: "x"}`},
		{"a text cannot pretend to be a member", `{"a":{"b":"x\", c: \"y"}}`, `a: {b: "x\", c: \"y"}`},
		{"nor can a name", `{"a":{"b: 1, c":2}}`, `a: {"b: 1, c": 2}`},
		{"what is invisible is said to be there", `{"a":{"b":"x\u200b"}}`, "a:\n  b: \"x\\u200b\" (has invisible characters, written out here)"},
		{"several lines are shown as lines", `{"a":{"b":"x\ny"}}`, "a:\n  b: 2 lines, 3 bytes\n  │ x\n  │ y"},
		{"an invisible name", `{"a":{"b\u200b":1}}`, "a:\n  b\\u200b: 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var rows []string
			for _, l := range jsonLines([]byte(test.raw), 76) {
				rows = append(rows, l.String())
			}
			expect(t, "the value", strings.Join(rows, "\n"), test.want)
		})
	}
}

func TestACallThatCouldNotBeMadeIsShown(t *testing.T) {
	session := &scripted{ledger: host.WindowUse{Window: 100}}
	play(t, session, 60, 20, func(st *stage) {
		session.ask = func(context.Context, host.Question) error {
			message := model.Message{Role: model.RoleAssistant, Parts: []model.Part{
				{Call: &model.Call{ID: "1", Name: "ev__nonsense", Arguments: object(`{"a":1}`)}}, {Call: &model.Call{ID: "2", Name: "ev__add", Arguments: object(`{}`)}}}}
			st.tell(host.Event{Decided: &host.Decided{Message: &message, Stop: model.StopCalls}},
				host.Event{Returned: &host.Returned{CallID: "1", Tool: "ev__nonsense", IsError: true, Text: "There is no tool of that name. There is add, which takes two numbers."}},
				host.Event{Called: &host.Called{CallID: "2", Server: "ev", Tool: "add"}}, host.Event{Returned: &host.Returned{CallID: "2", Server: "ev", Tool: "add", Text: "42"}})
			st.tell(host.Event{Asked: &host.Asked{}}, host.Event{Answered: &host.Answered{}})
			return nil
		}
		st.keys("x<enter>")
		expect(t, "the scrollback", st.scrollback(), `
❯ x

✗ ev · nonsense  {"a":1}
  There is no tool of that name. There is add, which takes
  two numbers.

✓ ev · add
  42`)
		session.ledger.Used = 50
		st.keys("/compact<enter>")
		st.holds("context 50/100 50%")
	})
}

func TestReviewsCanBeAskedForAgain(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "web", State: host.StateConnected, Tools: 3, Seen: 2}, {Server: "old", State: host.StateConnected, Tools: 3, Seen: 3}}}
	play(t, session, 80, 20, func(st *stage) {
		st.tell(host.Event{Notice: &host.Notice{Kind: host.NoticeReviews, Server: "web", Text: "it changes"}})
		st.keys("/review <enter>")
		st.printedText("! it changes (/review web shows it to you)")
		st.holds("expected /review SERVER, such as web")
		st.keys("/review web<enter>")
		st.printedText("You will see the definitions of web with your next question")
		session.fail = errors.New("there is nothing to be reviewed")
		st.keys("/review old<enter>")
		st.printedText("error: there is nothing to be reviewed")
	})
}

func TestWaitsAreNamed(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "web", State: host.StateConnecting}}}
	play(t, session, 80, 20, func(st *stage) {
		proceed := make(chan struct{})
		session.ask = func(context.Context, host.Question) error {
			<-proceed
			st.tell(host.Event{Listed: &host.Listed{Servers: session.servers}}, host.Event{Asked: &host.Asked{}})
			<-proceed
			st.tell(text("half an ans"))
			<-proceed
			st.tell(host.Event{Delta: &model.Delta{Retry: &model.Retry{Attempt: 1}}})
			<-proceed
			st.tell(host.Event{Answered: &host.Answered{}})
			return nil
		}
		st.keys("x<enter>")
		for _, what := range []string{"connecting to web", "waiting for the model", "the model is writing", "waiting for the model"} {
			st.wait(tickTime)
			st.holds(what)
			proceed <- struct{}{}
		}
		st.keys("/keep<enter>")
		st.holds("expected /keep NOTE")
	})
}

// A server that fails while it starts is found by looking and reported by the host.
func TestAServerThatFailsIsReportedOnce(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "web", State: host.StateFailed, Error: "no such file"}}}
	play(t, session, 80, 20, func(st *stage) {
		st.tell(host.Event{Notice: &host.Notice{Kind: host.NoticeServer, Server: "web", Text: `server "web" does not answer: no such file`}})
		st.settle()
		expect(t, "the scrollback", st.scrollback(), `✗ web failed: no such file`)
	})
}

func TestStatusShowsReviews(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "a", State: host.StateUnapproved, Tools: 3}, {Server: "b", State: host.StateUnapproved, Tools: 4}}}
	play(t, session, 80, 20, func(st *stage) {
		st.holds("0/2 servers, 0 tools, 2 to review")
		st.tell(host.Event{Reviewed: &host.Reviewed{Server: "a", Approved: true}})
		st.settle()
		st.holds("1/2 servers, 3 tools, 1 to review")
	})
}

// A refused server is not reviewed again until the user requests it.
func TestRefusedToolsAreNotReviewed(t *testing.T) {
	session := panels()
	play(t, session, 80, 24, func(st *stage) {
		var waits string
		for _, server := range session.servers {
			if server.State == host.StateUnapproved {
				waits = server.Server
			}
		}
		st.tell(host.Event{Listed: &host.Listed{Servers: session.servers}})
		st.holds("1 to review, 1 failed")
		st.tell(host.Event{Reviewed: &host.Reviewed{Server: waits, Error: "the run was ended"}})
		st.settle()
		st.holds("1 to review, 1 failed")
		st.tell(host.Event{Reviewed: &host.Reviewed{Server: waits}})
		st.settle()
		st.holds("1 refused, 1 failed")
		st.keys("/review " + waits + "<enter>")
		st.holds("1 to review, 1 failed")
	})
}

func TestRefusalsNameTheMissingCall(t *testing.T) {
	change := func(kind string) host.ReviewItem {
		return host.ReviewItem{Kind: kind, Name: "x", Changed: true, Text: "+description: y"}
	}
	for _, test := range []struct {
		name   string
		review host.Review
		want   string
	}{
		{"tools that changed", host.Review{Server: "web", Items: []host.ReviewItem{change("tool"), change("tool")}}, "✗ web refused: the model uses the rest of it, without 2 tools"},
		{"another command", host.Review{Server: "web", Items: []host.ReviewItem{change("tool"), change("command")}}, "✗ web refused: the model cannot use it (/review web"},
		{"another version", host.Review{Server: "web", Items: []host.ReviewItem{change("version")}}, "✗ web refused: the model cannot use it (/review web"},
		{"a new server", host.Review{Server: "web", First: true, Items: []host.ReviewItem{change("tool")}}, "✗ web refused: the model cannot use it (/review web"},
	} {
		play(t, &scripted{}, 120, 30, func(st *stage) {
			_, _, cancel := asks(st, func(ctx context.Context) ([]host.ReviewAnswer, error) {
				return st.ui.Review(ctx, []host.Review{test.review})
			})
			if st.keys("n"); !strings.Contains(st.scrollback(), test.want) {
				t.Errorf("%s: %s", test.name, st.scrollback())
			}
			cancel()
		})
	}
}

func TestExampleIsSuggestedOnceServersAreConnected(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "calc", State: host.StateConnecting}}}
	play(t, session, 80, 24, func(st *stage) {
		st.ui.options.Example = func(tools []host.ToolInfo) string {
			if len(tools) == 0 {
				return ""
			}
			return tools[0].Tool + " 2 and 40"
		}
		st.send(pollMsg{})
		if strings.Contains(st.scrollback(), "Try ") {
			t.Error("a question was suggested before the tools were known")
		}
		session.mu.Lock()
		session.servers = []host.ServerTools{{Server: "calc", State: host.StateConnected, Tools: 1, Seen: 1}}
		session.tools = []host.ToolInfo{{ToolRef: host.ToolRef{Server: "calc", Tool: "add"}, State: host.ToolSent}}
		session.mu.Unlock()
		st.send(pollMsg{})
		st.printedText("Try “add 2 and 40”.")
	})
}
