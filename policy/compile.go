package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
)

// ErrLimit reports that a rule, a file or a set of rules is larger than this package allows.
var ErrLimit = errors.New("too large")

// maxRules is the largest number of rules of a policy.
const maxRules = 10_000

// Options are all parts of a policy except its rules. The zero value is ready to use.
type Options struct {
	// Default is the effect on calls that no rule matches; empty means Ask. If it is Ask, the
	// policy also has the built-in rule read-only.
	Default Effect
	// DefaultSource is the place of Default, from [File.DefaultSource]. It is empty if no file sets
	// Default.
	DefaultSource string
}

// Policy decides which calls may run. It is immutable and safe for concurrent use.
type Policy struct {
	env      *cel.Env
	fallback *compiled   // decides if no rule matches
	rules    []*compiled // strictest first
	matching *matching
}

const (
	// maxMatching is the largest number of tools whose matching rules are cached.
	maxMatching = 1_000
	// maxMatchingName is the largest length in bytes of the names of a cached tool and its server.
	// Clients may call tools that do not exist, with names of any length.
	maxMatchingName = 512
)

// matching caches the rules whose patterns match a tool, by the names of its server and itself.
type matching struct {
	mu sync.RWMutex
	by map[[2]string][]*compiled
}

// of returns the rules whose patterns match, in the order of rules.
func (m *matching) of(rules []*compiled, server, tool string) []*compiled {
	key := [2]string{server, tool}
	m.mu.RLock()
	found, known := m.by[key]
	m.mu.RUnlock()
	if known {
		return found
	}
	for _, c := range rules {
		if c.server.matches(server) && c.tool.matches(tool) {
			found = append(found, c)
		}
	}
	if len(server)+len(tool) > maxMatchingName {
		return found
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil || len(m.by) >= maxMatching {
		m.by = map[[2]string][]*compiled{}
	}
	m.by[[2]string{strings.Clone(server), strings.Clone(tool)}] = found // cloned, because the names may be parts of a larger message
	return found
}

// Compile returns a policy of rules. The order of the rules has no meaning. The error joins a
// [*Problem] for each fault of each rule. The policy is then nil, because a policy without the
// faulty rule would allow other calls.
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
	reason := map[Effect]string{Allow: "no rule forbids it", Ask: noRule, Deny: "no rule allows it"}[o.Default]
	fallback, _ := compileRule(env, &Rule{Name: "default", Effect: o.Default, Source: cmp.Or(o.DefaultSource, builtinSource), Reason: reason})
	p, err := (&Policy{env: env, fallback: fallback}).With(rules...)
	if err == nil && o.Default == Ask {
		// A user who approved a server's definitions has seen which tools claim to be read-only. A
		// server that lies about that could do the same harm without a call. Rules cannot decide
		// whether the arguments leak data or whether the result steers the model. A host also asks
		// the user about the flow of data.
		p, err = p.With(Rule{
			Name: "read-only", Effect: Allow, Tool: "*", Source: builtinSource, When: "annotations.readOnly",
			Reason: "the tool is declared as read-only",
		})
	}
	return p, err
}

// builtinSource is the Source of the built-in rule.
const builtinSource = "built-in"

// With returns a copy of the policy with more rules. It compiles only the new rules, so it is the
// fast way to add a rule to a session. It returns the same errors as [Compile].
func (p *Policy) With(rules ...Rule) (*Policy, error) {
	if n := len(p.rules) + len(rules); n > maxRules+1 { // the built-in rule is not counted
		return nil, &Problem{Err: fmt.Errorf("%w: %d rules, more than %d; use patterns for many names", ErrLimit, n, maxRules)}
	}
	more := *p
	more.rules, more.matching = slices.Clone(p.rules), new(matching)
	var faults []error
	for i := range rules {
		rule := rules[i]
		c, problems := compileRule(p.env, &rule)
		for _, problem := range problems {
			problem.Source, problem.Rule = rule.Source, rule.title(i)
			faults = append(faults, problem)
		}
		more.rules = append(more.rules, c)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	slices.SortStableFunc(more.rules, byStrictness)
	return &more, nil
}

// Rules returns the rules of the policy, strictest first, and at the end the rule of its default.
func (p *Policy) Rules() []Rule {
	var rules []Rule
	for _, c := range p.rules {
		rules = append(rules, *c.rule)
	}
	return append(rules, *p.fallback.rule)
}

// UsesGroups reports whether a condition uses principal.groups.
func (p *Policy) UsesGroups() bool {
	return slices.ContainsFunc(p.rules, func(c *compiled) bool { return c.when != nil && c.when.groups })
}

const noRule = "no rule allows it yet"

// defaultReason describes the known effects of a call that no rule matches, for the user who
// decides about the call. For a server that is not trusted, it assumes the worst and presents
// claims as claims.
func (p *Policy) defaultReason(in *Input) string {
	if p.fallback.rule.Effect != Ask {
		return p.fallback.reason
	}
	holds := func(claim *bool, unsaid bool) bool {
		if claim == nil || !in.Trusted {
			return unsaid
		}
		return *claim
	}
	var does string
	switch readOnly := in.Annotations.ReadOnly; {
	case in.method() == "prompts/get":
		does = "it returns a text of the server"
	case in.method() != callTool:
		does = "it reads a resource"
	case readOnly != nil && *readOnly && in.Trusted:
		does = "it only reads"
	case readOnly != nil && *readOnly:
		does = "it only reads, according to the server"
	case holds(in.Annotations.Destructive, true):
		does = "it may write and delete"
	default:
		does = "it writes, and deletes nothing"
	}
	if in.method() == callTool && holds(in.Annotations.OpenWorld, true) {
		does += ", and may reach other systems"
	}
	return does + "; " + noRule
}

// maxText is the largest length in bytes of any other text of a rule.
const maxText = 4 << 10

func compileRule(env *cel.Env, r *Rule) (*compiled, []*Problem) {
	var problems []*Problem
	if r.Effect.strictness() < 0 {
		problems = append(problems, &Problem{Field: "effect", Err: unknownEffect(r.Effect)})
	}
	for _, field := range []struct{ name, text string }{{"name", r.Name}, {"server", r.Server}, {"tool", r.Tool}, {"after", r.After}, {"origin", r.Origin}, {"of", r.Of}, {"reason", r.Reason}} {
		if len(field.text) > maxText {
			problems = append(problems, &Problem{Field: field.name, Err: fmt.Errorf("%w: %d bytes, more than %d", ErrLimit, len(field.text), maxText)})
		}
	}
	if err := r.Redact.check(r.Effect); err != nil {
		problems = append(problems, &Problem{Field: "redact", Err: err})
	}
	problems = append(problems, r.checkApproval()...)
	name := r.String()
	c := &compiled{rule: r, name: name, reason: cmp.Or(r.Reason, "the rule "+name), server: parsePattern(r.Server), tool: parsePattern(r.Tool)}
	if r.When != "" {
		when, faults := compileCondition(env, r.When)
		c.when, problems = when, append(problems, faults...)
	}
	return c, problems
}

func unknownEffect(e Effect) error {
	if e == "" {
		return errors.New(`missing; write "allow", "ask" or "deny"`)
	}
	return fmt.Errorf(`unknown effect %s; write "allow", "ask" or "deny"`, quote(string(e)))
}
