package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A State says what a member is doing.
type State int

// The states.
const (
	Connecting State = iota // for the first time, or again
	Connected
	Failed  // and will be tried again
	Waiting // to start: as many others as may are starting
	Idle    // not connected: it is when it is used
	// Unresponsive is connected, but requests in a row got no response: further ones fail at once until a ping does.
	Unresponsive
)

// String names the state.
func (s State) String() string {
	return [...]string{"connecting", "connected", "failed", "waiting to start", "idle", "not responding"}[s]
}

// A Status describes one member, for people to read.
type Status struct {
	Name  string
	State State
	// Note says what a start is doing; often empty.
	Note string
	// Err says why it failed, also while it is tried again, why the last connection ended, which
	// lists of a connected one cannot be read or are used in part only, or why it is not asked; nil if nothing is wrong.
	Err error
	// Ends is how many of its connections were lost, Ended why the last one was; it may have been started again since.
	Ends  int
	Ended error
	// Program says that it is a program that is started.
	Program bool
	// Known says that its definitions are known: they were remembered, or read.
	Known bool
	// Read is when the server was last asked for them; zero where that is not known.
	Read time.Time
	// Tried says that its definitions are known, or that it failed to connect at least once; it stays true.
	Tried     bool
	Revision  string              // spoken with it; empty in process
	Server    *mcp.Implementation // what it says of itself; nil if nothing
	Tools     int
	Prompts   int
	Resources int
	Templates int
	// Running is how many requests of clients run, or wait for the member.
	Running int
	// Leaving is how many run that the server got before it was replaced, on what was connected then; see [Gateway.Replace].
	Leaving int
	// Instances is how many connections there are to one that users or clients do not share.
	Instances int
	// MaxInstances is how many there may be; 0 where users and clients share one connection. Users says for whom they are:
	// a user, or a client where the user is not known.
	MaxInstances int
	Users        []string
	// Omitted is how many of its tools clients do not see, as their names are another's.
	Omitted int
	// Renamed says in one line each which of its tools, prompts and resources are
	// not offered under the name that they should have, and why.
	Renamed []string
}

// A ListError says why a list of a connected server is not all that it has.
type ListError struct {
	Method string // that lists
	Err    error
}

// Error implements error.
func (e *ListError) Error() string { return e.Method + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ListError) Unwrap() error { return e.Err }

// Status describes every member, in the order in which they were added.
func (g *Gateway) Status() []Status {
	offer := g.current()
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := make([]Status, len(g.members))
	for i, m := range g.members {
		all[i] = m.status()
		all[i].Renamed, all[i].Omitted = offer.renamed[m], offer.omitted[m]
	}
	return all
}

// StatusOf describes one member; false if there is none of this name.
func (g *Gateway) StatusOf(server string) (Status, bool) {
	m := g.member(server)
	if m == nil {
		return Status{}, false
	}
	s, offer := m.status(), g.current()
	s.Renamed, s.Omitted = offer.renamed[m], offer.omitted[m]
	return s, true
}

func (m *member) status() Status {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := Status{
		Name: m.name, State: m.state, Ends: m.ends, Ended: m.endedBy, Note: m.doing, Err: m.err, Program: m.upstream.Program, Known: m.known != nil,
		Tools: len(m.listings[toolKind.Name].entries), Prompts: len(m.listings[promptKind.Name].entries),
		Resources: len(m.listings[resourceKind.Name].entries), Templates: len(m.listings[templateKind.Name].entries),
	}
	select {
	case <-m.settled:
		s.Tried = true
	default:
	}
	if m.known != nil {
		s.Read = m.known.Read
	}
	if m.restarted { // what is connected still ends
		s.State = Connecting
	}
	if s.State == Connected {
		for _, k := range allKinds {
			for _, err := range []error{m.unread[k.Name], m.listsCut[k.Name]} {
				if err != nil {
					s.Err = errors.Join(s.Err, &ListError{k.Name, err})
				}
			}
		}
	}
	if m.asked != nil {
		err, open := m.asked.standing()
		if err != nil {
			s.Err = errors.Join(s.Err, err)
		}
		if open && s.State == Connected {
			s.State = Unresponsive
		}
	}
	if err := m.instances.trouble(); err != nil {
		s.Err = errors.Join(s.Err, err)
	}
	s.Running = int(m.calls.n.Load())
	if before := m.before.Load(); before != nil {
		s.Leaving = before.running()
	}
	if m.isolated() {
		s.MaxInstances, s.Users = cmp.Or(m.around.Load().MaxInstances, defaultInstances), m.instances.whose()
	}
	if s.Instances = m.instances.count(); s.Instances > 0 && s.State == Idle {
		s.State = Connected
	}
	switch {
	case m.client != nil:
		s.Revision, s.Server = m.client.Revision(), m.client.Server()
	case m.known != nil:
		s.Revision, s.Server = m.known.Revision, m.implementation()
	}
	return s
}

// whose says for whom there are instances, as far as that has a name.
func (is *instances) whose() (names []string) {
	is.mu.Lock()
	defer is.mu.Unlock()
	for key := range is.all {
		if id, ok := key.(identity); ok && cmp.Or(id.subject, id.client) != "" {
			names = append(names, cmp.Or(id.subject, id.client))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// implementation is what the server said of itself; the member's lock is held.
func (m *member) implementation() *mcp.Implementation {
	if m.known.Server == nil {
		return nil
	}
	self := new(mcp.Implementation)
	if json.Unmarshal(m.known.Server, self) != nil {
		return nil
	}
	return self
}

// set changes the state of the member.
func (m *member) set(s State, err error) {
	m.mu.Lock()
	m.state, m.doing = s, ""
	switch s {
	case Connected:
		m.err = nil
		m.wanted.Store(false)
	case Failed, Idle:
		m.err, m.handler, m.client, m.asked = err, nil, nil, nil
	}
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	m.gateway.report()
}

// note keeps what a start is doing.
func (m *member) note(text string) {
	m.mu.Lock()
	same := m.doing == text || m.state != Connecting
	if !same {
		m.doing = text
	}
	m.mu.Unlock()
	if !same {
		m.gateway.report()
	}
}
