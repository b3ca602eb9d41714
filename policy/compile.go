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

// ErrLimit reports that a rule, a file or a set of rules is larger than this package accepts.
var ErrLimit = errors.New("too large")

// maxRules is the maximum number of rules of a policy.
const maxRules = 10_000

// Options are the parts of a policy other than its rules. The zero value is ready to use.
type Options struct {
	// Default is the effect for calls that no rule matches; empty means Ask. If it is Ask, the
	// policy has the built-in rule read-only.
	Default Effect
	// DefaultSource is the place of Default, as in [File.DefaultSource]; empty if it is not set.
	DefaultSource string
}

// Policy decides which calls may run. It never changes, and is safe for concurrent use.
type Policy struct {
	env      *cel.Env
	fallback *compiled   // decides if no rule does
	rules    []*compiled // them ordered, the strictest first
	matching *matching
}

const (
	// maxMatching is the maximum number of tools whose matching rules a policy remembers.
	maxMatching = 1_000
	// maxMatchingName is the maximum length in bytes of such a tool's and its server's names, as
	// clients may call tools that do not exist.
	maxMatchingName = 512
)

// matching caches the rules whose patterns match a server and a tool.
type matching struct {
	mu sync.RWMutex
	by map[[2]string][]*compiled
}

// of returns the rules that match, in their order.
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
	m.by[[2]string{strings.Clone(server), strings.Clone(tool)}] = found // as they may be parts of a message
	return found
}

// Compile returns a policy of rules, whose order has no meaning. The error joins a [*Problem] for
// every fault of every rule. The policy is nil then, as a policy without the faulty rule would be a
// different one.
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
		// A user who approved a server's definitions has seen which tools only read. A server that
		// lies about them could do the same harm without a call. Rules do not know whether the
		// arguments could leak data, or whether the result could steer the model: a host also asks
		// about the flow of data.
		p, err = p.With(Rule{
			Name: "read-only", Effect: Allow, Tool: "*", Source: builtinSource, When: "annotations.readOnly",
			Reason: "the tool is declared as read-only",
		})
	}
	return p, err
}

// builtinSource is the Source of built-in rules.
const builtinSource = "built-in"

// With returns a policy with more rules, and does not change p. It compiles only the new rules, so
// it is the way to add one for a session. Its error is that of [Compile].
func (p *Policy) With(rules ...Rule) (*Policy, error) {
	if n := len(p.rules) + len(rules); n > maxRules+1 { // one more for the built-in rule
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

// Rules returns the policy's rules, the strictest first, and its default.
func (p *Policy) Rules() []Rule {
	var rules []Rule
	for _, c := range p.rules {
		rules = append(rules, *c.rule)
	}
	return append(rules, *p.fallback.rule)
}

const noRule = "no rule allows it yet"

// defaultReason describes the effects of a call without a rule, as far as they are known, for a
// user who decides about it. For a server that is not trusted it marks claims as such, and assumes
// the worst.
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

// maxText is the maximum length of the other texts of a rule, in bytes.
const maxText = 4 << 10

func compileRule(env *cel.Env, r *Rule) (*compiled, []*Problem) {
	var problems []*Problem
	if r.Effect.strictness() < 0 {
		problems = append(problems, &Problem{Field: "effect", Err: unknownEffect(r.Effect)})
	}
	for _, field := range []struct{ name, text string }{{"name", r.Name}, {"server", r.Server}, {"tool", r.Tool}, {"after", r.After}, {"origin", r.Origin}, {"reason", r.Reason}} {
		if len(field.text) > maxText {
			problems = append(problems, &Problem{Field: field.name, Err: fmt.Errorf("%w: %d bytes, more than %d", ErrLimit, len(field.text), maxText)})
		}
	}
	if err := r.Redact.check(r.Effect); err != nil {
		problems = append(problems, &Problem{Field: "redact", Err: err})
	}
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
