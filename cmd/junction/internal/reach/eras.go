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

// memoryOfEra returns the stored definitions of a target, which hold its era, or nil if there are
// none.
func memoryOfEra(a *cli.App, t launch.Target) *definitions.Entry {
	if t.Server == nil {
		return nil
	}
	store := a.Store()
	if store == nil {
		return nil
	}
	return cli.DefinitionsEntry(store, t.Server, "")
}

// legacyFirst reports whether the stored era of a target is [definitions.Legacy], the only one in
// which it can ask its client.
func legacyFirst(a *cli.App, t launch.Target) bool {
	m := memoryOfEra(a, t)
	if m == nil {
		return false
	}
	d := m.Load()
	return d != nil && d.Era == definitions.Legacy
}

// rememberEra stores the era in which a target can ask its client, if definitions of the target are
// stored.
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

// SetEra sets the era in which o dials a target, and stores it. With an empty era, o dials the legacy
// era first if that era is stored for the target, or if otherwise is true.
func SetEra(a *cli.App, o *mcp.ClientOptions, t launch.Target, era string, otherwise bool) {
	if era == "" {
		o.LegacyFirst = otherwise || legacyFirst(a, t)
		return
	}
	o.LegacyFirst = era == definitions.Legacy
	rememberEra(a, t, era)
}

// connectCaller connects to a target and sets a.Calls, the client for the requests of the command.
// If the target can ask only in the other era, requests are repeated in that era or their outcome
// advises it. The caller must call end, which closes both clients.
func connectCaller(ctx context.Context, a *cli.App, t launch.Target, within *cli.Timeout) (client *mcp.Client, end func(), err error) {
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
			SetEra(a, &dialled, t, era, false)
			c, err := DialWithNotice(ctx, a, t, dialled)
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
		return nil, nil, AddRemedy(a, t, err)
	}
	made := o
	made.Name, made.Revision, made.Middleware, made.Wire = client.Name(), "", nil, nil
	a.Calls = mcp.NewClientWith(within.Middleware(server), made)
	return client, func() {
		a.Calls.Close()
		server.Close()
	}, nil
}
