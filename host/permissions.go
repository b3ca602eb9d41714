package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/policy"
)

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

// Trust is [Host.Trust] in this conversation: what was read of the server before counts as
// that of a trusted one, too.
func (c *Conversation) Trust(server string, forever bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	c.trust(server, forever) // it tells what went wrong
	return nil
}

// Distrust ends the trust in a server until the Host is closed, whoever gave it: what it
// defines is reviewed unless it was approved, and what was read of it counts as untrusted.
// The error says that there is no such server, or that it is the program's own.
func (c *Conversation) Distrust(server string) error {
	s, found := c.host.serverNamed(server)
	switch {
	case !found:
		return noServer(server)
	case isOwn(server):
		return fmt.Errorf("the tools of %q are the program's own", server)
	}
	s.vouched.Store(false)
	c.host.changes.Add(1)
	c.relabel()
	c.withdrawals.Add(1)
	return c.saveFlow()
}

// relabel has what servers that are not trusted said before, and those behind them, count as
// untrusted, also where it was read while they were: in an earlier session, or before another
// conversation ended the trust.
func (c *Conversation) relabel() {
	for _, s := range c.host.servers {
		if !s.trusted() {
			c.flow.Distrust(s.said)
		}
	}
}

// Approvals are the answers of the person to calls that this conversation remembers.
func (c *Conversation) Approvals() []guard.Approval {
	all := c.flow.Approvals()
	for _, a := range c.offered.Approvals() { // of one answer both can remember a part
		if !slices.ContainsFunc(all, func(b guard.Approval) bool {
			return a.Server == b.Server && a.Origin == b.Origin && a.Tool == b.Tool && a.Reason == b.Reason
		}) {
			all = append(all, a)
		}
	}
	return all
}

// Withdraw forgets one of [Conversation.Approvals], so that such a call is asked about again.
// The error says that it is not remembered, or what the record says.
func (c *Conversation) Withdraw(a guard.Approval) error {
	recorded := c.flow.Withdraw(a)
	if offered := c.offered.Withdraw(a); !recorded && !offered {
		return fmt.Errorf("the yes to %s is not remembered any more", guard.Source{Server: a.Server, Tool: a.Tool})
	}
	c.withdrawals.Add(1)
	if !recorded {
		return nil
	}
	return errors.Join(c.add(Entry{Withdrawn: &a}), c.saveFlow())
}
