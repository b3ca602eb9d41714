package live

import (
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/console/reply"
)

// Mount calls handle for each route of the API. The patterns are those of an [http.ServeMux], with
// paths relative to the API.
func (r *Ring) Mount(handle func(pattern string, h http.Handler)) {
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /traffic": r.serveList,
		"DELETE /traffic": func(*http.Request) (any, error) {
			r.Clear()
			return nil, nil
		},
		"GET /traffic/figures":            r.serveFigures,
		"GET /traffic/calls/{pid}/{call}": r.serveCall,
		"GET /traffic/{seq}":              r.serveOne,
	} {
		handle(pattern, reply.With(answer))
	}
	handle("GET /traffic/stream", http.HandlerFunc(r.serveStream))
	handle("GET /traffic/export", http.HandlerFunc(r.serveExport))
}

func (r *Ring) serveList(req *http.Request) (any, error) {
	q := req.URL.Query()
	f, asked, err := parseQuery(q, "before", "after", "afterRow", "limit")
	if err != nil {
		return nil, err
	}
	before, after, limit, forward := asked["before"], asked["after"], asked["limit"], q.Has("after")
	if q.Has("afterRow") {
		after, forward = r.numberOf(asked["afterRow"]+1)-1, true
	}
	switch {
	case q.Has("before") && forward:
		return nil, reply.Refuse(http.StatusBadRequest, "before and after: expected one of them")
	case limit == 0:
		limit = defaultPage
	}
	return r.list(&f, max(before, after), forward, int(min(limit, maxPage))), nil
}

// numbered parses a number in a path. The parameter thing names the numbered thing in the error.
func numbered(req *http.Request, name string, bits int, thing string) (uint64, error) {
	n, err := strconv.ParseUint(req.PathValue(name), 10, bits)
	if err != nil {
		return 0, reply.Refuse(http.StatusBadRequest, "expected the number of a %s", thing)
	}
	return n, nil
}

func (r *Ring) serveOne(req *http.Request) (any, error) {
	n, err := numbered(req, "seq", 63, "message")
	if err != nil {
		return nil, err
	}
	d, known := r.wholeOf(n)
	if !known {
		return nil, reply.Refuse(http.StatusNotFound, "message %d is not kept any more, or not there yet", n)
	}
	return d, nil
}

func (r *Ring) serveCall(req *http.Request) (any, error) {
	pid, err := numbered(req, "pid", 31, "process")
	if err != nil {
		return nil, err
	}
	number, err := numbered(req, "call", 64, "call")
	if err != nil {
		return nil, err
	}
	c, known := r.wholeCall(callOfProcess(int32(pid), number))
	if !known {
		return nil, reply.Refuse(http.StatusNotFound, "no message of that call is kept")
	}
	return c, nil
}
