package reach

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/pflag"
)

// RunningServers returns the servers of every running junction up. It skips those that do not
// answer.
func RunningServers(ctx context.Context, p place.Place) (all cli.RunningSet) {
	ups, _ := cli.Instances(ctx, p) // an unreadable folder is treated as empty
	for i := range ups {
		for _, s := range ups[i].Servers {
			all = append(all, cli.RunningServer{In: &ups[i], Status: s})
		}
	}
	return all
}

// The servers of a running junction up that a command uses.
const (
	sharedNothing cli.Sharing = iota
	sharedCalls               // those that are connected or remembered; they may be started there
	sharedLists               // connected servers only
)

// shared returns a target that leads to the server in a running junction up, if this command may
// use that.
func shared(ctx context.Context, a *cli.App, e launch.Entry) (t launch.Target, is bool) {
	f := &a.Flags
	if e.Definition == nil || a.Sharing == sharedNothing || f.Own || a.Launch.Revision != "" || len(a.Launch.Header)+len(a.Launch.Env) > 0 || a.Launch.Frozen || f.Record != "" || a.Launch.Verbose {
		return t, false
	}
	r := RunningServers(ctx, a.Place).Find(e)
	if !r.CanServe() || a.Sharing == sharedLists && !r.IsConnected() {
		return t, false
	}
	if same, known := r.IsDefinedAs(ctx, a.Place, e); known && !same || !known && !r.IsShared(e) {
		return t, false
	}
	t, err := r.Target(a, e)
	return t, err == nil
}

// OwnFlag defines the flag --own of commands that otherwise use the servers of a running junction
// up.
func OwnFlag(a *cli.App, f *pflag.FlagSet) {
	f.BoolVar(&a.Flags.Own, "own", false, "start the server for this command, also where a junction up has it that runs")
}
