package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/registry"
)

// adder returns an Adder for servers in the user's configuration.
func adder(a *cli.App) *add.Adder {
	return &add.Adder{
		Launcher:   &a.Launch,
		Configured: func() (add.Configured, error) { return configuredForAdd(a) },
		KeepSecret: func(ctx context.Context, name string, value string) error {
			return account.StoreSecret(ctx, a, name, value)
		},
		Remember: func(s *config.Server, read *definitions.Definitions) { a.Remember(s, "", read) },
		Remedy: func(err error, server string, isProgram bool) string {
			return reach.StartRemedy(isProgram, err, server, 0)
		},
		Busy: func(doing string) func() { return busy(a, doing) },
	}
}

// configuredForAdd returns the configured servers and the settings that confine them. It prints the
// errors of files, and treats those files as empty.
func configuredForAdd(a *cli.App) (c add.Configured, err error) {
	set, entries, _ := reach.ConfiguredServers(a)
	if set == nil {
		return c, nil
	}
	for _, e := range entries {
		if e.Definition != nil {
			c.Servers = append(c.Servers, e.Definition)
		}
	}
	c.Settings, _, err = a.Launch.QuietSettings(set)
	return c, err
}

// adderRegistries implements [add.Registries] with the registries of the command line.
type adderRegistries struct {
	app   *cli.App
	flags RegistryFlags
}

// Find implements [add.Registries].
func (r *adderRegistries) Find(ctx context.Context, name string) (*registry.Entry, []string, error) {
	m, _, err := SyncMirror(ctx, r.app, r.flags)
	if err != nil {
		return nil, nil, err
	}
	e, err := registered(ctx, r.app, m, name)
	if err != nil {
		return nil, nil, err
	}
	var some []string
	suspicions, err := suspicionsOf(ctx, m, &e)
	for _, s := range suspicions {
		if s.Severity >= guard.Warn {
			some = append(some, plaintext.Line(s.Where+": "+s.Why, cli.MaxReason))
		}
	}
	return &e, some, err
}

// Similar implements [add.Registries].
func (r *adderRegistries) Similar(ctx context.Context, kind, identifier string) ([]registry.Likeness, error) {
	m, err := OpenMirror(ctx, r.app, r.flags)
	if err != nil {
		return nil, err
	}
	return m.SimilarPackage(ctx, kind, identifier)
}

// busy shows the current work and its duration until done is called.
func busy(a *cli.App, doing string) (done func()) {
	a.Screen.Transient(doing)
	ended := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		began := time.Now()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				a.Screen.Transient(fmt.Sprintf("%s, %d s", doing, int(time.Since(began).Seconds())))
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		ticking.Wait()
		a.Screen.Transient("")
	}
}
