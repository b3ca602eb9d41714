package streamable

import (
	"container/list"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// The reasons for the end of a session.
var (
	errDeleted = errors.New("the client ended the session")
	errExpired = errors.New("the session expired: it was idle for too long")
	errRetired = errors.New("the key that sealed the session was retired")
	errMade    = errors.New("the session was ended to make room for one of another caller")
)

// A session is one legacy client. While it is idle, it needs a few hundred bytes, and no goroutine
// or timer.
type session struct {
	id        string
	protocol  *edge.Session
	principal *mcp.Principal
	caller    string        // the caller whose share of the limits it uses
	place     *list.Element // in the list of the caller; guarded by the table's lock
	calls     edge.Calls[jsonrpc.ID]
	endpoint  *Endpoint
	used      atomic.Int64 // time of the last input, in Unix nanoseconds

	key   sharedKey     // of a shared session
	ends  int64         // Unix seconds of its end; 0 for other sessions
	turns atomic.Uint64 // of the keys, when they last opened the id
	users atomic.Int32  // HTTP requests that use the session
	spare atomic.Bool   // it is to be dropped once it has no users and holds nothing

	mu            sync.Mutex
	ended         bool
	opened        uint64    // number of streams opened so far
	streams       []*stream // streams that can be resumed, the oldest first
	notifications *notificationStream
	resumed       int // number of connections of resumed streams
}

func newSession(e *Endpoint, id string, protocol *edge.Session, principal *mcp.Principal, caller string) *session {
	s := &session{id: id, endpoint: e, protocol: protocol, principal: principal, caller: caller}
	s.touch()
	return s
}

// Caller returns the session's caller; see [share.Asked].
func (s *session) Caller() string { return s.caller }

func (s *session) touch() { s.used.Store(time.Now().UnixNano()) }

// idle returns how long the session has been idle. It returns 0 if a request runs or a stream is
// open.
func (s *session) idle(now time.Time) time.Duration {
	if s.calls.Len() > 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notifications != nil || s.resumed > 0 {
		return 0
	}
	return time.Duration(now.UnixNano() - s.used.Load())
}

// handle handles a notification or a response of the client.
func (s *session) handle(m *jsonrpc.Message) error {
	if m.Kind == jsonrpc.Response {
		if !s.protocol.Response(m) {
			return fmt.Errorf("the request %s came from another replica of this server, which alone can receive the response", m.ID)
		}
		return nil
	}
	s.protocol.Show(m)
	if m.Method == notifyCancelled {
		s.calls.Cancel(edge.CancelledID(m), edge.ErrCancelled)
	}
	return nil
}

func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// end cancels running requests and ends the streams. The table must no longer contain the session.
func (s *session) end(cause error) {
	s.calls.Close(cause)
	s.calls.CancelAll(cause)
	s.mu.Lock()
	s.ended = true
	open, streams := s.notifications, s.streams
	s.streams = nil
	s.mu.Unlock()
	if log := s.endpoint.options.EventLog; log != nil && errors.Is(cause, errDeleted) {
		log.remove(streams)
	}
	if open != nil {
		open.cancel()
	}
	if cause != errSpared { // one that holds nothing has no events that can be resumed
		s.endpoint.options.EventStore.Forget(s.id)
	}
	s.protocol.Close()
}

// isClosed reports whether the table takes no further sessions.
func (t *sessionTable) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// findSession returns the session of the request. If there is none, it sends a response and returns
// nil.
func (x *exchange) findSession() *session {
	ids := x.r.Header[headerSession]
	if len(ids) != 1 || ids[0] == "" {
		x.refuse(http.StatusBadRequest, "the request has no session: send initialize first, then the Mcp-Session-Id of its response with each later request")
		return nil
	}
	s := x.endpoint.sessions.find(ids[0], x.principal)
	if s == nil || s.isShared() && !x.endpoint.sharing.opens(s) {
		return x.recall(ids[0])
	}
	return s
}

// A sessionTable contains the sessions by id, and ends expired sessions. It has one timer, which
// runs while there are sessions.
type sessionTable struct {
	mu      sync.RWMutex
	byID    map[string]*session
	of      map[string]*ofCaller
	places  *share.Budget
	timeout time.Duration
	expire  func()      // drops old events; nil if the store does not need it
	timer   *time.Timer // nil without sessions
	closed  bool

	recent []*session // shared sessions, the newest before next; nil before the first one
	next   int
}

// An ofCaller is the list of sessions of a caller, the oldest first.
type ofCaller struct {
	caller string
	list.List
}

// maxSessionsLooked is the maximum number of sessions of a caller to search for an idle one.
const maxSessionsLooked = 256

// add adds a session. At the limit, the caller with the most sessions loses its oldest one,
// preferably an idle one, to a caller with fewer. add reports false if there is no room or the
// table is closed.
func (t *sessionTable) add(s *session) *session {
	t.mu.Lock()
	if before := t.byID[s.id]; before != nil {
		before.users.Add(1)
		t.mu.Unlock()
		return before
	}
	var lost, spared *session
	ok, from := false, ""
	if !t.closed {
		ok, from = t.places.Borrow(s.caller)
	}
	if from != "" {
		if lost = t.spare(from); lost != nil {
			t.drop(lost)
			ok, _ = t.places.Borrow(s.caller)
		}
	}
	if ok {
		t.byID[s.id] = s
		of := t.of[s.caller]
		if of == nil {
			of = &ofCaller{caller: s.caller}
			t.of[s.caller] = of
		}
		s.caller, s.place = of.caller, of.PushBack(s) // all sessions of a caller share one string
		s.users.Add(1)
		if s.isShared() {
			spared = t.displace(s)
		}
		if t.timer == nil {
			t.timer = time.AfterFunc(t.period(), t.sweep)
		}
	}
	t.mu.Unlock()
	if lost != nil {
		lost.end(errMade)
	}
	if spared != nil {
		spared.end(errSpared)
	}
	if !ok {
		return nil
	}
	return s
}

// spare returns a session that the caller with the most sessions can lose: the oldest idle one or,
// if none is idle, the oldest one. So a caller cannot keep all sessions by using some. Sessions in
// use move to the end of the list, to be checked later. The table's lock must be held.
func (t *sessionTable) spare(caller string) *session {
	of := t.of[caller]
	if of == nil {
		return nil
	}
	now := time.Now()
	var first *session
	for looked := 0; looked < min(maxSessionsLooked, of.Len()); looked++ {
		s := of.Front().Value.(*session)
		if s.idle(now) > 0 {
			return s
		}
		if first == nil {
			first = s
		}
		of.MoveToBack(s.place)
	}
	return first
}

// drop removes a session. The table's lock must be held.
func (t *sessionTable) drop(s *session) {
	delete(t.byID, s.id)
	of := t.of[s.caller]
	if of.Remove(s.place); of.Len() == 0 {
		delete(t.of, s.caller)
	}
	t.places.Give(s.caller)
}

// find returns the principal's session with this id, and marks it as used. It returns nil if there
// is none or if it has expired.
func (t *sessionTable) find(id string, principal *mcp.Principal) *session {
	s, used := t.use(id, principal)
	if used {
		return s
	}
	if s != nil {
		t.endExpired(s)
	}
	return nil
}

// use returns the principal's session with this id. If the session has not expired, use marks it as
// used and reports true.
func (t *sessionTable) use(id string, principal *mcp.Principal) (s *session, used bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if s = t.byID[id]; s == nil || !s.principal.IsOf(principal) {
		return nil, false
	}
	now := time.Now()
	if s.idle(now) >= t.timeout || s.isPast(now) {
		return s, false
	}
	s.touch()
	s.users.Add(1)
	return s, true
}

// endExpired ends a session, unless it was used in the meantime.
func (t *sessionTable) endExpired(s *session) {
	if t.remove(s, t.timeout) {
		s.end(errExpired)
	}
}

// remove removes a session if it has been idle for this long. It reports false if the session was
// used or has been removed already.
func (t *sessionTable) remove(s *session, idle time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[s.id] != s || idle > 0 && s.idle(time.Now()) < idle {
		return false
	}
	t.drop(s)
	return true
}

// close empties the table, prevents additions, and returns the sessions.
func (t *sessionTable) close() []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	all := slices.Collect(maps.Values(t.byID))
	clear(t.byID)
	clear(t.of)
	if t.timer != nil {
		t.timer.Stop()
	}
	return all
}

// period returns the interval of sweeps.
func (t *sessionTable) period() time.Duration { return t.timeout/4 + time.Millisecond }

// sweep ends the expired sessions.
func (t *sessionTable) sweep() {
	now := time.Now()
	var expired, spare []*session
	t.mu.RLock()
	for _, s := range t.byID {
		if s.idle(now) >= t.timeout {
			expired = append(expired, s)
		}
		if s.prune(now); s.spare.Load() {
			spare = append(spare, s)
		}
	}
	t.mu.RUnlock()
	for _, s := range spare {
		t.endSpare(s)
	}
	for _, s := range expired {
		t.endExpired(s)
	}
	if t.expire != nil {
		t.expire()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
	case len(t.byID) == 0:
		t.timer = nil
	default:
		t.timer.Reset(t.period())
	}
}
