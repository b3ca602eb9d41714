package plan

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxProposed is the maximum number of steps in the model's instructions.
const maxProposed = 20

// First words of the answer after a step failed, and after a step that succeeded although a call
// was not allowed.
const (
	failedMark = "NOT DONE:"
	doneMark   = "DONE"
)

// Propose asks the model for the steps to a goal and makes them the conversation's plan. The model
// gets only tools that read, and its calls need approval as usual.
func Propose(ctx context.Context, c *host.Conversation, goal string) (host.Plan, error) {
	if goal = strings.TrimSpace(goal); goal == "" {
		return host.Plan{}, errors.New("plan: the goal is empty; give a goal")
	}
	text := fmt.Sprintf("Make a plan for the goal below, but do not carry out any of it yet. First look up what you need to know. "+
		"Then answer only with the steps, at most %d: one numbered line each. Each step can be done and checked by itself.\n\nGoal: %s", maxProposed, goal)
	answer, err := c.Ask(ctx, host.Question{Text: text, Shown: "plan: " + goal, Tools: func(t host.ToolInfo) bool { return t.ReadOnly }})
	if err != nil {
		return host.Plan{}, fmt.Errorf("plan: the proposal: %w", err)
	}
	p := host.Plan{Goal: goal}
	for _, found := range numbered.FindAllStringSubmatch(answer.Text, -1) {
		p.Steps = append(p.Steps, host.PlanStep{Text: strings.TrimSpace(found[1])})
	}
	switch {
	case answer.Stop != "end":
		return host.Plan{}, fmt.Errorf("plan: the model did not finish the list of steps (%s); ask again", answer.Stop)
	case len(p.Steps) == 0:
		return host.Plan{}, errors.New("plan: the model proposed no numbered steps; ask again, or write the steps yourself")
	}
	return p, c.SetPlan(p)
}

var (
	numbered = regexp.MustCompile(`(?m)^\s*\d+[.)]\s+(\S.*)$`)
	edited   = regexp.MustCompile(`^(?:\d+[.)]|[-*])?\s*(?:\[([ xX>!])\])?\s*(.*)$`)
	ticks    = map[string]string{host.PlanOpen: " ", host.PlanBegun: ">", host.PlanDone: "x", host.PlanFailed: "!"}
)

// Format returns the steps as text that a user can edit, a line for each: "- [ ] open", "- [x]
// done", "- [>] begun", "- [!] failed".
func Format(p host.Plan) string {
	var b strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "- [%s] %s\n", ticks[s.State], strings.ReplaceAll(s.Text, "\n", " "))
	}
	return b.String()
}

