package gateway

import (
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/mcp"
)

// Some servers that support both eras can send requests to their clients in one of them only, which
// shows only when a call fails. A connection for one client is made in that client's era, as the
// client itself would make it. One for all clients is modern until such a call fails. The member is
// then connected to in the other era as soon as none of its requests runs, once in the life of a
// process. That era is remembered with its definitions.

// LegacyFirst reports whether to use the legacy era with a server that supports both. This holds if
// the server can send requests in that era only, or if the one client of a program uses it. See
// [mcp.ClientOptions.LegacyFirst].
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
// its connection, and another connection is to be made.
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

// changeEra ends the connection for one in the other era, if that is due and no requests run but
// those of the caller.
func (m *member) changeEra(callers int64) bool {
	if !m.eraDue.Load() { // the case of nearly all requests
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
