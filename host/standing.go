package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/policy"
)

// identity is what a server is, apart from what it offers: how it is started or
// reached, and what it calls itself.
func (s *server) identity(o offer) []guard.Definition {
	var all []guard.Definition
	if len(s.Origin) > 0 {
		all = append(all, guard.Definition{Kind: guard.Command, Server: s.Name, Text: strings.Join(s.Origin, " ")})
	}
	version := guard.Definition{Kind: guard.Version, Server: s.Name, Text: "(the server does not name itself)"}
	if o.info != nil {
		version.Title, version.Text = o.info.Title, strings.TrimSpace(o.info.Name+" "+o.info.Version)
	}
	return append(all, version)
}

// accepted reports whether a server may be used at all. One that is started by
// another command or has another version is another server, whatever of its tools
// stayed the same.
func (h *Host) accepted(s *server) bool {
	return s.trusted() || !slices.ContainsFunc(s.identity(s.current()), func(d guard.Definition) bool { return !s.pinned(d) })
}

// pinned reports whether a definition of the server is one that the person approved,
// or need not be.
func (s *server) pinned(d guard.Definition) bool {
	return s.trusted() || s.host.pins.Check(d).State == guard.Same
}

// notAccepted says that a server cannot be used yet.
func (s *server) notAccepted() string {
	return fmt.Sprintf("server %q is not approved, or is not the one that was; a person has to approve it first", s.Name)
}

// withdrawn says why a call must not be made though it was allowed: the tool that
// the person agreed to is not the one that the server has now. Empty if it is.
func (t *tool) withdrawn(ctx context.Context) string {
	s := t.server
	if s.trusted() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	s.await(ctx)
	for _, now := range s.current().tools {
		if now.Name != t.Name {
			continue
		}
		if now != t && now.definition.Hash() != t.definition.Hash() || !s.host.approved(s, now.definition) {
			return fmt.Sprintf("%s was not called: server %q changed its definition, and a person has to approve it first.", t.sent.Name, s.Name)
		}
		return ""
	}
	if _, err := s.state(); err != nil {
		return fmt.Sprintf("%s was not called: server %q does not answer: %s", t.sent.Name, s.Name, s.why(err))
	}
	return fmt.Sprintf("%s was not called: server %q does not have it any more.", t.sent.Name, s.Name)
}

// A permission is the decision that let a call run.
type permission struct {
	in          policy.Input
	effect      policy.Effect // of the rules, whatever the person said to the call
	withdrawals uint64        // in the conversation, before it was decided
}

// takenBack says why a call must not be made though it was allowed: before it began, the
// person forbade it or took something back that had allowed it. Empty if they did not.
func (r *run) takenBack(ctx context.Context, s *server, p permission) string {
	now := r.h.currentRules().Decide(context.WithoutCancel(ctx), p.in)
	switch {
	case now.Effect == policy.Deny:
		return denied(now)
	case policy.Strictest(now.Effect, p.effect) != p.effect, p.in.Trusted && !s.trusted(), r.c.withdrawals.Load() != p.withdrawals:
		return "Not allowed any more: the person took something back that allowed this call, before it was made. It was not made. Make it again if it is still needed; then it is decided anew."
	}
	return ""
}
