package policy

import "context"

// Hides reports whether a tool is denied whatever its arguments, and whatever else is
// not known while tools are listed. Such a tool must not be shown to a model at all.
// With the default Deny, that is every tool that no rule allows or asks about.
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

// certainty is what is known of a rule before there is a call.
type certainty int

const (
	never     certainty = iota // it does not apply
	sometimes                  // the call will tell
	always                     // it matches every call of the tool
)

// atListing says whether the rule will apply to calls of a tool.
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
