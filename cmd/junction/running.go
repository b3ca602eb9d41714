package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plainhttp"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/spf13/pflag"
)

// A runningServer is a server of a junction up that runs.
type runningServer struct {
	in     *instance
	status serverStatus
}

// A runningSet is the servers of every junction up that runs.
type runningSet []runningServer

// runningServers asks every junction up that runs for its servers. One that does not answer has none.
func runningServers(ctx context.Context, p place.Place) (all runningSet) {
	ups, _ := instances(ctx, p) // a folder that cannot be read has none
	for i := range ups {
		for _, s := range ups[i].Servers {
			all = append(all, runningServer{&ups[i], s})
		}
	}
	return all
}

// of returns the server that the same file defines in the same way; nil where none runs.
func (all runningSet) of(e entry) *runningServer {
	for i, s := range all {
		if e.definition != nil && s.status.Name == e.name && filename.Real(s.status.Source) == filename.Real(e.source()) && s.status.Origin == e.run() {
			return &all[i]
		}
	}
	return nil
}

// isFailing reports whether the server failed there and was not connected to since.
func (r *runningServer) isFailing() bool { return r != nil && r.status.Failing }

// isConnected reports whether a request to it needs no start.
func (r *runningServer) isConnected() bool { return r != nil && r.status.State == "connected" }

// where names the junction up.
func (r *runningServer) where() string {
	if r.in.Endpoint == "stdio" {
		return "a junction up on standard input and output"
	}
	return "junction up at " + r.in.Endpoint
}

// answers reports whether a command can have its requests answered there: one that failed there may start now, and of one of which
// nothing is known there nobody waits for a list.
func (r *runningServer) answers() bool {
	return r != nil && r.in.Shares && !r.isFailing() && (r.isConnected() || !r.status.Read.IsZero()) && url.PathEscape(r.status.Name) == r.status.Name
}

// isShared reports whether a command uses the server there where nothing is proved of it: an entry with what is not shown, such as values
// of the environment, and one with variables may be another one there. Such a server is started for the command.
func (r *runningServer) isShared(e entry) bool {
	return r.answers() && e.definition.Hash() == "" && !strings.Contains(e.run(), "${")
}

// socket is where the process that has the server is asked.
func (r *runningServer) socket(folder string) string {
	return filepath.Join(folder, fmt.Sprint(r.in.PID, controlEnd))
}

// target is the server as it is reached there.
func (r *runningServer) target(a *app, e entry) (launch.Target, error) {
	dir, err := statusFolder(a.Place)
	if err != nil {
		return launch.Target{}, err
	}
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialMine(ctx, r.socket(dir)) }}
	at := "http://localhost" + launch.EndpointPath + "/" + e.name
	return launch.Target{Name: e.name, Origin: e.origin(a.Place) + ", through " + r.where(), Timeout: e.definition.Timeout, Through: r.where(),
		Transport: streamable.ClientWith(at, streamable.ClientOptions{HTTP: &http.Client{Transport: plainhttp.New(dial)}, Logger: a.logger()})}, nil
}

// A sharing says what a command asks of servers that a junction up has.
type sharing int

const (
	sharedNothing sharing = iota
	sharedCalls           // which start a server there that is remembered
	sharedLists           // as the server has them now
)

// shared is the server as a junction up has it that runs, if this command may use that one.
func shared(ctx context.Context, a *app, e entry) (t launch.Target, is bool) {
	f := &a.flags
	if e.definition == nil || a.sharing == sharedNothing || f.own || f.revision != "" || len(a.launch.Header)+len(a.launch.Env) > 0 || a.launch.Frozen || f.record != "" || a.launch.Verbose {
		return t, false
	}
	r := runningServers(ctx, a.Place).of(e)
	if !r.answers() || a.sharing == sharedLists && !r.isConnected() {
		return t, false
	}
	if same, known := r.isDefinedAs(ctx, a.Place, e); known && !same || !known && !r.isShared(e) {
		return t, false
	}
	t, err := r.target(a, e)
	return t, err == nil
}

// ownFlag is of commands that use a server as a junction up has it that runs.
func ownFlag(a *app, f *pflag.FlagSet) {
	f.BoolVar(&a.flags.own, "own", false, "start the server for this command, also where a junction up has it that runs")
}

// about says what the server is doing there; empty where nothing is known of that, or it was not connected to yet.
func (r *runningServer) about() string {
	switch {
	case r.isFailing():
		return fmt.Sprintf("%s (%s)", r.status.Line, r.where())
	case r.isConnected():
		return "connected in " + r.where()
	}
	return ""
}

// usedBy says which junction up has the address of a front, as far as one request tells.
func usedBy(ctx context.Context, a *app, f front) string {
	host, port, err := net.SplitHostPort(f.http)
	if err != nil {
		return ""
	}
	if at := net.ParseIP(host); host == "" || at != nil && at.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port) + launch.EndpointPath
	ups, _ := instances(ctx, a.Place) // a folder that cannot be read has none
	for _, up := range ups {
		if up.Endpoint == url {
			return fmt.Sprintf(" by the junction up of process %d, in %s, which serves at %s", up.PID, a.Short(up.Folder), url)
		}
	}
	o := mcp.ClientOptions{Name: url, Revision: revision.Latest().Name, ConnectTimeout: statusTime, Logger: a.logger()}
	c, err := mcp.DialWith(ctx, streamable.ClientWith(url, streamable.ClientOptions{Logger: a.logger()}), o)
	if err != nil {
		return ", perhaps by another junction (junction status lists those that run)"
	}
	defer c.Close()
	if s := c.Server(); s == nil || s.Name != "junction" {
		return " by another server of the Model Context Protocol, at " + url
	}
	return " by another junction at " + url + ", which junction status does not list, as it was started with another home folder or as another user"
}
