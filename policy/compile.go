package policy

import (
	"errors"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
)

// ErrLimit says that a rule, a file or a set of rules is larger than this package
// accepts.
var ErrLimit = errors.New("too large")

// maxRules bounds the rules of a policy.
const maxRules = 10_000

// Options are what a policy has in addition to its rules. The zero value is ready to use.
type Options struct {
	// Default is what becomes of calls that no rule matches; empty is Ask. While it is
	// Ask, the built-in rule read-only-trusted stands before it.
	Default Effect
}

// Policy decides which calls may run. It never changes, and is safe for concurrent
// use.
type Policy struct {
	env      *cel.Env
	fallback Effect
	final    []*compiled // in their order of precedence, like those that follow
	rules    []*compiled
	builtin  []*compiled
}

// Compile makes a policy of rules, whose order means nothing. The error joins a
// [*Problem] for every fault of every rule; there is no policy then, because a policy
// without the rule that was meant would be another one.
func Compile(rules []Rule, o Options) (*Policy, error) {
	if o.Default == "" {
		o.Default = Ask
	}
	if o.Default.strictness() < 0 {
		return nil, &Problem{Field: "default", Err: unknownEffect(o.Default)}
	}
	env, err := newEnvironment()
	if err != nil {
		return nil, fmt.Errorf("conditions cannot be compiled: %w", err)
	}
	empty := &Policy{env: env, fallback: o.Default}
	if o.Default == Ask {
		if empty, err = empty.With(readOnlyTrusted()); err != nil {
			return nil, err
		}
		empty.builtin, empty.rules = empty.rules, nil
	}
	return empty.With(rules...)
}

// readOnlyTrusted is the built-in rule.
func readOnlyTrusted() Rule {
	return Rule{
		Name: "read-only-trusted", Effect: Allow, Tool: "*", Source: builtinSource,
		When:   "trusted && annotations.readOnly && !annotations.openWorld",
		Reason: "a trusted server says that the tool only reads, and nothing of the outside world",
	}
}

// builtinSource is the Source of what every policy has.
const builtinSource = "built-in"

// With returns a policy that has more rules; p stays as it is. Only the new rules are
// compiled, so it is the way to add one for a session. Its error is that of [Compile].
func (p *Policy) With(rules ...Rule) (*Policy, error) {
	if n := len(p.final) + len(p.rules) + len(rules); n > maxRules {
		return nil, &Problem{Err: fmt.Errorf("%w: %d rules, more than %d; let patterns stand for many names", ErrLimit, n, maxRules)}
	}
	more := *p
	more.final, more.rules = slices.Clone(p.final), slices.Clone(p.rules)
	var faults []error
	for i := range rules {
		rule := rules[i]
		c, problems := compileRule(p.env, &rule)
		for _, problem := range problems {
			problem.Source, problem.Rule = rule.Source, rule.title(i)
			faults = append(faults, problem)
		}
		switch {
		case len(problems) > 0:
		case rule.Final:
			more.final = append(more.final, c)
		default:
			more.rules = append(more.rules, c)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	slices.SortStableFunc(more.final, byPrecedence)
	slices.SortStableFunc(more.rules, byPrecedence)
	return &more, nil
}

// Rules are the policy's rules by precedence: final ones, the others from the most
// specific to the least, and what is built in.
func (p *Policy) Rules() []Rule {
	var rules []Rule
	for _, c := range slices.Concat(p.final, p.rules, p.builtin) {
		rules = append(rules, *c.rule)
	}
	return append(rules, *p.defaultRule())
}

func (p *Policy) defaultRule() *Rule {
	reason := "no rule allows it"
	if p.fallback == Allow {
		reason = "no rule is against it"
	}
	return &Rule{Name: "default", Effect: p.fallback, Source: builtinSource, Reason: reason}
}

// maxText bounds the other texts of a rule, in bytes.
const maxText = 4 << 10

func compileRule(env *cel.Env, r *Rule) (*compiled, []*Problem) {
	var problems []*Problem
	if r.Effect.strictness() < 0 {
		problems = append(problems, &Problem{Field: "effect", Err: unknownEffect(r.Effect)})
	}
	if r.Final && r.Effect == Allow {
		problems = append(problems, &Problem{Field: "final", Err: errors.New("a rule that allows cannot be final, or no narrower rule could deny; write the narrower patterns themselves")})
	}
	for _, field := range []struct{ name, text string }{{"name", r.Name}, {"server", r.Server}, {"tool", r.Tool}, {"reason", r.Reason}} {
		if len(field.text) > maxText {
			problems = append(problems, &Problem{Field: field.name, Err: fmt.Errorf("%w: %d bytes, more than %d", ErrLimit, len(field.text), maxText)})
		}
	}
	c := &compiled{rule: r, server: parsePattern(r.Server), tool: parsePattern(r.Tool)}
	if r.When != "" {
		when, faults := compileCondition(env, r.When)
		c.when, problems = when, append(problems, faults...)
	}
	if len(problems) == 0 {
		c.rank = c.specificity()
	}
	return c, problems
}

func unknownEffect(e Effect) error {
	if e == "" {
		return errors.New(`missing; write "allow", "ask" or "deny"`)
	}
	return fmt.Errorf(`%s is none; write "allow", "ask" or "deny"`, quote(string(e)))
}
