package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/plan"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// record is a Record that keeps entries as a file would.
type record struct{ lines []string }

func (r *record) Append(e host.Entry) error {
	line, err := json.Marshal(e)
	r.lines = append(r.lines, string(line))
	return err
}

func (r *record) entries(t *testing.T) []host.Entry {
	t.Helper()
	entries := make([]host.Entry, len(r.lines))
	for i, line := range r.lines {
		if err := json.Unmarshal([]byte(line), &entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	return entries
}

func newHost(t *testing.T, m *scripted.Model) *host.Host {
	t.Helper()
	own := mcp.NewServer("own", "1")
	add := func(name string, reads bool) {
		mcp.AddToolWith(own, mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(reads), OpenWorldHint: new(false)}}, func(context.Context, struct{}) (string, error) { return name, nil })
	}
	add("look", true)
	add("paint", false)
	h, err := host.New(host.Options{Model: m, Tools: own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestModelsProposeAndUsersEdit(t *testing.T) {
	m := scripted.New(scripted.Reply(scripted.Calling("host__look", ""), scripted.Calling("host__paint", "")), scripted.Say("Here it is:\n1. Buy paint\n 2) Paint the **wall**\n\nShall I?"))
	c := newHost(t, m).Conversation(nil)
	p, err := plan.Propose(t.Context(), c, " a green wall ")
	want := host.Plan{Goal: "a green wall", Steps: []host.PlanStep{{Text: "Buy paint"}, {Text: "Paint the **wall**"}}}
	if err != nil || !reflect.DeepEqual(p, want) || !reflect.DeepEqual(c.Plan(), want) {
		t.Fatalf("proposed %+v, %v; kept %+v", p, err, c.Plan())
	}
	answers := m.Requests()[1].Messages[2].Parts
	if answers[0].Result.IsError || !strings.Contains(answers[1].Result.Text(), "There is no tool") {
		t.Errorf("a tool that reads: %q, one that writes: %q", answers[0].Result.Text(), answers[1].Result.Text())
	}
	text := strings.Replace(plan.Format(p), "Buy paint\n", "Buy green paint\n* Cover the floor\n", 1) + "\n3. Look at it\n"
	steps, err := plan.Parse(text)
	if len(steps) != 4 || steps[1].Text != "Cover the floor" || steps[3].Text != "Look at it" || err != nil {
		t.Errorf("%q was read as %+v, %v", text, steps, err)
	}
}

func TestAProposalWithoutStepsIsNone(t *testing.T) {
	c := newHost(t, scripted.New(scripted.Say("I would rather not."))).Conversation(nil)
	if _, err := plan.Propose(t.Context(), c, "a green wall"); err == nil || len(c.Plan().Steps) != 0 {
		t.Errorf("got %v and %+v", err, c.Plan())
	}
	if _, err := plan.Propose(t.Context(), c, " "); err == nil {
		t.Error("a goal of nothing was taken")
	}
}

func TestFormatAndParseAreInverse(t *testing.T) {
	steps := []host.PlanStep{{Text: "1 egg"}, {Text: "boil it", State: host.PlanDone}, {Text: "[sic] peel", State: host.PlanBegun}, {Text: "eat", State: host.PlanFailed}}
	got, err := plan.Parse(plan.Format(host.Plan{Steps: steps}))
	if err != nil || !reflect.DeepEqual(got, steps) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := plan.Parse("- [x]  \n"); err == nil {
		t.Error("a step without a text was taken")
	}
}

// A plan that failed and was then cut off continues at the same step in another process.
func TestAPlanSurvivesAResume(t *testing.T) {
	kept := new(record)
	c := newHost(t, scripted.New(scripted.Say("Bought."), scripted.Say("NOT DONE: it rains"))).Conversation(kept)
	if err := c.SetPlan(host.Plan{Goal: "a green wall", Steps: []host.PlanStep{{Text: "buy"}, {Text: "paint"}, {Text: "look"}}}); err != nil {
		t.Fatal(err)
	}
	var shown []string
	err := plan.Execute(t.Context(), c, func(p host.Plan) { shown = append(shown, plan.Format(p)) })
	if !errors.Is(err, plan.ErrFailed) || !strings.Contains(err.Error(), "step 2") || len(shown) != 4 || shown[3] != "- [x] buy\n- [!] paint\n- [ ] look\n" {
		t.Fatalf("ended with %v after %q", err, shown)
	}
	if note := c.Plan().Steps[1].Note; note != "it rains" {
		t.Errorf("the note is %q", note)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cut := func(ctx context.Context, _ *model.Request) (*model.Response, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	again := newHost(t, scripted.New(scripted.Say("Painted."), cut)).Conversation(kept, kept.entries(t)...)
	if err := plan.Execute(ctx, again, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("cut off with %v", err)
	}

	m := scripted.New(scripted.Say("It is green."))
	last := newHost(t, m).Conversation(kept, kept.entries(t)...)
	if got := plan.Format(last.Plan()); got != "- [x] buy\n- [x] paint\n- [>] look\n" {
		t.Fatalf("resumed with %s", got)
	}
	if err := plan.Execute(t.Context(), last, nil); err != nil {
		t.Fatal(err)
	}
	messages := m.Requests()[0].Messages
	if text := messages[len(messages)-1].Text(); !strings.Contains(text, "Do step 3 now") || !strings.Contains(text, "begun before") {
		t.Errorf("the model was asked %q", text)
	}
	if got := plan.Format(last.Plan()); strings.Count(got, "[x]") != 3 {
		t.Errorf("at the end: %s", got)
	}
	if err := plan.Execute(t.Context(), last, nil); err != nil || m.Remaining() != 0 {
		t.Errorf("a plan that is done: %v", err)
	}
}

// If a call of a step was not allowed, the model is asked whether the step is done.
func TestStepsWithARefusedCallCanBeDone(t *testing.T) {
	for said, want := range map[string]struct{ ends, note string }{
		"DONE. The wall was green already.": {"- [x] look\n- [x] paint\n", ""},
		"**Done**":                          {"- [x] look\n- [x] paint\n", ""},
		"NOT DONE: there is no paint.":      {"- [x] look\n- [!] paint\n", "the call of host/paint was not allowed: there is no paint."},
		"Painted.":                          {"- [x] look\n- [!] paint\n", "the call of host/paint was not allowed"},
	} {
		kept := new(record)
		m := scripted.New(
			scripted.Reply(scripted.Calling("host__look", "")), scripted.Say("Looked."),
			scripted.Reply(scripted.Calling("host__paint", "")), scripted.Reply(scripted.Calling("host__look", "")), scripted.Say("Painted."), scripted.Say(said),
		)
		c := newHost(t, m).Conversation(kept)
		if err := c.SetPlan(host.Plan{Goal: "a green wall", Steps: []host.PlanStep{{Text: "look"}, {Text: "paint"}}}); err != nil {
			t.Fatal(err)
		}
		err := plan.Execute(t.Context(), c, nil)
		if errors.Is(err, plan.ErrFailed) != (want.note != "") || plan.Format(c.Plan()) != want.ends || c.Plan().Steps[1].Note != want.note {
			t.Errorf("%q: %v\n%s%q", said, err, plan.Format(c.Plan()), c.Plan().Steps[1].Note)
		}
		asked := m.Requests()[len(m.Requests())-1]
		if text := asked.Messages[len(asked.Messages)-1].Text(); !strings.Contains(text, "Is step 2 done without it?") {
			t.Errorf("%q: the model was asked %q", said, text)
		}
		var shown []string
		for _, e := range kept.entries(t) {
			if e.Shown != "" {
				shown = append(shown, e.Shown)
			}
		}
		if got := strings.Join(shown, "; "); got != "step 1 of 2: look; step 2 of 2: paint; is step 2 done, without the call of host/paint?" {
			t.Errorf("people see %q", got)
		}
	}
}

func TestRemovedStepsAreNotMarked(t *testing.T) {
	var c *host.Conversation
	edit := func(context.Context, *model.Request) (*model.Response, error) {
		err := c.SetPlan(host.Plan{Steps: []host.PlanStep{{Text: "look"}}})
		return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "Bought."}}}}, err
	}
	c = newHost(t, scripted.New(edit, scripted.Say("Looked."))).Conversation(nil)
	if err := c.SetPlan(host.Plan{Steps: []host.PlanStep{{Text: "buy"}}}); err != nil {
		t.Fatal(err)
	}
	if err := plan.Execute(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	if got := plan.Format(c.Plan()); got != "- [x] look\n" {
		t.Errorf("got %s", got)
	}
}

func TestAPlanHasLimits(t *testing.T) {
	c := newHost(t, scripted.New()).Conversation(nil)
	for _, p := range []host.Plan{
		{Steps: make([]host.PlanStep, 101)}, {Steps: []host.PlanStep{{Text: " "}}}, {Goal: strings.Repeat("x", 5<<10)},
		{Steps: []host.PlanStep{{Text: "x", State: "maybe"}}},
	} {
		if err := c.SetPlan(p); err == nil {
			t.Errorf("taken: %d steps, %q", len(p.Steps), p.Goal)
		}
	}
}

// Whatever a person writes, what is shown of it reads as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"1. buy\n2) paint", "- [x] buy\n* [!] [x] paint\n", "[>]\t-1.look", "- \u00a0x\r\n\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := plan.Parse(text)
		if err != nil {
			return
		}
		again, err := plan.Parse(plan.Format(host.Plan{Steps: steps}))
		if err != nil || len(again) != len(steps) || len(steps) > 0 && !reflect.DeepEqual(again, steps) {
			t.Errorf("%q was read as %+v, and that as %+v, %v", text, steps, again, err)
		}
	})
}

