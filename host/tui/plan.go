package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/plan"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// planDo precedes the steps in the input, so that Enter carries them out.
const planDo = "/plan do"

// plan shows, proposes, edits or carries out the plan.
func (s *screen) plan(argument string) {
	verb, steps, _ := strings.Cut(argument, "\n")
	verb = strings.TrimSpace(verb)
	switch {
	case argument == "":
		s.panel = &pager{title: "plan", build: func(s *screen, width int) []ink.Line {
			p := s.session.Talk().Plan()
			if len(p.Steps) == 0 {
				return ink.Lines(ink.Muted, "there is no plan; to let the model propose one: /plan GOAL", width)
			}
			lines := append(ink.Lines(ink.Plain, plaintext.Line(p.Goal, 2_000), width), nil)
			lines = append(append(lines, planLines(p, width)...), nil)
			return append(lines, ink.Lines(ink.Muted, "/plan do carries out the remaining steps, /plan edit changes them, /plan drop deletes the plan", width)...)
		}}
	case s.run != nil:
		s.hint = "the answer is still coming; Esc interrupts it"
	case verb == "do":
		s.doPlan(argument, steps)
	case isStepEdit(verb):
		s.editStep(strings.TrimPrefix(verb, "edit "))
	case argument == "edit":
		s.editPlan()
	case argument == "drop":
		s.inBackground(s.changePlan(func(host.Plan) (host.Plan, error) { return host.Plan{}, nil }), func(s *screen) { s.say(ink.Muted, "the plan no longer exists") })
	default:
		s.propose(argument)
	}
}

// propose asks the model for steps, and puts them into the input.
func (s *screen) propose(goal string) {
	steps := s.session.Talk().Plan().Steps
	open := slices.IndexFunc(steps, func(step host.PlanStep) bool { return step.State == host.PlanOpen })
	if open >= 0 && slices.ContainsFunc(steps, func(step host.PlanStep) bool { return step.State != host.PlanOpen }) {
		s.hint = "a plan was begun already: /plan do continues it, /plan drop deletes it"
		return
	}
	s.typed("plan: " + goal)
	ctx, r := s.begun()
	s.ui.background(func() any {
		_, err := s.session.Propose(ctx, goal)
		r.cancel()
		return func(s *screen) {
			s.ended(r, err, "", "")
			if err == nil {
				s.editPlan()
			}
		}
	})
}

// begun starts a run.
func (s *screen) begun() (context.Context, *run) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	r := &run{cancel: func() { cancel(nil) }, leave: func() { cancel(host.ErrLeft) }, began: s.now()}
	s.run, s.came = r, 0 // the run will get the results of tasks
	return ctx, r
}

// ended ends a run. It prints done after success, or the error with a remedy.
func (s *screen) ended(r *run, err error, done, remedy string) {
	if s.run != r {
		return
	}
	s.endText()
	if err == nil && done != "" {
		s.say(ink.Good, done)
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			s.say(ink.Warn, strings.TrimPrefix(err.Error(), "plan: "))
		}
		if remedy != "" {
			s.say(ink.Muted, remedy)
		}
		r.answered = true // the reason was printed
	}
	s.over(r, err)
}

// editPlan puts the steps into the input, where the user edits them as text.
func (s *screen) editPlan() {
	p := s.session.Talk().Plan()
	switch {
	case len(p.Steps) == 0:
		s.hint = "there is no plan; to let the model propose one: /plan GOAL"
	case s.byLine:
		s.print(planLines(p, s.width)...)
		s.add(ink.Lines(ink.Muted, "/plan do carries them out, /plan drop deletes them. /plan edit NUMBER TEXT changes a step, /plan edit NUMBER removes it, /plan edit + TEXT adds one.", s.width)...)
	case !s.input.Empty() || s.run != nil:
		s.say(ink.Muted, "The steps are proposed: /plan edit puts them into the input, /plan do carries them out.")
	default:
		s.steps = p.Steps
		s.input.Set(planDo + "\n" + strings.TrimSuffix(plan.Format(p), "\n"))
		s.menu.update(s)
		s.hint = "edit the steps, one a line (Ctrl+G: in your editor); Enter carries them out, Esc leaves the plan"
	}
}

// editsPlan reports whether the input holds the steps of a plan.
func (s *screen) editsPlan() bool { return strings.HasPrefix(s.input.Text(), planDo+"\n") }

// isStepEdit reports whether an argument edits one step: "edit 2 TEXT", "edit 2" or "edit + TEXT".
func isStepEdit(argument string) bool {
	words := strings.Fields(argument)
	if len(words) < 2 || words[0] != "edit" {
		return false
	}
	_, err := strconv.Atoi(words[1])
	return err == nil || words[1] == "+"
}

// editStep changes one step, in line mode.
func (s *screen) editStep(typed string) {
	change := func(p host.Plan) (host.Plan, error) { return withStep(p, typed) }
	if _, err := change(s.session.Talk().Plan()); err != nil {
		s.hint = err.Error()
		return
	}
	s.inBackground(s.changePlan(change), (*screen).editPlan)
}

