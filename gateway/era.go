package gateway

import (
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/mcp"
)

// Some servers support both eras of the protocol but can send requests to their clients only in one
// of them. This shows only when a call fails. The gateway makes a connection for one client in the
// era of that client. It makes a connection for all clients in the modern era until such a call
// fails. It then connects to the member in the other era once none of the member's requests runs,
// at most once in a process. The era is remembered with the member's definitions.

// LegacyFirst reports whether to use the legacy era with a server that supports both. It returns
// true if the server can send requests in that era only. For a program it also returns true if the
// only client uses that era. See [mcp.ClientOptions.LegacyFirst].
func (s *Start) LegacyFirst() bool {
	s.member.mu.RLock()
	era := s.member.era
	s.member.mu.RUnlock()
	if era == "" && s.member.upstream.Program {
		era = s.era
	}
	return era == definitions.Legacy
}

// otherEra reports whether a request failed because the member cannot send requests in the era of
// its connection. It then arranges for a connection in the other era.
func (m *member) otherEra(c *mcp.Client, req *mcp.Request, result mcp.Result, err error) bool {
	if c == nil || m.upstream.Handler != nil || c.HasOneRevision() {
		return false
	}
	era := eras.Other(c.Revision(), m.upstream.Program, req, result, err)
	if era == "" {
		return false
	}
	m.mu.Lock()
	known := m.known
	change := !m.eraChanged && m.era != era
	if change {
		m.era, m.eraChanged = era, true
		m.eraDue.Store(true)
		if known != nil {
			with := *known
			with.Era = era
			m.known, known = &with, &with
		}
	}
	m.mu.Unlock()
	if change {
		m.gateway.log.Info("gateway: the server cannot ask its client in this era of the protocol, and is connected to in the other one", "server", m.name, "revision", c.Revision(), "era", era)
		if known != nil {
			m.remember(known)
		}
	}
	return change
}

// changeEra ends the connection if one in the other era is due and no other requests run. The
// number callers counts the caller's own running requests.
func (m *member) changeEra(callers int64) bool {
	if !m.eraDue.Load() { // true for nearly all requests
		return false
	}
	m.mu.Lock()
	if m.restarted || !m.eraDue.Swap(false) {
		m.mu.Unlock()
		return false
	}
	m.changing = true // requests that begin now wait
	m.mu.Unlock()
	idle := m.calls.n.Load() <= callers
	m.mu.Lock()
	m.changing = false
	end := m.end
	if idle {
		m.restarted, m.cut = true, m.client
	} else {
		m.eraDue.Store(true)
	}
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	if idle && end != nil {
		end(errRestarted)
		m.want()
	}
	return idle
}
