package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	script "github.com/junction-mcp/junction/internal/scripted"
)

// planning is a session whose model proposes these steps, and which ends as the test says.
func planning(end func(s *scripted, changed func(host.Plan)) error, steps ...string) *scripted {
	s := &scripted{}
	s.propose = func(_ context.Context, goal string) (host.Plan, error) {
		s.note("propose " + goal)
		p := host.Plan{Goal: goal}
		for _, text := range steps {
			p.Steps = append(p.Steps, host.PlanStep{Text: text})
		}
		if _, err := s.ChangePlan(func(host.Plan) (host.Plan, error) { return p, nil }); err != nil || len(steps) > 0 {
			return p, err
		}
		return p, errors.New("plan: the model proposed no numbered steps")
	}
	s.execute = func(_ context.Context, changed func(host.Plan)) error { return end(s, changed) }
	return s
}

// mark sets the state of a step.
func (s *scripted) mark(at int, state, note string, changed func(host.Plan)) {
	s.mu.Lock()
	s.plan.Steps[at].State, s.plan.Steps[at].Note = state, note
	s.mu.Unlock()
	changed(s.Plan())
}

func TestAPlanIsProposedEditedAndCarriedOut(t *testing.T) {
	session := planning(func(s *scripted, changed func(host.Plan)) error {
		for i := range s.Plan().Steps {
			s.mark(i, host.PlanBegun, "", changed)
			time.Sleep(time.Second)
			s.mark(i, host.PlanDone, "", changed)
		}
		return nil
	}, "Buy paint", "Paint the wall")
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/plan<enter>")
		st.holds("there is no plan; to let the model propose one: /plan GOAL")
		st.keys("<esc>/plan a green wall<enter>")
		st.holds("❯ /plan do\n  - [ ] Buy paint\n  - [ ] Paint the wall\nedit the steps, one a line")
		st.keys(" twice<ctrl+j>Look at it <enter>")
		st.wait(1500 * time.Millisecond)
		st.holds("step 2 of 3: ")
		st.keys("/plan<enter>")
		st.holds("a green wall\n\n✓ 1 Buy paint\n▸ 2 Paint the wall twice\n○ 3 Look at it\n\n/plan do carries out the remaining steps")
		st.keys("<esc>/plan edit<enter>")
		st.holds("the answer is still coming")
		st.wait(3 * time.Second)
		st.printedText("▸ step 2 of 3: Paint the wall twice\n\n✓ step 2 of 3: Paint the wall twice\n\n▸ step 3 of 3: Look at it")
		st.printedText("The plan is done.")
		st.keys("<ctrl+u>/plan do<enter>")
		st.holds("no step is left")
		st.keys("<ctrl+u>/plan drop<enter>")
		st.printedText("the plan no longer exists")
	})
	if !session.did("propose a green wall") {
		t.Errorf("%q", session.calls)
	}
}

// Esc leaves the steps in the input: the question that follows carries none of them out.
func TestEscLeavesAPlan(t *testing.T) {
	for _, test := range []struct{ name, left, hint string }{
		{"as it was proposed", "<esc>", "nothing was carried out; /plan edit edits the steps again"},
		{"after an edit", " twice<esc>", "nothing was carried out"},
		{"twice in one piece", "<alt+esc>", "nothing was carried out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			session := planning(func(*scripted, func(host.Plan)) error {
				t.Error("the plan was carried out")
				return nil
			}, "Buy paint", "Paint the wall")
			asked := ""
			session.ask = func(_ context.Context, q host.Question) error { asked = q.Text; return nil }
			play(t, session, 80, 24, func(st *stage) {
				st.keys("/plan a green wall<enter>")
				st.holds("plan · Enter carries out these steps · Esc leaves\n❯ /plan do\n  - [ ] Buy paint")
				st.keys(test.left)
				st.holds(test.hint)
				if !st.screen.input.Empty() {
					t.Errorf("the input holds %q", st.screen.input.Text())
				}
				st.keys("<ctrl+u>hello<enter>")
				if asked != "hello" {
					t.Errorf("asked %q", asked)
				}
			})
		})
	}
}

func TestAPlanContinuesAfterAFailure(t *testing.T) {
	session := planning(func(s *scripted, changed func(host.Plan)) error {
		s.mark(0, host.PlanBegun, "", changed)
		s.mark(0, host.PlanFailed, "the shop is closed", changed)
		return errors.New("plan: step 1: the step could not be done: the shop is closed")
	}, "Buy paint")
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/plan a green wall<enter><enter>")
		st.printedText("✗ step 1 of 1: Buy paint\n    the shop is closed")
		st.printedText("step 1: the step could not be done: the shop is closed\n\n/plan do continues with this step, /plan edit changes the remaining steps.")
		st.keys("/plan edit<enter>")
		st.holds("❯ /plan do\n  - [!] Buy paint")
		st.keys("<ctrl+u>- [ ]<enter>")
		st.holds("has no text")
		st.holds("❯ /plan do\n  - [ ]")
		if got := session.Plan().Steps[0]; got.State != host.PlanFailed || got.Note == "" {
			t.Errorf("the step is %+v", got)
		}
	})
	play(t, planning(nil), 80, 24, func(st *stage) {
		st.keys("/plan edit<enter>")
		st.holds("there is no plan; to let the model propose one: /plan GOAL")
		st.keys("/plan a green wall<enter>")
		st.printedText("the model proposed no numbered steps")
		if !st.screen.input.Empty() {
			t.Errorf("the input holds %q", st.screen.input.Text())
		}
	})
}

