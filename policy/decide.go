package policy

import (
	"context"
	"fmt"
)

// Decision is what becomes of one call, and why.
type Decision struct {
	Effect  Effect `json:"effect"`
	Rule    *Rule  `json:"rule"`            // the rule that decided; never nil; not to be changed
	Reason  string `json:"reason"`          // for people, in one sentence
	Default bool   `json:"default"`         // no rule of the policy's own decided
	Trace   []Step `json:"trace,omitempty"` // every rule, by precedence
}

// Step is what one rule had to do with a decision.
type Step struct {
	Rule    *Rule   `json:"rule"`
	Outcome Outcome `json:"outcome"`
	Err     error   `json:"-"` // why the rule failed
}

// Outcome is how it went with a rule.
type Outcome string

const (
	// Decided is the outcome of the rule that decided.
	Decided Outcome = "decided"
	// OtherServer is that of a rule for servers of another name.
	OtherServer Outcome = "other server"
	// OtherTool is that of a rule for tools of another name.
	OtherTool Outcome = "other tool"
	// ConditionFalse is that of a rule whose condition does not hold.
	ConditionFalse Outcome = "condition false"
	// Failed is that of a rule whose condition could not be decided. One that allows
	// does not apply then; one that asks or denies lets nothing through without a
	// question.
	Failed Outcome = "failed"
	// Overruled is that of a rule that applies, where a stricter one decided.
	Overruled Outcome = "overruled"
	// Outranked is that of a rule that was not looked at, because one before it decided.
	Outranked Outcome = "outranked"
)

// Why says in words what became of the rule.
func (s Step) Why() string {
	switch {
	case s.Outcome == Failed && s.Rule.Effect == Allow:
		return fmt.Sprintf("failed, so it does not allow: %v", s.Err)
	case s.Outcome == Failed:
		return fmt.Sprintf("failed, so the call is asked about at least: %v", s.Err)
	case s.Outcome == Decided && s.Err != nil:
		return fmt.Sprintf("decided, to ask: %v", s.Err)
	}
	return string(s.Outcome)
}

// Decide decides about a call. The most specific rule that matches wins:
//
//  1. a rule for a tool's whole name, then one with a pattern of tools, then one for
//     servers, then one with a condition only, then one for everything;
//  2. among those, a server's whole name before a pattern of servers before none;
//  3. then a condition on args or resource before another one before none;
//  4. then Deny before Ask before Allow.
//
// A final rule is no part of this; the decision is at least as strict as those that
// match. A rule whose condition fails (a member of args is missing, a price is too
// high, ctx is done) does not allow; if it denies or asks, a less specific rule does
// not allow either, and the decision is Ask or Deny. Where no rule matches, the
// policy's default decides.
//
// The order in which rules were given means nothing. Decide starts nothing and waits
// for nothing.
func (p *Policy) Decide(ctx context.Context, in Input) Decision {
	d := decider{ctx: ctx, facts: facts{in: &in}}
	d.trace = make([]Step, 0, len(p.final)+len(p.rules)+len(p.builtin))
	floor := d.floor(p.final)
	if d.effect(floor) == Deny {
		d.skip(p.rules)
		d.skip(p.builtin)
		return d.conclude(p, floor, false)
	}
	held, winner := d.first(p.rules)
	own := held != nobody || winner != nobody
	if winner == nobody {
		_, winner = d.first(p.builtin)
	} else {
		d.skip(p.builtin)
	}
	decided, strictest := winner, d.effect(winner)
	if winner == nobody {
		strictest = p.fallback
	}
	for _, step := range []int{held, floor} {
		if step != nobody && d.effect(step).strictness() >= strictest.strictness() {
			decided, strictest = step, d.effect(step)
		}
	}
	return d.conclude(p, decided, decided == nobody || !own && decided == winner)
}

// nobody is the index of no step.
const nobody = -1

// decider makes one decision. Rules are known by their step in the trace.
type decider struct {
	ctx   context.Context
	facts facts
	trace []Step
}

// effect is what a rule that applies makes of the call.
func (d *decider) effect(step int) Effect {
	switch {
	case step == nobody:
		return ""
	case d.trace[step].Err != nil:
		return Ask
	}
	return d.trace[step].Rule.Effect
}

// look adds the step of a rule, and reports whether the rule applies.
func (d *decider) look(c *compiled) (step int, applies bool) {
	s := Step{Rule: c.rule, Outcome: Overruled}
	switch {
	case !c.server.matches(d.facts.in.Server):
		s.Outcome = OtherServer
	case !c.tool.matches(d.facts.in.Tool):
		s.Outcome = OtherTool
	case c.when != nil:
		holds, err := c.when.holds(d.ctx, &d.facts)
		if s.Err = err; err != nil {
			s.Outcome = Failed
		} else if !holds {
			s.Outcome = ConditionFalse
		}
	}
	d.trace = append(d.trace, s)
	applies = s.Outcome == Overruled || s.Outcome == Failed && c.rule.Effect != Allow
	return len(d.trace) - 1, applies
}

// floor is the strictest of the rules that apply, or nobody.
func (d *decider) floor(rules []*compiled) int {
	strictest := nobody
	for _, c := range rules {
		step, applies := d.look(c)
		if applies && d.effect(step).strictness() > d.effect(strictest).strictness() {
			strictest = step
		}
	}
	return strictest
}

// first is the first rule that matches, and the first before it that failed and asks
// for that.
func (d *decider) first(rules []*compiled) (held, winner int) {
	held = nobody
	for i, c := range rules {
		step, applies := d.look(c)
		switch {
		case !applies:
		case d.trace[step].Err == nil:
			d.skip(rules[i+1:])
			return held, step
		case held == nobody:
			held = step
		}
	}
	return held, nobody
}

// skip adds the steps of rules that need not be looked at.
func (d *decider) skip(rules []*compiled) {
	for _, c := range rules {
		d.trace = append(d.trace, Step{Rule: c.rule, Outcome: Outranked})
	}
}

func (d *decider) conclude(p *Policy, step int, byDefault bool) Decision {
	if step == nobody {
		rule := p.defaultRule()
		return Decision{Effect: rule.Effect, Rule: rule, Reason: rule.Reason, Default: true, Trace: d.trace}
	}
	s := &d.trace[step]
	s.Outcome = Decided
	decision := Decision{Effect: d.effect(step), Rule: s.Rule, Reason: s.Rule.Reason, Default: byDefault, Trace: d.trace}
	switch {
	case s.Err != nil:
		decision.Reason = fmt.Sprintf("the rule %s failed: %v", s.Rule, s.Err)
	case decision.Reason == "":
		decision.Reason = fmt.Sprintf("the rule %s", s.Rule)
	}
	return decision
}
