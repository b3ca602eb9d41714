package reach

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// memoryOfEra is where the era of a target is remembered; nil where it is not.
func memoryOfEra(a *cli.App, t launch.Target) *definitions.Entry {
	if t.Server == nil {
		return nil
	}
	store := a.Store()
	if store == nil {
		return nil
	}
	return cli.MemoryOf(store, t.Server, "")
}

// legacyFirst reports whether a target is remembered as one that can ask its client in the legacy era only.
func legacyFirst(a *cli.App, t launch.Target) bool {
	m := memoryOfEra(a, t)
	if m == nil {
		return false
	}
	d := m.Load()
	return d != nil && d.Era == definitions.Legacy
}

// rememberEra remembers in which era a target can ask its client, if what it offers is remembered.
func rememberEra(a *cli.App, t launch.Target, era string) {
	m := memoryOfEra(a, t)
	if m == nil {
		return
	}
	d := m.Load()
	if d == nil || d.Era == era {
		return
	}
	with := *d
	with.Era = era
	if err := m.Save(&with); err != nil {
		a.Logger().Warn("the era of a server is not remembered", "server", t.Title(), "error", err)
	}
}

// InEra dials with the options of a target in the era in which it can ask; with none, as is remembered or otherwise says.
func InEra(a *cli.App, o *mcp.ClientOptions, t launch.Target, era string, otherwise bool) {
	if era == "" {
		o.LegacyFirst = otherwise || legacyFirst(a, t)
		return
	}
	o.LegacyFirst = era == definitions.Legacy
	rememberEra(a, t, era)
}

// connectCaller connects to a target, and sets the client that makes the requests of the command: where the target can ask in
// the other era only, it makes them again in that one, or their outcome says how. The function that it returns ends both.
func connectCaller(ctx context.Context, a *cli.App, t launch.Target, within *cli.Bound) (client *mcp.Client, end func(), err error) {
	o, err := askedOptions(a, t)
	if err != nil {
		return nil, nil, err
	}
	if within != nil {
		o.Timeout = -1 // the bound ends each request
	}
	server := eras.New(ctx, eras.Options{
		Program:  t.IsProgram(),
		Revision: o.Revision,
		Logger:   a.Logger(),
		Dial: func(ctx context.Context, _ *mcp.Request, era string) (*mcp.Client, error) {
			dialled := o
			InEra(a, &dialled, t, era, false)
			c, err := DialShown(ctx, a, t, dialled)
			if client == nil {
				client = c
			}
			return c, err
		},
		Advice: func(era string) string {
			name := revision.Latest().Name
			if era == definitions.Legacy {
				name = revision.LatestLegacy().Name
			}
			return "The server may be able to ask with --revision " + name + ": call again if nothing speaks against that."
		},
	})
	if err := server.Connect(ctx, nil); err != nil {
		server.Close()
		return nil, nil, Remedied(a, t, err)
	}
	made := o
	made.Name, made.Revision, made.Middleware, made.Wire = client.Name(), "", nil, nil
	a.Calls = mcp.NewClientWith(within.Around(server), made)
	return client, func() {
		a.Calls.Close()
		server.Close()
	}, nil
}