// What was typed while the proposal came stays where it is.
func TestProposalsKeepTheInput(t *testing.T) {
	session := planning(nil, "Buy paint")
	proposed := session.propose
	session.propose = func(ctx context.Context, goal string) (host.Plan, error) {
		time.Sleep(time.Second)
		return proposed(ctx, goal)
	}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/plan a wall<enter>by the way")
		st.wait(2 * time.Second)
		st.holds("❯ by the way")
		st.printedText("The steps are proposed: /plan edit puts them into the input")
		session.ask = func(context.Context, host.Question) error { time.Sleep(time.Second); return nil }
		st.keys("<ctrl+u>/plan a roof<enter>and now<enter>")
		st.wait(1500 * time.Millisecond)
		if !session.did("ask and now") || !st.screen.input.Empty() || strings.Count(st.scrollback(), "The steps are proposed") != 2 {
			t.Errorf("%q, and the input holds %q", session.calls, st.screen.input.Text())
		}
	})
}

func TestAResumedConversationStillHasItsPlan(t *testing.T) {
	store := &folder{kept: map[string]*kept{}}
	h, err := host.New(host.Options{Model: script.New(script.Say("1. Buy paint\n2. Paint"), script.Say("Bought."), script.Say("NOT DONE: it rains"))})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s, err := Attach(t.Context(), h, store, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Propose(t.Context(), "a green wall"); err != nil {
		t.Fatal(err)
	}
	ticks := 0
	if err := s.Execute(t.Context(), func(host.Plan) { ticks++ }); err == nil || !strings.Contains(err.Error(), "it rains") || ticks != 4 {
		t.Errorf("%v, after %d changes", err, ticks)
	}
	again, err := Attach(t.Context(), h, store, s.Saved().ID)
	if err != nil {
		t.Fatal(err)
	}
	session := &scripted{entries: again.Talk().Entries(), plan: again.Talk().Plan()}
	play(t, session, 80, 24, func(st *stage) {
		st.printedText("Its plan is not finished: 1 of 2 steps. /plan shows it, /plan do continues it.")
		st.keys("/plan<enter>")
		st.holds("a green wall\n\n✓ 1 Buy paint\n✗ 2 Paint\n    it rains")
	})
}

// A run that was ended may still mark its step while the user edits the steps.
func TestEditsKeepConcurrentMarks(t *testing.T) {
	session := planning(func(*scripted, func(host.Plan)) error { return nil }, "Buy paint", "Paint", "Look", "Look")
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/plan a green wall<enter>")
		session.mark(0, host.PlanDone, "", func(host.Plan) {})
		session.mark(1, host.PlanFailed, "it rains", func(host.Plan) {})
		session.mark(3, host.PlanDone, "", func(host.Plan) {})
		st.keys(" again<enter>")
		want := []host.PlanStep{{Text: "Buy paint", State: host.PlanDone}, {Text: "Paint", State: host.PlanFailed, Note: "it rains"}, {Text: "Look"}, {Text: "Look again"}}
		if got := session.Plan(); !slices.Equal(got.Steps, want) || got.Goal != "a green wall" {
			t.Errorf("the plan is %+v", got)
		}
	})
}

func TestAPlanThatWasBegunIsNotReplaced(t *testing.T) {
	session := planning(nil, "Buy paint")
	session.plan = host.Plan{Goal: "a wall", Steps: []host.PlanStep{{Text: "one", State: host.PlanDone}, {Text: "two"}}}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/plan edit 2 two and a half<enter>") // as it is typed with --plain
		if steps := session.Plan().Steps; len(steps) != 2 || steps[1].Text != "two and a half" || session.did("propose edit 2 two and a half") {
			t.Errorf("the steps are %+v", steps)
		}
		st.holds("❯ /plan do\n  - [x] one\n  - [ ] two and a half")
		st.keys("<ctrl+c>/plan another wall<enter>")
		st.holds("/plan do continues it, /plan drop deletes it")
		if session.did("propose another wall") {
			t.Error("it was proposed anew")
		}
		st.keys("<ctrl+c>/plan drop<enter>/plan another wall<enter>")
		if !session.did("propose another wall") {
			t.Error("it was not proposed after the other was dropped")
		}
	})
}
