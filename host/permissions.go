package host

import (
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/policy"
)

// sessionSource is the source of rules that hold until the Host is closed.
const sessionSource = "session"

// questionSource is the source of rules that hold until a question is answered.
const questionSource = "question"

// Rule makes a rule hold until the Host is closed, or for good. The error says that
// it does not hold, or that it holds until then only, and why.
func (h *Host) Rule(rule policy.Rule, forever bool) error {
	if !forever {
		rule.Source = sessionSource
	}
	if rule.Effect != policy.Allow {
		rule.Origin, rule.After = "", "" // a ban is one of whatever goes by that name
	}
	if err := h.hold(rule); err != nil {
		return fmt.Errorf("the rule does not hold: %w", err)
	}
	if !forever {
		return nil
	}
	err := errors.New("there is no place to keep it")
	if h.options.Remember != nil {
		err = h.options.Remember(rule)
	}
	if err != nil {
		return fmt.Errorf("the rule holds until the end of the program only: %w", err)
	}
	return nil
}

// hold adds a rule to those of this Host.
func (h *Host) hold(rule policy.Rule) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	rules, err := h.rules.With(rule)
	if err != nil {
		return err
	}
	h.rules = rules
	h.changes.Add(1) // a tool that is denied goes from the model's hands
	return nil
}

func (h *Host) currentRules() *policy.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rules
}

// Rules are the rules that hold now, those of the session included, the strictest first,
// and at last the default.
func (h *Host) Rules() []policy.Rule { return h.currentRules().Rules() }

// RemoveRule has a rule not hold any more, which must be one of [Host.Rules]; what
// [Options].Remember made of it stays. The error says that there is no such rule.
func (h *Host) RemoveRule(rule policy.Rule) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	fewer, had := h.rules.Without(rule)
	if !had {
		return fmt.Errorf("there is no rule %s any more", &rule)
	}
	h.rules = fewer
	h.changes.Add(1)
	return nil
}

// Disapprove forgets what was approved of a server, so that all that it defines is reviewed
// before the model sees it again. The error says that this holds until the Host is closed
// only, and why.
func (h *Host) Disapprove(server string) error {
	h.pins.Forget(server)
	h.refuse(server, "")
	h.changes.Add(1)
	if h.options.Pins == nil {
		return nil
	}
	if err := h.pins.Save(); err != nil {
		return fmt.Errorf("what server %q defines is approved again when the program starts: %w", server, err)
	}
	return nil
}

// Approvals are the answers of the person to calls that this conversation remembers.
func (c *Conversation) Approvals() []guard.Approval { return c.decider.Approvals() }

// Withdraw forgets one of [Conversation.Approvals], so that such a call is asked about again.
// The error says that it is not remembered, or what the record says.
func (c *Conversation) Withdraw(a guard.Approval) error {
	remembered, recorded := c.decider.Withdraw(a)
	switch {
	case !remembered:
		return fmt.Errorf("the yes to %s is not remembered any more", guard.Source{Server: a.Server, Tool: a.Tool})
	case !recorded:
		return nil
	}
	return errors.Join(c.add(Entry{Withdrawn: &a}), c.saveFlow())
}
