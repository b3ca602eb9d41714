package policy

import (
	"cmp"
	"fmt"
	"strings"
)

// Effect is what becomes of a call.
type Effect string

const (
	// Allow lets the call run.
	Allow Effect = "allow"
	// Ask leaves it to the person. Where nobody can be asked, it means Deny.
	Ask Effect = "ask"
	// Deny refuses the call.
	Deny Effect = "deny"
)

// strictness orders effects; what is no effect is -1.
func (e Effect) strictness() int {
	switch e {
	case Allow:
		return 0
	case Ask:
		return 1
	case Deny:
		return 2
	}
	return -1
}

// Strictest is the strictest of some effects: Deny before Ask before Allow. It is
// empty if none of them is one of the three.
func Strictest(effects ...Effect) Effect {
	var strictest Effect
	for _, e := range effects {
		if e.strictness() > strictest.strictness() {
			strictest = e
		}
	}
	return strictest
}

// Rule is one rule, as people write it. Its zero patterns and condition match every
// call; Effect alone is required.
type Rule struct {
	// Name is what explanations call the rule; it need not be unique.
	Name string `json:"name,omitempty"`
	// Effect is what becomes of calls that the rule matches.
	Effect Effect `json:"effect"`
	// Server and Tool are patterns of whole names, case-sensitive: * stands for any
	// characters, ? for one, and \ takes the meaning from the character behind it.
	// Empty matches everything; of Tool, * matches every call of a tool, but no
	// other request.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// When is a condition in CEL, of which the package comment lists the variables;
	// empty is true.
	When string `json:"when,omitempty"`
	// Reason is shown where the rule decided.
	Reason string `json:"reason,omitempty"`
	// Final, of a rule that denies or asks, says that no rule, however specific, makes
	// calls it matches freer than that.
	Final bool `json:"final,omitempty"`
	// Source is where the rule stands, such as policy.json:12 or session. [Load] sets
	// it, and [Append] does not write it.
	Source string `json:"source,omitempty"`
}

// String is what an explanation calls the rule: its name, or else what it is about,
// and where it stands.
func (r *Rule) String() string {
	var b strings.Builder
	if r.Name != "" {
		fmt.Fprintf(&b, "%q", r.Name)
	} else {
		b.WriteString(string(r.Effect) + " " + r.subject())
	}
	if r.Source != "" {
		b.WriteString(" (" + r.Source + ")")
	}
	return b.String()
}

func (r *Rule) subject() string {
	words := "everything"
	switch {
	case r.Tool != "" && r.Server != "":
		words = fmt.Sprintf("tool %q of server %q", r.Tool, r.Server)
	case r.Tool != "":
		words = fmt.Sprintf("tool %q of any server", r.Tool)
	case r.Server != "":
		words = fmt.Sprintf("server %q", r.Server)
	}
	if r.When != "" {
		words += " when " + r.When
	}
	return words
}

// compiled is a rule that is ready to be asked. It never changes.
type compiled struct {
	rule   *Rule
	server pattern
	tool   pattern
	when   *condition // nil: no condition
	rank   int
}

// specificity ranks a rule: what it says of the tool first, then of the server, then
// of the call.
func (c *compiled) specificity() int {
	scope := 0
	switch {
	case c.tool.kind == exactly:
		scope = 4
	case c.tool.kind == some:
		scope = 3
	case c.server.kind != anything:
		scope = 2
	case c.when != nil:
		scope = 1
	}
	call := 0
	switch {
	case c.when != nil && c.when.uses(variableArgs, variableResource):
		call = 2
	case c.when != nil:
		call = 1
	}
	return scope*100 + int(c.server.kind)*10 + call
}

// byPrecedence orders rules so that the first that applies decides. What follows the
// effect only makes the order, and so the explanation, independent of how the rules
// were given.
func byPrecedence(a, b *compiled) int {
	return cmp.Or(
		cmp.Compare(b.rank, a.rank),
		cmp.Compare(b.rule.Effect.strictness(), a.rule.Effect.strictness()),
		strings.Compare(a.rule.Name, b.rule.Name),
		strings.Compare(a.rule.Server, b.rule.Server),
		strings.Compare(a.rule.Tool, b.rule.Tool),
		strings.Compare(a.rule.When, b.rule.When),
		strings.Compare(a.rule.Source, b.rule.Source),
		strings.Compare(a.rule.Reason, b.rule.Reason),
	)
}
