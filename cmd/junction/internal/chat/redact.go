package chat

import "github.com/junction-mcp/junction/policy"

// AskInsteadOfRedact returns the policy with rules that redact calls changed to ask. Only a gateway
// redacts: chat would show the model or the server what must stay hidden.
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
