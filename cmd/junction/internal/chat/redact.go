package chat

import "github.com/junction-mcp/junction/policy"

// AsksWhereHidden is a policy that asks about calls of which rules hide something. Only a gateway hides it: a chat that
// ran such a call would give the model, or the server, what it should not get.
func AsksWhereHidden(p *policy.Policy) (*policy.Policy, error) {
	for _, rule := range p.Rules() {
		if rule.Redact == nil || rule.Effect != policy.Allow {
			continue
		}
		p, _ = p.Without(rule)
		rule.Effect, rule.Reason = policy.Ask, "a rule hides "+rule.Redact.String()+" of it, which junction up does and junction chat does not"
		rule.Redact, rule.After = nil, ""
		var err error
		if p, err = p.With(rule); err != nil {
			return nil, err
		}
	}
	return p, nil
}
