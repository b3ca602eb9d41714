package streamable

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

const (
	deleteTime   = 2 * time.Second // timeout for ending the session when the link is closed
	maxSessionID = 8 << 10         // maximum bytes; most servers and proxies have this limit for a header
)

// methodDiscover finds the server's revisions, so the request is also sent without a session.
const methodDiscover = "server/discover"

// A clientSession is one session, from the response to initialize until the server no longer knows
// the session. Sessions are compared by pointer, as a server may assign the same id twice.
type clientSession struct {
	id     string
	header []string        // values of its HTTP header
	ctx    context.Context // ends with the session
	lose   context.CancelCauseFunc
	cut    atomic.Bool // set if the stream of notifications broke, and no request has succeeded since
}

// isLost reports whether the server no longer knows the session. A nil session is never lost.
func (s *clientSession) isLost() bool { return s != nil && s.ctx.Err() != nil }

// heard records whether the server responded in the session.
func (s *clientSession) heard(yes bool) {
	if s != nil {
		s.cut.Store(!yes)
	}
}

// sessionFor returns the session for a message, or nil for a handshake or if there is no session.
// It fails if the session is lost or the message belongs to another session.
func (c *clientLink) sessionFor(out link.Out, version string) (*clientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
	if out.Method == methodInitialize {
		return nil, nil
	}
	if c.lost && out.Method != methodDiscover || !out.Session.IsZero() && out.Session != c.begun {
		return nil, link.ErrSessionLost
	}
	return c.session, nil
}

// current returns the session, or an error if it is lost.
func (c *clientLink) current() (*clientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return nil, link.ErrSessionLost
	}
	return c.session, nil
}

// sessionHeader returns the headers of a request that contains no message.
func (c *clientLink) sessionHeader(session *clientSession) http.Header {
	header := make(http.Header, 4)
	if session != nil {
		header[headerSession] = session.header
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != "" {
		header.Set(headerVersion, c.version)
	}
	return header
}

// accepted records that the server accepted a message. It returns the session of the response;
// after a handshake, that is a new one.
func (c *clientLink) accepted(resp *http.Response, out link.Out, session *clientSession) *clientSession {
	session.heard(true)
	if out.Method != methodInitialize && out.Method != methodDiscover {
		if ids := resp.Header[headerSession]; len(ids) > 0 && session != nil && ids[0] != session.id {
			tolerance.SessionID.Met(c.ctx, c.log, c.endpoint.Name, "another one in the response to "+out.Method)
		}
		return session
	}
	var begun *clientSession
	if out.Method == methodInitialize {
		begun = c.newSession(resp.Header[headerSession])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = false
	if out.Method == methodInitialize {
		c.session, c.begun = begun, out.ID
	}
	return c.session
}

// newSession returns the session with the id that the server assigned, or nil. If the response has
// several ids, it uses the first one, like other clients.
func (c *clientLink) newSession(ids []string) *clientSession {
	if len(ids) == 0 || ids[0] == "" {
		return nil
	}
	if len(ids) == 1 { // a proxy may have joined two headers
		ids = strings.Split(ids[0], ", ")
	}
	id := ids[0]
	if slices.ContainsFunc(ids, func(other string) bool { return other != id }) {
		tolerance.SessionID.Met(c.ctx, c.log, c.endpoint.Name, "initialize: two different ones")
	}
	if wrong := wrongSession(id); wrong != "" {
		c.log.Warn("mcp: the server assigned a session id that cannot be used: "+wrong, "server", c.endpoint.Name)
		tolerance.SessionID.Met(c.ctx, c.log, c.endpoint.Name, "initialize: "+wrong)
		return nil
	}
	s := &clientSession{id: id, header: []string{id}}
	s.ctx, s.lose = context.WithCancelCause(context.Background())
	return s
}

// wrongSession returns the rule that a session id violates, or "".
func wrongSession(id string) string {
	if len(id) > maxSessionID {
		return fmt.Sprintf("it has %d bytes, and at most %d are sent", len(id), maxSessionID)
	}
	for i, b := range []byte(id) {
		if b < 0x21 || b > 0x7e {
			return fmt.Sprintf("its byte %d is 0x%02x, and it has visible ASCII characters only (basic/transports)", i+1, b)
		}
	}
	return ""
}

// statusError returns the error for a status that does not mean success. If the session is lost,
// the first such error ends it. The parameter request is the id of the refused request. The flag
// stream is set for a stream of the session.
func (c *clientLink) statusError(ctx context.Context, resp *http.Response, session *clientSession, request jsonrpc.ID, stream bool) error {
	status, id := c.endpoint.StatusError(resp)
	if session == nil {
		return status
	}
	answered := !id.IsZero() && id == request
	restarted := status.Status == http.StatusBadRequest && session.cut.Load() && !answered
	if !httplink.SessionLost(status, answered) && !restarted {
		return status
	}
	unsure := status.Status == http.StatusBadRequest || stream // many servers do not support GET
	if unsure && !session.isLost() && c.endpoint.Knows(ctx, c.endpoint.URL, c.sessionHeader(session)) {
		return status
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.session, c.lost = nil, true
		session.lose(link.ErrSessionLost)
	}
	return fmt.Errorf("%w: %w", link.ErrSessionLost, status)
}

// endSession requests the end of the session from the server, which may ignore the request.
func (c *clientLink) endSession() {
	session, err := c.current()
	if session == nil || err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteTime)
	defer cancel()
	resp, err := c.endpoint.Do(ctx, http.MethodDelete, c.endpoint.URL, c.sessionHeader(session), nil)
	if err != nil {
		c.log.Debug("mcp: the session could not be ended", "server", c.endpoint.Name, "error", err)
		return
	}
	httplink.Discard(resp)
}
