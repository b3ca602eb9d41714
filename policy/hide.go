package policy

import "context"

// Hides reports whether a tool is denied for all arguments, and for all other values that are not
// known while tools are listed. Such a tool must not be shown to a model at all. With the default
// Deny, that is every tool that no rule allows or asks about.
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

// certainty is the knowledge about a rule before there is a call.
type certainty int

const (
	never     certainty = iota // the rule does not apply
	sometimes                  // the rule depends on the call
	always                     // the rule matches every call of the tool
)

// atListing returns the certainty that the rule will apply to calls of a tool.
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
	switch holds, err := c.when.holds(context.Background(), f); {
	case err != nil && c.rule.Effect == Allow:
		return never
	case err != nil:
		return sometimes
	case holds:
		return always
	}
	return never
}
