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

// A RunningServer is a server of a junction up that runs.
type RunningServer struct {
	In     *Instance
	Status ServerStatus
}

// A RunningSet is the servers of every junction up that runs.
type RunningSet []RunningServer

// Of returns the server that the same file defines in the same way; nil where none runs.
func (all RunningSet) Of(e Entry) *RunningServer {
	for i, s := range all {
		if e.Definition != nil && s.Status.Name == e.Name && filename.Real(s.Status.Source) == filename.Real(e.Source()) && s.Status.Origin == e.Run() {
			return &all[i]
		}
	}
	return nil
}

// IsFailing reports whether the server failed there and was not connected to since.
func (r *RunningServer) IsFailing() bool { return r != nil && r.Status.Failing }

// IsConnected reports whether a request to it needs no start.
func (r *RunningServer) IsConnected() bool { return r != nil && r.Status.State == "connected" }

// Where names the junction up.
func (r *RunningServer) Where() string {
	if r.In.Endpoint == "stdio" {
		return "a junction up on standard input and output"
	}
	return "junction up at " + r.In.Endpoint
}

// Answers reports whether a command can have its requests answered there: one that failed there may start now, and of one of which
// nothing is known there nobody waits for a list.
func (r *RunningServer) Answers() bool {
	return r != nil && r.In.Shares && !r.IsFailing() && (r.IsConnected() || !r.Status.Read.IsZero()) && url.PathEscape(r.Status.Name) == r.Status.Name
}

// IsShared reports whether a command uses the server there where nothing is proved of it: an entry with what is not shown, such as values
// of the environment, and one with variables may be another one there. Such a server is started for the command.
func (r *RunningServer) IsShared(e Entry) bool {
	return r.Answers() && e.Definition.Hash() == "" && !strings.Contains(e.Run(), "${")
}

// socket is where the process that has the server is asked.
func (r *RunningServer) socket(folder string) string {
	return filepath.Join(folder, fmt.Sprint(r.In.PID, ControlEnd))
}

// Target is the server as it is reached there.
func (r *RunningServer) Target(a *App, e Entry) (launch.Target, error) {
	dir, err := StatusFolder(a.Place)
	if err != nil {
		return launch.Target{}, err
	}
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return DialMine(ctx, r.socket(dir)) }}
	at := "http://localhost" + launch.EndpointPath + "/" + e.Name
	return launch.Target{Name: e.Name, Origin: e.Origin(a.Place) + ", through " + r.Where(), Timeout: e.Definition.Timeout, Through: r.Where(),
		Transport: streamable.ClientWith(at, streamable.ClientOptions{HTTP: &http.Client{Transport: plainhttp.New(dial)}, Logger: a.Logger()})}, nil
}

// A Sharing says what a command asks of servers that a junction up has.
type Sharing int

// About says what the server is doing there; empty where nothing is known of that, or it was not connected to yet.
func (r *RunningServer) About() string {
	switch {
	case r.IsFailing():
		return fmt.Sprintf("%s (%s)", r.Status.Line, r.Where())
	case r.IsConnected():
		return "connected in " + r.Where()
	}
	return ""
}