// Parse reads the output of Format after a user edited it. Each line that is not empty is a step. A
// line without a box is an open step, numbered or not.
func Parse(text string) ([]host.PlanStep, error) {
	var steps []host.PlanStep
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		found := edited.FindStringSubmatch(line)
		if found[2] == "" {
			return nil, fmt.Errorf("plan: the step %q has no text; write what is to be done, or remove the line", line)
		}
		step := host.PlanStep{Text: found[2]}
		for state, tick := range ticks {
			if tick == strings.ToLower(found[1]) {
				step.State = state
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// ErrFailed reports that the model could not do a step. The note of the step has the reason.
var ErrFailed = errors.New("the step could not be done")

// Execute carries out the unfinished steps of the conversation's plan in order, each in a run of
// its own, and marks them as done. changed, if not nil, is called with the plan after each change.
// Execute ends at a failed step, at a limit of a run, or when ctx ends. The next call continues
// with that step. If the last writing call of a step was not allowed, Execute asks the model
// whether the step is done without it. The user may edit the plan meanwhile.
//
// The model wrote the steps, even if the user saw them. They are therefore not the user's words,
// and do not spare a call a question.
func Execute(ctx context.Context, c *host.Conversation, changed func(host.Plan)) error {
	for {
		p := c.Plan()
		at := slices.IndexFunc(p.Steps, func(s host.PlanStep) bool { return s.State != host.PlanDone })
		if at < 0 {
			return nil
		}
		step := p.Steps[at]
		question := host.Question{Text: ask(p, at), Shown: fmt.Sprintf("step %d of %d: %s", at+1, len(p.Steps), step.Text), Relayed: true}
		if err := mark(c, step.Text, host.PlanBegun, "", changed); err != nil {
			return err
		}
		answer, err := c.Ask(ctx, question)
		if err != nil {
			return fmt.Errorf("plan: step %d: %w", at+1, err)
		}
		if answer.Stop != "end" {
			return fmt.Errorf("plan: step %d: its run was ended (%s); to continue, carry out the plan again", at+1, answer.Stop)
		}
		why, failed := strings.CutPrefix(strings.TrimSpace(answer.Text), failedMark)
		if !failed && answer.Refused != "" {
			if why, failed, err = askIfDone(ctx, c, at+1, answer.Refused); err != nil {
				return err
			}
		}
		if failed {
			why = strings.TrimSpace(why)
			err := fmt.Errorf("plan: step %d: %w: %s", at+1, ErrFailed, why)
			return errors.Join(err, mark(c, step.Text, host.PlanFailed, plaintext.Beginning(why, maxReason), changed))
		}
		if err := mark(c, step.Text, host.PlanDone, "", changed); err != nil {
			return err
		}
	}
}

// askIfDone asks the model whether a step is done although a call was not allowed. Any answer but a
// clear yes means that the step failed.
func askIfDone(ctx context.Context, c *host.Conversation, step int, refused string) (why string, failed bool, err error) {
	answer, err := c.Ask(ctx, host.Question{
		Text:  fmt.Sprintf("The call of %s was not allowed. Is step %d done without it? Answer %s, or %s and why. Do nothing more.", refused, step, doneMark, failedMark),
		Shown: fmt.Sprintf("is step %d done, without the call of %s?", step, refused), Relayed: true, Tools: func(host.ToolInfo) bool { return false },
	})
	if err != nil {
		return "", false, fmt.Errorf("plan: step %d: %w", step, err)
	}
	text := strings.TrimLeft(answer.Text, " \n*_")
	if strings.HasPrefix(strings.ToUpper(text), doneMark) && answer.Stop == "end" {
		return "", false, nil
	}
	why = fmt.Sprintf("the call of %s was not allowed", refused)
	if said, found := strings.CutPrefix(text, failedMark); found && strings.TrimSpace(said) != "" {
		why += ": " + strings.TrimSpace(said)
	}
	return why, true, nil
}

// ask returns the question for one step. It includes the whole plan, which a summary of the
// conversation may have lost.
func ask(p host.Plan, at int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan for: %s\n%s\nDo step %d now, and no other: %s\n", p.Goal, Format(p), at+1, p.Steps[at].Text)
	if p.Steps[at].State != host.PlanOpen {
		b.WriteString("It was begun before: first check which parts are done already.\n")
	}
	fmt.Fprintf(&b, "If it cannot be done, answer %s and why.", failedMark)
	return b.String()
}

// mark sets the state of the first unfinished step with this text. It does nothing if the user has
// removed the step.
func mark(c *host.Conversation, text, state, note string, changed func(host.Plan)) error {
	p, err := c.ChangePlan(func(p host.Plan) (host.Plan, error) {
		at := slices.IndexFunc(p.Steps, func(s host.PlanStep) bool { return s.Text == text && s.State != host.PlanDone })
		if at < 0 {
			return p, errGone
		}
		p.Steps[at].State, p.Steps[at].Note = state, note
		return p, nil
	})
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		return fmt.Errorf("plan: %w", err)
	}
	if changed != nil {
		changed(p)
	}
	return nil
}

// errGone reports that a step is no longer in the plan.
var errGone = errors.New("the step is gone")

// maxReason is the maximum length in bytes of the reason stored with a failed step.
const maxReason = 1 << 10
