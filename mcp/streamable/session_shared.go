package streamable

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

const (
	maxSharedID       = 2 << 10 // characters of the id of a shared session
	maxRecentSessions = 128     // shared sessions that a replica keeps although they hold nothing
	maxEndedSessions  = 4 << 10 // shared sessions that a replica knows to have ended

	sharedVersion = 1 // first byte of the content of an id; it changes with the format
)

// errSpared is the reason for the end of a shared session at a replica that keeps nothing for it.
var errSpared = errors.New("the session continues with its next request")

// A sharedKey identifies a shared session at all replicas.
type sharedKey [16]byte

// Everywhere returns a text that identifies the session at all replicas.
func (k sharedKey) Everywhere() string { return hex.EncodeToString(k[:]) }

// A sharing makes the ids of shared sessions and reads them. It is safe for concurrent use.
type sharing struct {
	endpoint string // name; ids are valid at endpoints of this name only
	replica  string // identifies this process
	lasts    time.Duration
	ring     *seal.Ring
	ended    *share.Recent[sharedKey]
}

func newSharing(endpoint string, lasts time.Duration, ring *seal.Ring) *sharing {
	return &sharing{endpoint: endpoint, replica: rand.Text(), lasts: lasts, ring: ring, ended: share.NewRecent[sharedKey](lasts, maxEndedSessions)}
}

// A sharedContent is the content of an id.
type sharedContent struct {
	key          sharedKey
	issued, ends int64  // Unix seconds
	replica      string // made the id
	session      []byte // of [edge.Session.AppendCarried]
}

// seal returns the id of a session of the principal.
func (h *sharing) seal(key sharedKey, session *edge.Session, principal *mcp.Principal, now time.Time) string {
	b := []byte{sharedVersion}
	b = append(b, key[:]...)
	b = binary.AppendUvarint(b, uint64(now.Unix()))
	b = binary.AppendUvarint(b, uint64(now.Add(h.lasts).Unix()))
	b = binary.AppendUvarint(b, uint64(len(h.replica)))
	b = append(b, h.replica...)
	return h.ring.Seal(session.AppendCarried(b), h.context(principal))
}

// context returns the text that an id is bound to: the endpoint and the principal.
func (h *sharing) context(principal *mcp.Principal) []byte {
	b := strconv.AppendQuote([]byte("legacy session "), h.endpoint)
	if principal != nil {
		for _, part := range []string{principal.Issuer, principal.Subject, principal.ClientID} {
			b = strconv.AppendQuote(append(b, ' '), part)
		}
	}
	return b
}

// open returns the content of an id. It returns false for an id that is not valid, belongs to
// another principal or endpoint, or has ended.
func (h *sharing) open(id string, principal *mcp.Principal, now time.Time) (c sharedContent, valid bool) {
	if len(id) > maxSharedID {
		return c, false
	}
	plain, err := h.ring.Open(id, h.context(principal))
	if err != nil {
		return c, false
	}
	c, valid = parseShared(plain)
	return c, valid && now.Unix() < c.ends && !h.ended.Has(c.key, now)
}

// opens reports whether the present keys open the id of a session that was found. Otherwise it ends
// the session.
func (h *sharing) opens(s *session) bool {
	turns := h.ring.Turns()
	if s.turns.Load() == turns {
		return true
	}
	if _, err := h.ring.Open(s.id, h.context(s.principal)); err == nil {
		s.turns.Store(turns)
		return true
	}
	t := &s.endpoint.sessions
	if t.remove(s, 0) {
		s.end(errRetired)
	}
	t.release(s)
	return false
}

// parseShared parses the content of an id.
func parseShared(b []byte) (c sharedContent, valid bool) {
	if len(b) < 1+len(c.key) || b[0] != sharedVersion {
		return c, false
	}
	b = b[1+copy(c.key[:], b[1:]):]
	var numbers [3]uint64
	for i := range numbers {
		number, n := binary.Uvarint(b)
		if n <= 0 || number > 1<<62 {
			return c, false
		}
		numbers[i], b = number, b[n:]
	}
	if numbers[2] > uint64(len(b)) {
		return c, false
	}
	c.issued, c.ends = int64(numbers[0]), int64(numbers[1])
	c.replica, c.session = string(b[:numbers[2]]), b[numbers[2]:]
	return c, true
}

