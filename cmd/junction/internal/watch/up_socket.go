package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/place"
)

// orderTime is the time limit for the response of a process, which may have to wait for slow
// servers.
const orderTime = 2 * time.Minute

// ForwardHandler returns a handler that forwards requests of the console to the process named in
// their path. It returns only the data of the response. A process must not set cookies, redirect,
// or serve pages and scripts at the console's address.
func ForwardHandler(p place.Place) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pid := r.PathValue("pid")
		if _, err := strconv.ParseUint(pid, 10, 31); err != nil {
			reply.Error(w, http.StatusBadRequest, errors.New("expected the number of a process"))
			return
		}
		dir, err := cli.StatusFolder(p)
		if err != nil {
			reply.Error(w, http.StatusInternalServerError, err)
			return
		}
		at := url.URL{Scheme: "http", Host: "junction", Path: "/api/" + r.PathValue("rest"), RawQuery: r.URL.RawQuery}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, at.String(), r.Body)
		if err != nil {
			reply.Error(w, http.StatusBadRequest, err)
			return
		}
		resp, err := cli.SendToProcess(filepath.Join(dir, pid+cli.ControlSuffix), req, orderTime)
		if err == nil {
			defer resp.Body.Close()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			reply.Error(w, http.StatusNotFound, fmt.Errorf("no junction up has process %s; GET instances lists the running ones", pid))
			return
		case err != nil && hasEnded(r.Context(), filepath.Join(dir, pid+cli.ControlSuffix)):
			reply.Error(w, http.StatusGone, err)
			return
		case err != nil || resp.StatusCode < http.StatusOK:
			reply.Error(w, http.StatusBadGateway, cmp.Or(err, errors.New("the process does not answer in HTTP")))
			return
		}
		kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if err != nil || kind != "application/json" {
			kind = "text/plain; charset=utf-8"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(w, resp.Body); err != nil {
			panic(http.ErrAbortHandler) // without this, a truncated response would look complete
		}
	})
}

// hasEnded reports whether the process of a socket has ended. A process that is killed during a
// response resets the connection.
func hasEnded(ctx context.Context, path string) bool {
	conn, err := cli.DialSocket(ctx, path)
	if err == nil {
		conn.Close()
	}
	return cli.NotListening(err) || errors.Is(err, fs.ErrNotExist)
}
