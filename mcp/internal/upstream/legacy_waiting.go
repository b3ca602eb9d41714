package upstream

import (
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// Limits of the server requests that wait for a call of the only client.
const (
	maxWaiting      = 16
	maxWaitingBytes = 2 << 20 // bytes of these; one call can take all of them over

	heldTime     = 100 * time.Millisecond // how long a call waits while the server uses responses to earlier requests
	maxHolds     = 20                     // how often a call waits while the client is still being asked
	listWaitTime = 2 * time.Second        // wait for a list before the server's own requests are refused
)

// postpone makes a request of the server wait for the next call of the only client, or passes it to
// a running call. If no call comes, the request is refused; see refuseWaiting.
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
	// A call that began before the append has not taken the request over.
	if k, _ := e.unnamed(); k != nil && mayAsk(k.method) {
		e.takeWaiting(k)
	}
}

func (e *legacy) stopWaiting(r *serverRequest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(other *serverRequest) bool { return other == r })
}

// takeWaiting passes the waiting requests of the server to a call. It reports whether there were
// any.
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

// isList reports whether a method returns a list. Clients send most of these requests before all
// calls.
func isList(method string) bool {
	m := revision.MethodNamed(method)
	return m.Key != "" && m.Core
}

// openList returns the method of an open list request, or "".
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

// refuseWaiting refuses the requests that wait for a call while this list request gets no response.
// Some servers want the roots first, but no client makes a call without a list. After that, such
// requests are refused at once, as some servers repeat them for each tool.
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
	e.log.Info("mcp: a request of the server was refused while it lists: the client can only be asked in a call", "server", e.options.Name, "request", waiting[0].message.Method, "list", p.method)
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

// offerRoots makes a server request the roots again after its request was refused, as this call can
// ask the client for them.
func (p *legacyCall) offerRoots() {
	if p.era.rootsRefused.Swap(false) && p.era.send(notificationRootsChanged, nil) {
		p.held = time.After(heldTime)
	}
}

// hold takes over the server's requests outside of calls. It gives the server time to use the
// responses before it gets the call. Without roots, for example, the server would respond as if
// there were none. A request that the client cannot respond to on its stream also comes to wait for
// a call.
func (p *legacyCall) hold() {
	p.held = nil
	if p.holds < maxHolds && (p.era.takeWaiting(p.call) || p.era.asksOutside()) {
		p.holds++
		p.held = time.After(heldTime)
	}
}