// changePlan returns a job that changes the plan. It uses the plan at the time when the job runs,
// because another change can come first.
func (s *screen) changePlan(change func(host.Plan) (host.Plan, error)) func(context.Context) error {
	return func(context.Context) error {
		_, err := s.session.Talk().ChangePlan(change)
		return err
	}
}

// withStep returns a plan with the typed change: "2 TEXT", "2" or "+ TEXT".
func withStep(p host.Plan, typed string) (host.Plan, error) {
	first, text, _ := strings.Cut(strings.TrimSpace(typed), " ")
	text = strings.TrimSpace(text)
	n, err := strconv.Atoi(first)
	switch {
	case first == "+" && text != "":
		p.Steps = append(p.Steps, host.PlanStep{Text: text})
	case err != nil || n < 1 || n > len(p.Steps):
		return p, fmt.Errorf("expected /plan edit with a step's number from 1 to %d, or with + TEXT", len(p.Steps))
	case text == "":
		p.Steps = slices.Delete(p.Steps, n-1, n)
	default:
		p.Steps[n-1] = host.PlanStep{Text: text}
	}
	return p, nil
}

// doPlan carries out the plan. text, if not empty, has the edited steps.
func (s *screen) doPlan(typed, text string) {
	p := s.session.Talk().Plan()
	if strings.TrimSpace(text) != "" {
		steps, err := plan.Parse(text)
		if err == nil {
			p, err = s.session.Talk().ChangePlan(func(p host.Plan) (host.Plan, error) {
				p.Steps = merged(steps, s.steps, p.Steps)
				return p, nil
			})
		}
		if err != nil {
			s.hint = strings.TrimPrefix(err.Error(), "plan: ")
			s.input.Set("/plan " + typed)
			return
		}
	}
	if !slices.ContainsFunc(p.Steps, isOpen) {
		s.hint = "no step is left; to let the model propose some: /plan GOAL"
		return
	}
	ctx, r := s.begun()
	s.ui.background(func() any {
		err := s.session.Execute(ctx, func(p host.Plan) { s.ui.post(func(s *screen) { s.ticked(r, p) }) })
		r.cancel()
		return func(s *screen) {
			s.ended(r, err, "The plan is done.", "/plan do continues with this step, /plan edit changes the remaining steps.")
		}
	})
}

// merged returns the edited steps with the state and note of the current plan. A step whose box the
// user changed keeps the user's state. before has the steps as they were put into the input.
func merged(steps, before, now []host.PlanStep) []host.PlanStep {
	steps, before, now = slices.Clone(steps), slices.Clone(before), slices.Clone(now)
	// found removes and returns the first step with a text, so that equal texts match one step
	// each.
	found := func(steps *[]host.PlanStep, text string) (host.PlanStep, bool) {
		at := slices.IndexFunc(*steps, func(s host.PlanStep) bool { return strings.ReplaceAll(s.Text, "\n", " ") == text })
		if at < 0 {
			return host.PlanStep{}, false
		}
		step := (*steps)[at]
		*steps = slices.Delete(*steps, at, at+1)
		return step, true
	}
	for i := range steps {
		was, known := found(&before, steps[i].Text)
		is, there := found(&now, steps[i].Text)
		if there && (known && was.State == steps[i].State || is.State == steps[i].State) {
			steps[i] = is
		}
	}
	return steps
}

func isOpen(s host.PlanStep) bool { return s.State != host.PlanDone }

// ticked prints the step that begins or ends.
func (s *screen) ticked(r *run, p host.Plan) {
	if s.run != r {
		return
	}
	s.endText()
	if at := slices.IndexFunc(p.Steps, func(s host.PlanStep) bool { return s.State == host.PlanBegun }); at >= 0 {
		r.step = at
		r.doingStep = fmt.Sprintf("step %d of %d: ", at+1, len(p.Steps))
	}
	if r.step < len(p.Steps) {
		s.print(planLine(&p.Steps[r.step], r.doingStep, s.width)...)
	}
}

// planMarks holds the marks of the states of steps.
var planMarks = map[string]ink.Span{
	host.PlanOpen: ink.T(ink.Muted, "○ "), host.PlanBegun: ink.T(ink.Accent, "▸ "), host.PlanDone: ink.T(ink.Good, "✓ "), host.PlanFailed: ink.T(ink.Bad, "✗ "),
}

func planLine(step *host.PlanStep, label string, width int) []ink.Line {
	lines := ink.Indent(ink.Wrap(ink.Line{ink.T(ink.Muted, label), ink.T(ink.Plain, plaintext.Line(step.Text, 2_000))}, width-2), ink.Line{planMarks[step.State]}, ink.Of("  "))
	if step.Note != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Bad, plaintext.Line(step.Note, 2_000), width-4), ink.Of("    "), ink.Of("    "))...)
	}
	return lines
}

func planLines(p host.Plan, width int) []ink.Line {
	var lines []ink.Line
	for i := range p.Steps {
		lines = append(lines, planLine(&p.Steps[i], fmt.Sprintf("%d ", i+1), width)...)
	}
	return lines
}
