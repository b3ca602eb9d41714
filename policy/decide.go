package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Decision is what becomes of one call, and why.
type Decision struct {
	Effect  Effect `json:"effect"`
	Rule    *Rule  `json:"rule"`    // the rule that decided; never nil; not to be changed
	Reason  string `json:"reason"`  // for people, in one sentence
	Default bool   `json:"default"` // no rule of the policy's own decided
	// Unknown is what the decision depends on and [Input.Unknown] names; Effect is Ask at least then. It is
	// empty where that makes no difference.
	Unknown []string `json:"unknown,omitempty"`
	Trace   []Step   `json:"trace,omitempty"` // the rules that apply or failed, the strictest first; of Explain every rule

	name string // of Rule; empty where it is not made yet
}

// RuleName returns [Rule.String] of the rule that decided.
func (d *Decision) RuleName() string {
	if d.name == "" {
		return d.Rule.String()
	}
	return d.name
}

// Allowing are the rules that allow the call, where it is allowed; not to be changed.
func (d *Decision) Allowing() []*Rule {
	var rules []*Rule
	for i := range d.Trace {
		if s := &d.Trace[i]; d.Effect == Allow && (s.Outcome == Decided || s.Outcome == Applies) {
			rules = append(rules, s.Rule)
		}
	}
	return rules
}

// Step is what one rule had to do with a decision.
type Step struct {
	Rule    *Rule   `json:"rule"`
	Outcome Outcome `json:"outcome"`
	Err     error   `json:"-"` // why the rule failed

	unknown []string // what it looks at and is not known
}

// Outcome is how it went with a rule.
type Outcome string

const (
	// Decided is the outcome of the rule that decided.
	Decided Outcome = "decided"
	// OtherServer is that of a rule for servers of another name or origin.
	OtherServer Outcome = "other server"
	// OtherTool is that of a rule for tools of another name.
	OtherTool Outcome = "other tool"
	// ConditionFalse is that of a rule whose condition does not hold.
	ConditionFalse Outcome = "condition false"
	// Failed is that of a rule whose condition could not be decided. One that allows
	// does not apply then; one that asks or denies lets nothing through without a
	// question.
	Failed Outcome = "failed"
	// NotKnown is that of a rule that may apply or not, as it looks at what is not known of the call.
	NotKnown Outcome = "not known"
	// Applies is that of a rule that applies, where another one decided that is as strict
	// or stricter.
	Applies Outcome = "applies too"
)

// Why says in words what became of the rule.
func (s Step) Why() string {
	switch {
	case s.Outcome == Failed && s.Rule.Effect == Allow:
		return fmt.Sprintf("failed, so it does not allow: %v", s.Err)
	case s.Outcome == Failed:
		return fmt.Sprintf("failed, so the call is asked about at least: %v", s.Err)
	case s.Outcome == NotKnown:
		return "looks at what is not known: " + strings.Join(s.unknown, ", ")
	case s.Outcome == Decided && s.Err != nil:
		return fmt.Sprintf("decided, to ask: %v", s.Err)
	}
	return string(s.Outcome)
}

// effect is what a rule that applies makes of the call: one that failed, of a rule to ask
// or deny, asks. It is empty where the rule does not apply.
func (s *Step) effect() Effect {
	switch {
	case s.Outcome == Applies:
		return s.Rule.Effect
	case s.Outcome == Failed && s.Rule.Effect != Allow:
		return Ask
	}
	return ""
}

// Decide decides about a call. Of the rules that match, the strictest decides: Deny before
// Ask before Allow, however specific another one is. Where none matches, it is the policy's
// default.
//
// A rule whose condition fails (a member of args is missing, a price is too high, ctx is
// done) does not allow; if it asks or denies, the decision is Ask at least. Nor does one
// allow that looks at args of which a number was rounded.
//
// The order in which rules were given means nothing. Decide starts nothing and waits
// for nothing.
func (p *Policy) Decide(ctx context.Context, in Input) Decision {
	return p.decide(ctx, &in, false)
}

