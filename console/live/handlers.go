package live

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/console/reply"
)

// Mount gives the routes of the API, and what answers them, to handle: patterns of net/http without the beginning of the path.
func (r *Ring) Mount(handle func(pattern string, h http.Handler)) {
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /traffic":                    r.serveList,
		"DELETE /traffic":                 r.serveClear,
		"GET /traffic/stream":             r.serveStream,
		"GET /traffic/export":             r.serveExport,
		"GET /traffic/figures":            r.serveFigures,
		"GET /traffic/calls/{pid}/{call}": r.serveCall,
		"GET /traffic/{seq}":              r.serveOne,
	} {
		handle(pattern, h)
	}
}

func (r *Ring) serveList(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	f, asked, ok := askedFor(w, q, "before", "after", "afterRow", "limit")
	if !ok {
		return
	}
	before, after, limit, forward := asked["before"], asked["after"], asked["limit"], q.Has("after")
	if q.Has("afterRow") {
		after, forward = r.numberOf(asked["afterRow"]+1)-1, true
	}
	switch {
	case q.Has("before") && forward:
		reply.Error(w, http.StatusBadRequest, errors.New("before and after: expected one of them"))
		return
	case limit == 0:
		limit = defaultPage
	}
	reply.JSON(w, http.StatusOK, r.list(&f, max(before, after), forward, int(min(limit, maxPage))))
}

func (r *Ring) serveClear(w http.ResponseWriter, _ *http.Request) {
	r.Clear()
	w.WriteHeader(http.StatusNoContent)
}

func (r *Ring) serveOne(w http.ResponseWriter, req *http.Request) {
	n, err := strconv.ParseUint(req.PathValue("seq"), 10, 63)
	if err != nil {
		reply.Error(w, http.StatusBadRequest, errors.New("expected the number of a message"))
		return
	}
	d, known := r.wholeOf(n)
	if !known {
		reply.Error(w, http.StatusNotFound, fmt.Errorf("message %d is not kept any more, or not there yet", n))
		return
	}
	reply.JSON(w, http.StatusOK, d)
}

func (r *Ring) serveCall(w http.ResponseWriter, req *http.Request) {
	pid, err := strconv.ParseUint(req.PathValue("pid"), 10, 31)
	if err != nil {
		reply.Error(w, http.StatusBadRequest, errors.New("expected the number of a process"))
		return
	}
	number, err := strconv.ParseUint(req.PathValue("call"), 10, 64)
	if err != nil {
		reply.Error(w, http.StatusBadRequest, errors.New("expected the number of a call"))
		return
	}
	c, known := r.wholeCall(callOfProcess(int32(pid), number))
	if !known {
		reply.Error(w, http.StatusNotFound, errors.New("no message of that call is kept"))
		return
	}
	reply.JSON(w, http.StatusOK, c)
}
