package upstream

import (
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// Limits and times of the requests of the server that wait for a call of the one client.
const (
	maxWaiting      = 16
	maxWaitingBytes = 2 << 20 // of them: a call can take them all over

	heldTime     = 100 * time.Millisecond // how long a call is held while the server uses responses to its earlier requests
	maxHolds     = 20                     // how often it is held while the client is still being asked
	listWaitTime = 2 * time.Second        // how long a list is waited for before what the server asked meanwhile is refused
)

// postpone lets a request of the server wait for the next call of the one client, or gives
// it to one that runs. It is refused where that call does not come, see refuseWaiting.
func (e *legacy) postpone(r *serverRequest) {
	if list := e.openList(); list != "" && e.asksFirst.Load() {
		e.refuseBefore(list, r)
		return
	}
	e.mu.Lock()
	size := sizeOf(r.message)
	for _, other := range e.waiting {
		size += sizeOf(other.message)
	}
	full := len(e.waiting) >= maxWaiting || size > maxWaitingBytes
	if !full && e.asked[r.key()] == r {
		e.waiting = append(e.waiting, r)
		r.waited, r.inCall, r.onWithdrawn = true, false, func() { e.stopWaiting(r) }
	}
	e.mu.Unlock()
	if full {
		e.reject(r, jsonrpc.Errorf(jsonrpc.InternalError, "requests wait for the client already: at most %d, of %d MiB", maxWaiting, maxWaitingBytes>>20))
		return
	}
	// A call that began before the request waited has not taken it over.
	if k, _ := e.unnamed(); k != nil && mayAsk(k.method) {
		e.takeWaiting(k)
	}
}

func (e *legacy) stopWaiting(r *serverRequest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(other *serverRequest) bool { return other == r })
}

// takeWaiting gives the requests of the server that waited for a call to one, and
// reports whether there were any.
func (e *legacy) takeWaiting(k *call) bool {
	e.mu.Lock()
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	for _, r := range waiting {
		e.deliver(k, r)
	}
	return len(waiting) > 0
}

// isList reports whether a request asks for a list, of which most come before all calls.
func isList(method string) bool {
	m := revision.MethodNamed(method)
	return m.Key != "" && m.Core
}

// openList is the method of a list that the server was asked for; "" if there is none.
func (c *conn) openList() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if isList(k.method) {
			return k.method
		}
	}
	return ""
}

// refuseWaiting refuses what waits for another call, while this list has no response: some servers want the roots first, and
// without its list no client makes a call. From then on that is done at once: some ask once more for each tool.
func (p *legacyCall) refuseWaiting() {
	e := p.era
	p.unlisted = time.After(listWaitTime)
	e.mu.Lock()
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	e.asksFirst.Store(true)
	e.log.Info("mcp: what the server asks is refused while it lists: the client can only be asked in a call", "server", e.options.Name, "request", waiting[0].message.Method, "list", p.method)
	for _, r := range waiting {
		e.refuseBefore(p.method, r)
	}
}

func (e *legacy) refuseBefore(list string, r *serverRequest) {
	if r.message.Method == methodRootsList {
		e.rootsRefused.Store(true)
	}
	e.reject(r, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: the client can only be asked in a call, and makes none before %s is answered; send the request again in a call", r.message.Method, list))
}

// offerRoots makes a server ask again that was refused the roots, as this call can ask for them.
func (p *legacyCall) offerRoots() {
	if p.era.rootsRefused.Swap(false) && p.era.send(notificationRootsChanged, nil) {
		p.held = time.After(heldTime)
	}
}

// hold takes over what the server asked outside of calls, and gives it a moment to
// use the responses before it gets the call: without roots, for one, it would
// answer as if there were none. What was being asked on the client's stream comes
// to wait for a call where that client cannot be asked there.
func (p *legacyCall) hold() {
	p.held = nil
	if p.holds < maxHolds && (p.era.takeWaiting(p.call) || p.era.asksOutside()) {
		p.holds++
		p.held = time.After(heldTime)
	}
}
