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

// Find returns the running server that has the same file, name and definition as e, or nil.
func (all RunningSet) Find(e launch.Entry) *RunningServer {
	for i, s := range all {
		if e.Definition != nil && s.Status.Name == e.Name && filename.Real(s.Status.Source) == filename.Real(e.Source()) && s.Status.Origin == e.CommandText() {
			return &all[i]
		}
	}
	return nil
}

// IsFailing reports whether the server failed and has not connected since.
func (r *RunningServer) IsFailing() bool { return r != nil && r.Status.Failing }

// IsConnected reports whether the server is connected, so that a request does not start it first.
func (r *RunningServer) IsConnected() bool { return r != nil && r.Status.State == "connected" }

// Location describes the junction up that runs the server.
func (r *RunningServer) Location() string {
	if r.In.Endpoint == "stdio" {
		return "a junction up on standard input and output"
	}
	return "junction up at " + r.In.Endpoint
}

// CanServe reports whether a command can send its requests to the running server. It reports false
// for a failed server, because starting it now may succeed. It also reports false for an
// unconnected server without stored lists, which would take a long time.
func (r *RunningServer) CanServe() bool {
	return r != nil && r.In.Shares && !r.IsFailing() && (r.IsConnected() || !r.Status.Read.IsZero()) && url.PathEscape(r.Status.Name) == r.Status.Name
}

// IsShared reports whether a command may use the running server without a proof that it has the
// same definition. It reports false for an entry with variables or hidden values, because these may
// differ.
func (r *RunningServer) IsShared(e launch.Entry) bool {
	return r.CanServe() && e.Definition.Hash() == "" && !strings.Contains(e.CommandText(), "${")
}

// socket returns the path of the control socket of the process that runs the server.
func (r *RunningServer) socket(folder string) string {
	return filepath.Join(folder, fmt.Sprint(r.In.PID, ControlSuffix))
}

// Target returns a target that leads to the running server.
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

// A Sharing selects which servers of a running junction up a command may use.
type Sharing int

// StateText describes the state of the running server. It returns "" if the server is neither
// connected nor failed.
func (r *RunningServer) StateText() string {
	switch {
	case r.IsFailing():
		return fmt.Sprintf("%s (%s)", r.Status.Line, r.Location())
	case r.IsConnected():
		return "connected in " + r.Location()
	}
	return ""
}
