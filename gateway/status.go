package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A State is the state of a member.
type State int

// The states of a member.
const (
	Connecting State = iota // for the first time, or again
	Connected
	Failed  // the gateway will try again
	Waiting // to start, as the maximum number of programs is starting
	Idle    // until it is used
	// Unresponsive means that the member is connected, but several requests in a row got no
	// response. Further requests fail at once until a ping gets a response.
	Unresponsive
)

// String returns the name of the state.
func (s State) String() string {
	return [...]string{"connecting", "connected", "failed", "waiting to start", "idle", "not responding"}[s]
}

// A Status describes one member for users.
type Status struct {
	Name  string
	State State
	// Note describes the progress of a start; often empty.
	Note string
	// Err is the reason of the last failure, even while the gateway tries again, or the reason why
	// the last connection ended. It also reports lists that cannot be read or are cut, and why
	// requests fail at once. It is nil if there is no fault.
	Err error
	// Ends counts lost connections. Ended is the reason of the last loss; the member may be
	// connected again.
	Ends  int
	Ended error
	// Program is set if the gateway starts the server as a program.
	Program bool
	// Known is set if its definitions were remembered or read.
	Known bool
	// Read is when the gateway last requested the definitions; zero if that is not known.
	Read time.Time
	// Tried is set once the definitions are known or the first attempt to connect failed.
	Tried     bool
	Revision  string              // revision of the connection; empty for a Handler in this process
	Server    *mcp.Implementation // the server's own description; may be nil
	Tools     int
	Prompts   int
	Resources int
	Templates int
	// Running counts requests of clients that run at the member or wait for it.
	Running int
	// Leaving counts running requests of the servers that this one replaced; see [Gateway.Replace].
	Leaving int
	// Instances is the number of connections if users or clients do not share one.
	Instances int
	// MaxInstances is the maximum of Instances; 0 if users and clients share one connection. Users
	// lists the users of the connections, or the clients if the user is not known.
	MaxInstances int
	Users        []string
	// Omitted counts tools that clients do not see because their names are taken.
	Omitted int
	// Renamed contains a line for each tool, prompt and resource whose name differs from the wanted
	// one, with the reason.
	Renamed []string
}

// A ListError is the reason why a list of a connected server is incomplete.
type ListError struct {
	Method string // the method that lists
	Err    error
}

// Error implements error.
func (e *ListError) Error() string { return e.Method + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ListError) Unwrap() error { return e.Err }

// Status returns the status of every member, in their order.
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

// StatusOf returns the status of one member. It returns false if the gateway has no member with
// that name.
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
	if m.restarted { // the present connection is about to end
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
	if m.isolated() && m.upstream.Isolation != One { // all users and clients share the instance of One
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

// whose returns the names of the users or clients of the instances, as far as they have names.
func (is *instances) whose() (names []string) {
	is.mu.Lock()
	defer is.mu.Unlock()
	for key, i := range is.all {
		id, ok := key.(identity)
		if _, owned := key.(ownerKey); owned {
			id, ok = i.of, true
		}
		if ok && cmp.Or(id.subject, id.client) != "" {
			names = append(names, cmp.Or(id.subject, id.client))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// implementation returns the server's own description. The caller holds the member's lock.
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

// note sets the text that describes the progress of a start.
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
