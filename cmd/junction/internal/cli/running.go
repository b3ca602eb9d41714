package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plainhttp"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A RunningServer is a server of a running junction up.
type RunningServer struct {
	In     *Instance
	Status ServerStatus
}

// A RunningSet holds the servers of every running junction up.
type RunningSet []RunningServer

// Find returns the running server with the same file and definition as e, or nil.
func (all RunningSet) Find(e launch.Entry) *RunningServer {
	for i, s := range all {
		if e.Definition != nil && s.Status.Name == e.Name && filename.Real(s.Status.Source) == filename.Real(e.Source()) && s.Status.Origin == e.CommandText() {
			return &all[i]
		}
	}
	return nil
}

// IsFailing reports whether the server failed and has not been connected since.
func (r *RunningServer) IsFailing() bool { return r != nil && r.Status.Failing }

// IsConnected reports whether the server is connected, so that a request does not start it.
func (r *RunningServer) IsConnected() bool { return r != nil && r.Status.State == "connected" }

// Location describes the junction up that has the server.
func (r *RunningServer) Location() string {
	if r.In.Endpoint == "stdio" {
		return "a junction up on standard input and output"
	}
	return "junction up at " + r.In.Endpoint
}

// CanServe reports whether a command can send its requests there. It reports false for a failed
// server, which may start now, and for an unconnected one without stored lists, which would take
// long.
func (r *RunningServer) CanServe() bool {
	return r != nil && r.In.Shares && !r.IsFailing() && (r.IsConnected() || !r.Status.Read.IsZero()) && url.PathEscape(r.Status.Name) == r.Status.Name
}

// IsShared reports whether a command may use the server there without a proof that it is defined in
// the same way. It reports false for entries with variables or hidden values, which may differ
// there.
func (r *RunningServer) IsShared(e launch.Entry) bool {
	return r.CanServe() && e.Definition.Hash() == "" && !strings.Contains(e.CommandText(), "${")
}

// socket returns the path of the socket of the process that has the server.
func (r *RunningServer) socket(folder string) string {
	return filepath.Join(folder, fmt.Sprint(r.In.PID, ControlSuffix))
}

// Target returns a target that leads to the server there.
func (r *RunningServer) Target(a *App, e launch.Entry) (launch.Target, error) {
	dir, err := StatusFolder(a.Place)
	if err != nil {
		return launch.Target{}, err
	}
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return DialSocket(ctx, r.socket(dir)) }}
	at := "http://localhost" + launch.EndpointPath + "/" + e.Name
	return launch.Target{Name: e.Name, Origin: e.Origin(a.Place) + ", through " + r.Location(), Timeout: e.Definition.Timeout, Through: r.Location(),
		Transport: streamable.ClientWith(at, streamable.ClientOptions{HTTP: &http.Client{Transport: plainhttp.New(dial)}, Logger: a.Logger()})}, nil
}

// A Sharing selects the servers of a running junction up that a command uses.
type Sharing int

// StateText describes the state of the server there; empty if it has not been connected.
func (r *RunningServer) StateText() string {
	switch {
	case r.IsFailing():
		return fmt.Sprintf("%s (%s)", r.Status.Line, r.Location())
	case r.IsConnected():
		return "connected in " + r.Location()
	}
	return ""
}
