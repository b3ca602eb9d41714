package host

import (
	"cmp"
	"context"
	"errors"
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
	d.Origin = cmp.Or(d.Origin, s.origin())
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
	s.host.await(ctx, s)
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

// Trust has a server count as trusted until the Host is closed, or for good: see
// [Server].Trusted. The error says that there is no such server, or that it counts as trusted
// until then only, and why.
func (h *Host) Trust(server string, forever bool) error {
	s, found := h.serverNamed(server)
	if !found {
		return noServer(server)
	}
	s.vouched.Store(true)
	h.changes.Add(1)
	if !forever {
		return nil
	}
	err := errors.New("there is no place to keep it")
	if h.options.RememberTrust != nil {
		err = h.options.RememberTrust(policy.NameOf(server, s.origin()))
	}
	if err != nil {
		return fmt.Errorf("server %q is trusted until the end of the program only: %w", server, err)
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

// trust is [Host.Trust] in the middle of a conversation: of what was read before only what
// is somebody else's stays untrusted.
func (c *Conversation) trust(server string, forever bool) {
	if err := c.host.Trust(server, forever); err != nil {
		c.host.notice(Notice{Kind: NoticeServer, Server: server, Text: err.Error()})
	}
	s, found := c.host.serverNamed(server)
	if !found || !s.trusted() {
		return
	}
	c.decider.Trust(func(from guard.Source) bool {
		return slices.ContainsFunc(s.current().tools, func(t *tool) bool {
			return t.source() == from && guard.LabelsOf(s.trust(), hints(t.annotations()))&guard.Untrusted == 0
		})
	}, s.said)
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
	c.decider.Reconsider()
	return c.saveFlow()
}

// relabel has what servers that are not trusted said before, and those behind them, count as
// untrusted, also where it was read while they were: in an earlier session, or before another
// conversation ended the trust.
func (c *Conversation) relabel() {
	for _, s := range c.host.servers {
		if !s.trusted() {
			c.decider.Distrust(s.said)
		}
	}
}

func (h *Host) serverNamed(name string) (s *server, found bool) {
	i := slices.IndexFunc(h.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return h.servers[i], true
}

// origin tells the server from others of its name.
func (s *server) origin() string { return policy.OriginOf(s.Origin) }

// memberOrigin tells the servers behind a gateway from others of their names: they are what
// this gateway calls so.
func (s *server) memberOrigin() string {
	return policy.OriginOf([]string{"(behind a gateway)", s.Name, s.origin()})
}

// source is the server, or something of it, as the flow of data knows it.
func (s *server) source(uri string) guard.Source {
	return guard.Source{Server: s.Name, Origin: s.origin(), URI: uri}
}

// said reports whether a source is the server's, or that of a server behind it.
func (s *server) said(from guard.Source) bool {
	return from.IsOf(s.Name, s.origin()) || s.Prefixed && from.Origin == s.memberOrigin()
}

// hasSaid reports whether a source is that of a server that is here.
func (h *Host) hasSaid(from guard.Source) bool {
	return slices.ContainsFunc(h.servers, func(s *server) bool { return s.said(from) })
}

func (s *server) trusted() bool { return s.vouched.Load() }

func (s *server) trust() guard.Trust { return guard.Trust{Trusted: s.trusted(), Public: s.Public} }