// recall returns the shared session with the id, made again from it, or nil after it has sent a
// response.
func (x *exchange) recall(id string) *session {
	e := x.endpoint
	if e.sharing == nil {
		x.refuseSession()
		return nil
	}
	turns := e.sharing.ring.Turns() // before the keys are used
	c, valid := e.sharing.open(id, x.principal, time.Now())
	if !valid {
		x.refuseSession()
		return nil
	}
	first := mathrand.Uint64() >> 1 // so that no replica has a stream or a request of the same number
	own := e.sharing.replica + "." + strconv.FormatUint(first, 36) + "."
	protocol, err := e.edge.Recall(x.context(), c.session, edge.From{Principal: x.principal, Key: c.key}, own)
	if err != nil {
		x.refuseSession()
		return nil
	}
	s := newSession(e, strings.Clone(id), protocol, x.principal, x.Caller())
	s.key, s.ends, s.opened = c.key, c.ends, first
	s.turns.Store(turns)
	kept := e.sessions.add(s)
	if kept != s {
		protocol.Close()
	}
	switch {
	case kept == nil:
		x.unavailable("", "too many sessions in use: at most %d", e.options.MaxSessions)
	case e.sharing.ended.Has(c.key, time.Now()): // a DELETE came after the check of the id, and did not find it
		if e.sessions.remove(kept, 0) {
			kept.end(errDeleted)
		}
		e.sessions.release(kept)
		x.refuseSession()
		return nil
	}
	return kept
}

// refuseSession responds to a request of an unknown session. A session that is unknown because the
// Endpoint is closed may continue at another replica.
func (x *exchange) refuseSession() {
	if x.endpoint.sessions.isClosed() {
		x.unavailable("", "%v", errEnding)
		return
	}
	x.refuse(http.StatusNotFound, "unknown session: it ended, or never existed; send initialize again, without a session id")
}

// isShared reports whether other replicas may have the session as well.
func (s *session) isShared() bool { return s.ends != 0 }

// isPast reports whether a shared session has reached its end.
func (s *session) isPast(now time.Time) bool { return s.isShared() && now.Unix() >= s.ends }

// holds reports whether the session has more than its id carries.
func (s *session) holds() bool {
	s.mu.Lock()
	holds := len(s.streams) > 0 || s.notifications != nil || s.resumed > 0
	s.mu.Unlock()
	return holds || s.calls.Len() > 0 || s.protocol.Holds()
}

// displace makes room for a shared session among the recent ones. It returns the one that was
// dropped for it, or nil. The caller holds the lock.
func (t *sessionTable) displace(by *session) (dropped *session) {
	if t.recent == nil {
		t.recent = make([]*session, maxRecentSessions)
	}
	old := t.recent[t.next]
	t.recent[t.next] = by
	t.next = (t.next + 1) % len(t.recent)
	if old == nil {
		return nil
	}
	old.spare.Store(true)
	if !t.dropSpare(old) {
		return nil
	}
	return old
}

// dropSpare drops a session if it is spare, not in use, and holds nothing. It reports whether it
// did. The caller holds the lock.
func (t *sessionTable) dropSpare(s *session) bool {
	if t.byID[s.id] != s || !s.spare.Load() || s.users.Load() > 0 || s.holds() {
		return false
	}
	t.drop(s)
	return true
}

// release ends a use of a session that find or add returned.
func (t *sessionTable) release(s *session) {
	if s.users.Add(-1) == 0 && s.spare.Load() {
		t.endSpare(s)
	}
}

// endSpare drops and ends a session as dropSpare does.
func (t *sessionTable) endSpare(s *session) {
	t.mu.Lock()
	dropped := t.dropSpare(s)
	t.mu.Unlock()
	if dropped {
		s.end(errSpared)
	}
}