// Explain decides as [Policy.Decide] does, and has every rule in its trace.
func (p *Policy) Explain(ctx context.Context, in Input) Decision {
	return p.decide(ctx, &in, true)
}

func (p *Policy) decide(ctx context.Context, in *Input, every bool) Decision {
	facts := &facts{in: in}
	var trace []Step
	var by *compiled
	decided, strictest := -1, Effect("")
	rules := p.rules
	if !every && len(in.Unknown) == 0 {
		rules = p.matching.of(p.rules, in.Server, in.Tool)
	}
	for _, c := range rules {
		if strictest == Deny && !every {
			break
		}
		s := c.look(ctx, facts)
		if effect := s.effect(); effect.strictness() > strictest.strictness() {
			by, decided, strictest = c, len(trace), effect
		}
		if every || s.Outcome == Applies || s.Outcome == Failed || s.Outcome == NotKnown {
			trace = append(trace, s)
		}
	}
	if d, is := p.unsure(in, trace, by != nil, strictest); is {
		return d
	}
	if by == nil {
		return Decision{Effect: p.fallback.rule.Effect, Rule: p.fallback.rule, name: p.fallback.name, Reason: p.defaultReason(in), Default: true, Trace: trace}
	}
	s := &trace[decided]
	s.Outcome = Decided
	d := Decision{Effect: strictest, Rule: s.Rule, name: by.name, Reason: by.reason, Default: s.Rule.Source == builtinSource, Trace: trace}
	if s.Err != nil {
		d.Reason = fmt.Sprintf("the rule %s failed: %v", s.Rule, s.Err)
	}
	return d
}

// unsure is the decision where it depends on what is not known: without rules that look at it, strictest is
// what rules decide, if any does.
func (p *Policy) unsure(in *Input, trace []Step, decided bool, strictest Effect) (d Decision, is bool) {
	for i := range trace {
		s := &trace[i]
		effect := s.Rule.Effect
		if s.Outcome != NotKnown || decided && effect.strictness() <= strictest.strictness() || !decided && effect == Allow && p.fallback.rule.Effect == Allow {
			continue
		}
		if !is {
			d, is = Decision{Effect: Strictest(Ask, strictest), Rule: s.Rule, Default: s.Rule.Source == builtinSource, Trace: trace}, true
			if !decided {
				d.Effect = Strictest(Ask, p.fallback.rule.Effect)
			}
		}
		for _, name := range s.unknown {
			if !slices.Contains(d.Unknown, name) {
				d.Unknown = append(d.Unknown, name)
			}
		}
	}
	if is {
		d.Reason = fmt.Sprintf("the rule %s looks at %s, which is not known", d.Rule, strings.Join(d.Unknown, ", "))
	}
	return d, is
}

var errRounded = errors.New("a number of the arguments has more digits than conditions compare, so it may be another one")

// look says what the rule has to do with a call.
func (c *compiled) look(ctx context.Context, f *facts) Step {
	s := Step{Rule: c.rule, Outcome: Applies}
	unknown := c.unknown(f.in)
	switch {
	case !c.server.matches(f.in.Server) && !slices.Contains(unknown, variableServer), c.rule.Origin != "" && c.rule.Origin != f.in.Origin && !slices.Contains(unknown, unknownOrigin):
		s.Outcome = OtherServer
	case !c.tool.matches(f.in.Tool) && !slices.Contains(unknown, variableTool):
		s.Outcome = OtherTool
	case c.when != nil:
		holds, err := c.when.holds(ctx, f)
		if holds && c.rule.Effect == Allow && f.rounded && c.when.args {
			err = errRounded
		}
		if looked, is := errors.AsType[*unknownError](err); is {
			s.Outcome, s.unknown = NotKnown, looked.names
		} else if s.Err = err; err != nil {
			s.Outcome = Failed
		} else if !holds {
			s.Outcome = ConditionFalse
		}
	}
	if len(unknown) > 0 && (s.Outcome == Applies || s.Outcome == Failed) {
		s.Outcome, s.Err, s.unknown = NotKnown, nil, unknown
	}
	return s
}
