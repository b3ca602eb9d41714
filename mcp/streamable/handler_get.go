package streamable

import (
	"net/http"
	"time"

	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// get responds to a GET with the notifications of a session, or with the remainder of an
// interrupted stream.
func (x *exchange) get() {
	if x.endpoint.options.Stateless || x.namesModern() {
		x.notAllowed("this endpoint has no streams for GET")
		return
	}
	if !httpedge.Accepts(x.r.Header["Accept"], httpedge.EventStream) {
		x.refuse(http.StatusNotAcceptable, "the Accept header must allow %s", httpedge.EventStream)
		return
	}
	s := x.findSession()
	if s == nil {
		return
	}
	defer x.endpoint.sessions.release(s)
	if last := x.r.Header.Get(headerLastEvent); last != "" {
		fromGET, number, after, ok := parseEventID(last)
		st := s.findStream(number)
		switch {
		case ok && st == nil && s.isShared() && x.resumeElsewhere(s, fromGET, number, after):
		case fromGET && st == nil && x.isPassedOn():
			x.refuse(http.StatusBadRequest, "this replica does not know the stream of the event %.40q", last)
		case fromGET && (st == nil || !st.fromGET):
			x.listen(s, nil, 0, nil) // the stream was forgotten, so notifications continue on a new one
		case !ok || st == nil || st.fromGET != fromGET:
			x.refuse(http.StatusBadRequest, "the stream of the event %.40q is not known any more", last)
		case fromGET:
			x.listen(s, st, after, nil)
		default:
			x.replay(s, st, after)
		}
		return
	}
	x.listen(s, nil, 0, nil)
}

// delete ends a session in response to a DELETE.
func (x *exchange) delete() {
	if x.endpoint.options.Stateless || x.namesModern() {
		x.notAllowed("this endpoint has no sessions to delete")
		return
	}
	if s := x.findSession(); s != nil {
		defer x.endpoint.sessions.release(s)
		if s.isShared() {
			x.endpoint.sharing.ended.Add(s.key, time.Now())
		}
		if x.endpoint.sessions.remove(s, 0) {
			s.end(errDeleted)
		}
		if s.isShared() {
			x.tellPeers(nil, false)
		}
		x.respond(http.StatusNoContent, nil)
	}
}
