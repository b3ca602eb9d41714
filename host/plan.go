package host

import (
	"fmt"
	"slices"
	"strings"
)

// A Plan is what is to be done in a conversation, step by step. It is part of the record, so
// a conversation that is resumed still has it. Package host/plan proposes plans and carries
// them out.
type Plan struct {
	Goal  string     `json:"goal,omitempty"`
	Steps []PlanStep `json:"steps"`
}

// PlanStep is one step of a Plan.
type PlanStep struct {
	Text  string `json:"text"`
	State string `json:"state,omitempty"` // one of the constants below
	Note  string `json:"note,omitempty"`  // why it failed
}

// The states of a step of a plan.
const (
	PlanOpen   = ""       // it is still to be done
	PlanBegun  = "begun"  // it is being done, or was when the program ended
	PlanDone   = "done"   // it is ticked off
	PlanFailed = "failed" // it could not be done
)

// The limits of a plan.
const (
	maxPlanSteps = 100
	maxPlanText  = 4 << 10 // bytes of the goal, of a step, and of its note
)

// Plan returns the conversation's plan; it has no steps where there is none.
func (c *Conversation) Plan() Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan := c.plan
	plan.Steps = slices.Clone(plan.Steps)
	return plan
}

// SetPlan replaces the conversation's plan; one without steps takes it away.
func (c *Conversation) SetPlan(p Plan) error {
	_, err := c.ChangePlan(func(Plan) (Plan, error) { return p, nil })
	return err
}

// ChangePlan replaces the conversation's plan by what change makes of it, and returns that. Where
// somebody else changed the plan meanwhile, change is called again with theirs, so that nothing is
// lost: it should do nothing but compute. Its error leaves the plan as it is.
func (c *Conversation) ChangePlan(change func(Plan) (Plan, error)) (Plan, error) {
	for {
		before := c.Plan()
		seen := before
		seen.Steps = slices.Clone(before.Steps)
		after, err := change(seen)
		if err == nil {
			err = after.check()
		}
		if err != nil {
			return before, err
		}
		after.Steps = slices.Clone(after.Steps)
		if replaced, err := c.replacePlan(before, after); replaced || err != nil {
			return after, err
		}
	}
}

// replacePlan does so unless the plan is another one by now.
func (c *Conversation) replacePlan(before, after Plan) (bool, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	if now := c.Plan(); now.Goal != before.Goal || !slices.Equal(now.Steps, before.Steps) {
		return false, nil
	}
	return true, c.addNext(Entry{Plan: &after})
}

// check says what of a plan a conversation does not take.
func (p *Plan) check() error {
	if len(p.Steps) > maxPlanSteps {
		return fmt.Errorf("the plan has %d steps: at most %d; put some of them together", len(p.Steps), maxPlanSteps)
	}
	for i, s := range append([]PlanStep{{Text: p.Goal}}, p.Steps...) {
		if i > 0 && strings.TrimSpace(s.Text) == "" || len(s.Text) > maxPlanText || len(s.Note) > maxPlanText {
			return fmt.Errorf("step %d of the plan (0 is its goal) has 1 to %d bytes, and so has its note", i, maxPlanText)
		}
		if !slices.Contains([]string{PlanOpen, PlanBegun, PlanDone, PlanFailed}, s.State) {
			return fmt.Errorf("step %d of the plan has the state %q: it is %q, %q or %q, or open with none", i, s.State, PlanBegun, PlanDone, PlanFailed)
		}
	}
	return nil
}
