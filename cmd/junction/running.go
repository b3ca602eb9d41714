package main

import (
	"context"
	"fmt"
	"net"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/spf13/pflag"
)

// runningServers asks every junction up that runs for its servers. One that does not answer has none.
func runningServers(ctx context.Context, p place.Place) (all cli.RunningSet) {
	ups, _ := cli.Instances(ctx, p) // a folder that cannot be read has none
	for i := range ups {
		for _, s := range ups[i].Servers {
			all = append(all, cli.RunningServer{In: &ups[i], Status: s})
		}
	}
	return all
}

const (
	sharedNothing cli.Sharing = iota
	sharedCalls               // which start a server there that is remembered
	sharedLists               // as the server has them now
)

// shared is the server as a junction up has it that runs, if this command may use that one.
func shared(ctx context.Context, a *cli.App, e cli.Entry) (t launch.Target, is bool) {
	f := &a.Flags
	if e.Definition == nil || a.Sharing == sharedNothing || f.Own || f.Revision != "" || len(a.Launch.Header)+len(a.Launch.Env) > 0 || a.Launch.Frozen || f.Record != "" || a.Launch.Verbose {
		return t, false
	}
	r := runningServers(ctx, a.Place).Of(e)
	if !r.Answers() || a.Sharing == sharedLists && !r.IsConnected() {
		return t, false
	}
	if same, known := r.IsDefinedAs(ctx, a.Place, e); known && !same || !known && !r.IsShared(e) {
		return t, false
	}
	t, err := r.Target(a, e)
	return t, err == nil
}

// ownFlag is of commands that use a server as a junction up has it that runs.
func ownFlag(a *cli.App, f *pflag.FlagSet) {
	f.BoolVar(&a.Flags.Own, "own", false, "start the server for this command, also where a junction up has it that runs")
}

// usedBy says which junction up has the address of a front, as far as one request tells.
func usedBy(ctx context.Context, a *cli.App, f front) string {
	host, port, err := net.SplitHostPort(f.http)
	if err != nil {
		return ""
	}
	if at := net.ParseIP(host); host == "" || at != nil && at.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port) + launch.EndpointPath
	ups, _ := cli.Instances(ctx, a.Place) // a folder that cannot be read has none
	for _, up := range ups {
		if up.Endpoint == url {
			return fmt.Sprintf(" by the junction up of process %d, in %s, which serves at %s", up.PID, a.Short(up.Folder), url)
		}
	}
	o := mcp.ClientOptions{Name: url, Revision: revision.Latest().Name, ConnectTimeout: cli.StatusTime, Logger: a.Logger()}
	c, err := mcp.DialWith(ctx, streamable.ClientWith(url, streamable.ClientOptions{Logger: a.Logger()}), o)
	if err != nil {
		return ", perhaps by another junction (junction status lists those that run)"
	}
	defer c.Close()
	if s := c.Server(); s == nil || s.Name != "junction" {
		return " by another server of the Model Context Protocol, at " + url
	}
	return " by another junction at " + url + ", which junction status does not list, as it was started with another home folder or as another user"
}
