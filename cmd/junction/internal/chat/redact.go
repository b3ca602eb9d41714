package chat

import "github.com/junction-mcp/junction/policy"

// AskInsteadOfRedact returns a policy whose redacting rules ask instead of allowing. Only a gateway
// redacts calls; chat would show the hidden values to the model or the server.
func AskInsteadOfRedact(p *policy.Policy) (*policy.Policy, error) {
	for _, rule := range p.Rules() {
		if rule.Redact == nil || rule.Effect != policy.Allow {
			continue
		}
		p, _ = p.Without(rule)
		rule.Effect, rule.Reason = policy.Ask, "a rule hides "+rule.Redact.String()+" of it, which only junction up can do"
		rule.Redact, rule.After = nil, ""
		var err error
		if p, err = p.With(rule); err != nil {
			return nil, err
		}
	}
	return p, nil
}
