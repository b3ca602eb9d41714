package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Decision is the decision about one call and the reason for it.
type Decision struct {
	Effect  Effect `json:"effect"`
	Rule    *Rule  `json:"rule"`    // rule that decided; never nil; must not be changed
	Reason  string `json:"reason"`  // one sentence for users
	Default bool   `json:"default"` // whether the default or the built-in rule decided
	// Unknown lists the names in [Input.Unknown] that the decision depends on. If it is not empty,
	// Effect is at least Ask.
	Unknown []string `json:"unknown,omitempty"`
	Trace   []Step   `json:"trace,omitempty"` // rules that apply, failed or may apply, strictest first; after Explain, all rules

	name string // name of Rule; empty until it is computed
}

// RuleName returns the [Rule.String] of the rule that decided.
func (d *Decision) RuleName() string {
	if d.name == "" {
		return d.Rule.String()
	}
	return d.name
}

// Allowing returns the rules that allow the call, or nil if the call is not allowed. They must not
// be changed.
func (d *Decision) Allowing() []*Rule {
	var rules []*Rule
	for i := range d.Trace {
		if s := &d.Trace[i]; d.Effect == Allow && (s.Outcome == Decided || s.Outcome == Applies) {
			rules = append(rules, s.Rule)
		}
	}
	return rules
}

// Step is the outcome of one rule in a decision.
type Step struct {
	Rule    *Rule   `json:"rule"`
	Outcome Outcome `json:"outcome"`
	Err     error   `json:"-"` // why the rule failed; nil otherwise

	unknown []string // unknown values that the rule uses
}

// Outcome is the outcome of a rule in a decision.
type Outcome string

const (
	// Decided means that the rule decided.
	Decided Outcome = "decided"
	// OtherServer means that the rule is for servers with another name or origin.
	OtherServer Outcome = "other server"
	// OtherTool means that the rule is for tools with another name.
	OtherTool Outcome = "other tool"
	// ConditionFalse means that the condition of the rule is false.
	ConditionFalse Outcome = "condition false"
	// Failed means that the condition of the rule could not be evaluated. A rule that allows then
	// does not apply. A rule that asks or denies makes the decision at least Ask.
	Failed Outcome = "failed"
	// NotKnown means that it is not known whether the rule applies, because it uses unknown values
	// of the call.
	NotKnown Outcome = "not known"
	// Applies means that the rule applies, but another rule that is at least as strict decided.
	Applies Outcome = "applies too"
)

// Why describes the outcome in words.
func (s Step) Why() string {
	switch {
	case s.Outcome == Failed && s.Rule.Effect == Allow:
		return fmt.Sprintf("failed, so it does not allow: %v", s.Err)
	case s.Outcome == Failed:
		return fmt.Sprintf("failed, so the call needs at least a question: %v", s.Err)
	case s.Outcome == NotKnown:
		return "reads unknown values: " + strings.Join(s.unknown, ", ")
	case s.Outcome == Decided && s.Err != nil:
		return fmt.Sprintf("decided, to ask: %v", s.Err)
	}
	return string(s.Outcome)
}

// effect returns the effect of a rule that applies, and "" for one that does not. A failed rule has
// the effect Ask, or none if it is a rule that allows.
func (s *Step) effect() Effect {
	switch {
	case s.Outcome == Applies:
		return s.Rule.Effect
	case s.Outcome == Failed && s.Rule.Effect != Allow:
		return Ask
	}
	return ""
}

// Decide decides about a call. Of the matching rules, the strictest decides: Deny before Ask before
// Allow, however specific the rules are. If no rule matches, the policy's default decides.
//
// A condition fails if it uses a missing member of args, if its cost is too high, or if ctx is
// done. A rule that allows does not apply if its condition fails; one that asks or denies makes the
// decision at least Ask. A rule that allows does not apply either if it uses args and args has a
// rounded number.
//
// The order of rules has no meaning. Decide starts no goroutines and does not block.
func (p *Policy) Decide(ctx context.Context, in Input) Decision {
	return p.decide(ctx, &in, false)
}

// Explain is like [Policy.Decide], but the trace has every rule.
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

// unsure returns the decision if it depends on unknown values, and reports whether it does.
// strictest is the effect of the rules that apply; it counts only if decided is set.
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
		d.Reason = fmt.Sprintf("the rule %s reads %s, which is not known", d.Rule, strings.Join(d.Unknown, ", "))
	}
	return d, is
}

var errRounded = errors.New("a number in the arguments has too many digits to compare exactly")

// look returns the outcome of the rule for a call.
func (c *compiled) look(ctx context.Context, f *facts) Step {
	s := Step{Rule: c.rule, Outcome: Applies}
	unknown := c.unknown(f.in)
	switch {
	case !c.server.matches(f.in.Server) && !slices.Contains(unknown, variableServer), c.rule.Origin != "" && c.rule.Origin != f.in.Origin && !slices.Contains(unknown, unknownOrigin):
		s.Outcome = OtherServer
	case !c.tool.matches(f.in.Tool) && !slices.Contains(unknown, variableTool):
		s.Outcome = OtherTool
	case c.when != nil:
		holds, err := c.when.isTrue(ctx, f)
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
	if len(unknown) > 0 && (s.Outcome == Applies || s.Outcome == Failed || s.Outcome == ConditionFalse && slices.Contains(unknown, unknownGroups)) {
		s.Outcome, s.Err, s.unknown = NotKnown, nil, unknown
	}
	return s
}
