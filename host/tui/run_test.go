package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// conversation is a run with everything in it: thoughts, text, a call that needs
// a yes, its progress and its result, and the answer.
func conversation(st *stage, verdict *host.Verdict) func(ctx context.Context, q host.Question) error {
	return func(ctx context.Context, q host.Question) error {
		time.Sleep(time.Second)
		st.tell(host.Event{Asked: &host.Asked{Model: "test-model"}},
			host.Event{Delta: &model.Delta{Reasoning: "They want a sum.\nThere is a tool."}})
		time.Sleep(2 * time.Second)
		st.tell(text("I will **add** them.\n\nFirst"), text(" the call."),
			host.Event{Decided: &host.Decided{Message: &model.Message{}, Stop: model.StopCalls}})
		v, err := st.ui.Consent(ctx, host.ApprovalCard{
			CallID: "1", Server: "everything", Tool: "add", Title: "Add", Arguments: object(`{"a":2,"b":40}`),
			Reasons: []string{"it may write and delete, and may reach other systems; no rule allows it yet"},
			NoRule:  "no rule allows it yet",
			Always:  []host.AlwaysRule{{Label: "this tool with any arguments", Rule: policy.Rule{Effect: policy.Allow, Server: "everything", Tool: "add"}}},
			Never:   []host.AlwaysRule{{Label: "this tool with any arguments", Rule: policy.Rule{Effect: policy.Deny, Server: "everything", Tool: "add"}}},
		})
		if err != nil {
			return err
		}
		*verdict = v
		st.tell(host.Event{Consent: &host.Consented{CallID: "1", Server: "everything", Tool: "add", Allowed: v.Allow, By: "person", Reason: v.Note}})
		if v.Allow {
			st.tell(host.Event{Called: &host.Called{CallID: "1", Server: "everything", Tool: "add", Title: "Add", Arguments: object(`{"a":2,"b":40}`)}},
				host.Event{Progress: &host.Progress{CallID: "1", Progress: 1, Total: 2, Message: "half"}})
			time.Sleep(1500 * time.Millisecond)
			st.tell(host.Event{Returned: &host.Returned{CallID: "1", Server: "everything", Tool: "add", Duration: 1500 * time.Millisecond, Text: "1\n2\n3\n4\n5\n42", Tokens: 3}})
		}
		st.tell(host.Event{Asked: &host.Asked{}}, text("The sum is `42`."),
			host.Event{Decided: &host.Decided{Message: &model.Message{}, Stop: model.StopEnd}}, host.Event{Answered: &host.Answered{Stop: "end"}})
		return nil
	}
}

func TestAConversation(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "everything", State: host.StateConnected, Tools: 5, Seen: 5}}, ledger: host.WindowUse{Window: 32_000, Used: 800}}
	play(t, session, 80, 24, func(st *stage) {
		var verdict host.Verdict
		session.ask = conversation(st, &verdict)
		expect(t, "the empty screen", st.frame(), `
❯ ask something, / for commands, @ for resources
test-model · 1/1 servers, 5 tools · context 800/32.0k 2% · F1 help`)

		st.keys("add 2 and 40<enter>")
		st.wait(1100 * time.Millisecond)
		expect(t, "the frame while the model thinks", st.frame(), `
∴ thinking: There is a tool.
⠴ working 1.1 s · Esc interrupts
❯ ask something, / for commands, @ for resources
test-model · 1/1 servers, 5 tools · context 800/32.0k 2% · F1 help`)

		st.wait(2 * time.Second)
		expect(t, "the frame with a card", st.frame(), `
⠴ waiting for you 3.1 s · Esc refuses
── may this call run? ──────────────────────────────────────────────────────────
everything · add “Add”
New: no rule allows it yet.
The server does not declare what this does: it may write, delete and reach other
systems
arguments:
  a: 2
  b: 40
y yes, once · f yes to all of everything, for this question · n Esc no · m more…
↑↓ PgUp PgDn Home End scroll · F1 keys · Ctrl+C cancel
test-model · 1/1 servers, 5 tools · context 800/32.0k 2% · F1 help`)

		st.wait(time.Second)
		st.keys("y")
		expect(t, "the frame while the call runs", st.frame(), `
● everything · add “Add” 0 ms  {"a":2,"b":40}
  ██████████░░░░░░░░░░  50%  half
⠋ a call is running 4.1 s · Esc interrupts
❯ ask something, / for commands, @ for resources
test-model · 1/1 servers, 5 tools · context 800/32.0k 2% · F1 help`)

		st.wait(2 * time.Second)
		expect(t, "the scrollback", st.scrollback(), `
❯ add 2 and 40

∴ thought for 2.0 s (Ctrl+O shows it)

I will add them.

First the call.

✓ everything · add “Add” 1.5 s  {"a":2,"b":40}
  1
  2
  3
  4
  … 2 more lines, 3 tokens (Ctrl+O shows all)

The sum is 42.`)
		if !verdict.Allow || verdict.Rule != nil || st.screen.run != nil {
			t.Errorf("the verdict is %+v", verdict)
		}
		st.keys("<ctrl+o><enter>")
		st.holds("42")
		st.keys("<esc>")
	})
}

// A model can take its time for a summary: it can be cancelled, and no question goes
// meanwhile.
func TestASummaryCanBeCancelled(t *testing.T) {
	session := &scripted{compact: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/compact<enter>")
		st.holds("old turns are being summarized")
		st.keys("hello<enter>")
		st.holds("1 question queued")
		st.keys("<ctrl+c>")
		st.printedText("cancelled")
		if strings.Contains(st.scrollback(), "replaced by a summary") {
			t.Error("it is said to be done")
		}
		session.ask = func(context.Context, host.Question) error {
			st.tell(host.Event{Answered: &host.Answered{}})
			return nil
		}
		st.keys("<enter>")
		st.printedText("❯ hello")
	})
}

// A provider that breaks off again and again leaves one half answer, not one of each
// attempt.
func TestHalfAnswersAreFoldedToOne(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error {
			st.tell(host.Event{Asked: &host.Asked{}})
			for attempt := 1; attempt < 5; attempt++ {
				st.tell(text("First.\n\nSecond.\n\nThi"),
					host.Event{Notice: &host.Notice{Kind: host.NoticeRetry, Text: "attempt failed"}},
					host.Event{Delta: &model.Delta{Retry: &model.Retry{Attempt: attempt, After: time.Second, Err: errScripted}}})
				time.Sleep(time.Second)
			}
			st.tell(text("First.\n\nSecond.\n\nThird."), host.Event{Decided: &host.Decided{Message: &model.Message{}}}, host.Event{Answered: &host.Answered{Stop: "end"}})
			return nil
		}
		st.keys("x<enter>")
		st.wait(500 * time.Millisecond)
		st.holds("↻ retrying in 1.0 s, attempt 1 failed: the provider is on holiday")
		st.wait(time.Second)
		st.holds("↻ retrying in 1.0 s, attempt 2 failed: the provider is on holiday")
		st.wait(10 * time.Second)
		expect(t, "the scrollback", st.scrollback(), `
❯ x

First.

The answer was interrupted; retrying. Ignore the partial answer above.

First.

Second.

Third.`)
	})
}
