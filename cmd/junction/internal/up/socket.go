package up

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/launch"
)

// share serves the control socket, which junction status and the consoles of this user use, and
// with --console a console. end stops the socket but not the console.
func (v *Served) share(ctx context.Context) (end func()) {
	end = v.serveOrders(ctx)
	if v.Options.console {
		if link, err := watch.ConsoleLink(ctx, v.App, false); err != nil {
			v.App.Screen.Printf("junction: the console is not served: %v\n", err)
		} else {
			v.App.Screen.Printf("The console is at %s\n", link)
		}
	}
	return end
}

// serveOrders serves the routes of serveControl and serveInside on a socket that only this user can
// open. If there is no socket, it does nothing. end stops it.
func (v *Served) serveOrders(ctx context.Context) (end func()) {
	l, path, err := cli.ListenSocket(v.App.Place, cli.ControlSuffix)
	if err != nil {
		v.App.Logger().Debug("junction status and junction console cannot ask this process", "error", err)
		return func() {}
	}
	mux := http.NewServeMux()
	v.serveControl(mux, func(h http.Handler) http.HandlerFunc { return h.ServeHTTP }, restartedBy)
	ctx, cancel := context.WithCancel(ctx)
	closeServers := v.shareServers(ctx, mux)
	s := &http.Server{Handler: ReadWhole(mux), ReadHeaderTimeout: AdminTime, ReadTimeout: AdminTime, IdleTimeout: idleTimeout, ErrorLog: v.App.ServerLog(),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l) // returns when the server is closed
	}()
	return func() {
		os.Remove(path)
		cancel()
		closeServers()
		s.Close()
		<-ended
	}
}

// restartedBy describes the program of this user that sent a request to the control socket.
func restartedBy(r *http.Request) caller {
	if r.URL.Query().Get("by") == "command" {
		return caller{way: "by junction restart"}
	}
	return caller{way: "in the console"}
}

// sharesServers reports whether commands of this user may use the servers of this process instead
// of starting their own. They may not if callers authenticate, because rules and limits apply to
// each caller. They may not on standard input either, where servers run for the only client.
func (v *Served) sharesServers() bool { return v.listener != nil && !v.Options.KnowsCallers() }

// shareServers serves each server to the commands of this user, at the path of a profile with the
// name of the server. end stops that.
func (v *Served) shareServers(ctx context.Context, mux *http.ServeMux) (end func()) {
	if !v.sharesServers() {
		return func() {}
	}
	d := &Doors{options: ReplicaOptions(ctx, v.App), Open: map[string]EndpointHandler{}, Profile: v.Gateway.Server}
	d.NewNowhere()
	mux.HandleFunc("GET "+cli.EntryPath+"{name}", v.sendProof)
	mux.HandleFunc(launch.EndpointPath+"/", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a call may take any time; the endpoint limits the time for the body
		d.ServeHTTP(w, r)
	})
	return d.Close
}

// ReadWhole returns a Handler that reads the remaining body of a request after h, within
// [AdminTime]. If the connection closed while a client was writing, the client might get only an
// error, and not the response.
func ReadWhole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(AdminTime)) // h may have removed the deadline
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxQuestion))
	})
}

// sendProof responds with the proof for a server, or with 404 if there is none.
func (v *Served) sendProof(w http.ResponseWriter, r *http.Request) {
	d, ok := v.App.Digests.Of(r.PathValue("name"))
	if !ok {
		reply.Error(w, http.StatusNotFound, errors.New("no server of this name is defined here"))
		return
	}
	folder, err := cli.StatusFolder(v.App.Place)
	var key []byte
	if err == nil {
		key, err = cli.EntryKey(folder, true)
	}
	if err != nil {
		v.App.Logger().Debug("commands can use only servers with fully known entries", "error", err)
		reply.Error(w, http.StatusNotFound, err)
		return
	}
	_, _ = io.WriteString(w, d.Proof(key, os.Getpid()))
}
