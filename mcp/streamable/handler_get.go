package streamable

import (
	"net/http"

	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// get answers a GET for the notifications of a session or the rest of an interrupted stream.
func (x *exchange) get() {
	if x.endpoint.options.Stateless || x.namesModern() {
		x.notAllowed("there are no streams to get here")
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
	if last := x.r.Header.Get(headerLastEvent); last != "" {
		x.resume(s, last)
		return
	}
	x.listen(s, nil, 0)
}

// delete ends a session.
func (x *exchange) delete() {
	if x.endpoint.options.Stateless || x.namesModern() {
		x.notAllowed("there are no sessions to delete here")
		return
	}
	if s := x.findSession(); s != nil {
		if x.endpoint.sessions.remove(s, 0) {
			s.end(errDeleted)
		}
		x.respond(http.StatusNoContent, nil)
	}
}
