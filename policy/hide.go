package policy

import "context"

// Hides reports whether the policy denies all calls of a tool, whatever their arguments and other
// values that are unknown when tools are listed. Such a tool must not be shown to a model. With the
// default Deny, it reports true for every tool that no rule allows or asks about.
func (p *Policy) Hides(server, tool string, a Annotations) bool {
	facts := &facts{in: &Input{Server: server, Tool: tool, Annotations: a}}
	hidden := p.fallback.rule.Effect == Deny
	for _, c := range p.rules {
		switch when := c.atListing(facts); {
		case c.rule.Effect == Deny && when == always:
			return true
		case c.rule.Effect != Deny && when != never:
			hidden = false
		}
	}
	return hidden
}

// certainty is how certain it is, before a call, that a rule applies.
type certainty int

const (
	never     certainty = iota // the rule does not apply
	sometimes                  // the rule depends on the call
	always                     // the rule matches every call of the tool
)

// atListing returns the certainty that the rule applies to calls of a tool.
func (c *compiled) atListing(f *facts) certainty {
	if !c.server.matches(f.in.Server) || !c.tool.matches(f.in.Tool) {
		return never
	}
	if c.rule.Origin != "" {
		return sometimes
	}
	if c.when == nil {
		return always
	}
	if c.when.uses(variableTitle, variableArgs, variableResource, variablePrincipal, variableLabels, variableSources, variableTrusted, variableClient, variableProfile, variableNow) {
		return sometimes
	}
	switch holds, err := c.when.isTrue(context.Background(), f); {
	case err != nil && c.rule.Effect == Allow:
		return never
	case err != nil:
		return sometimes
	case holds:
		return always
	}
	return never
}