func TestTwoChangesOfAPlanLoseNothing(t *testing.T) {
	c := newHost(t, scripted.New()).Conversation(nil)
	if err := c.SetPlan(host.Plan{Goal: "a green wall", Steps: []host.PlanStep{{Text: "buy"}}}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	got, err := c.ChangePlan(func(p host.Plan) (host.Plan, error) {
		if calls++; calls == 1 { // another change comes in between
			if err := c.SetPlan(host.Plan{Goal: p.Goal, Steps: append(p.Steps, host.PlanStep{Text: "paint"})}); err != nil {
				t.Fatal(err)
			}
		}
		p.Steps[0].State = host.PlanDone
		return p, nil
	})
	if want := "- [x] buy\n- [ ] paint\n"; err != nil || plan.Format(got) != want || plan.Format(c.Plan()) != want || calls != 2 {
		t.Errorf("after %d calls the plan is %+v, kept as %+v, %v", calls, got, c.Plan(), err)
	}
}

func TestMarksAndEditsAtATimeLoseNothing(t *testing.T) {
	const edits = 20
	var c *host.Conversation
	var editing sync.WaitGroup
	edit := func() {
		_, err := c.ChangePlan(func(p host.Plan) (host.Plan, error) {
			p.Steps = append([]host.PlanStep{{Text: "look", State: host.PlanDone}}, p.Steps...)
			return p, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	answer := func(context.Context, *model.Request) (*model.Response, error) {
		for range edits {
			editing.Go(edit)
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "Bought."}}}}, nil
	}
	c = newHost(t, scripted.New(answer)).Conversation(nil)
	if err := c.SetPlan(host.Plan{Steps: []host.PlanStep{{Text: "buy"}}}); err != nil {
		t.Fatal(err)
	}
	if err := plan.Execute(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	editing.Wait()
	if got := plan.Format(c.Plan()); got != strings.Repeat("- [x] look\n", edits)+"- [x] buy\n" {
		t.Errorf("got %s", got)
	}
}
