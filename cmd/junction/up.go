package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	defaultAddress = "127.0.0.1:7717"
	// firstList is how long the first lists wait for servers when nothing is
	// remembered: some clients never list a second time.
	firstList = 3 * time.Second
)

// An upOptions is what the command line of up says.
type upOptions struct {
	front
	layering
	noPrefix bool
	names    []string       // of servers; empty: all
	given    *pflag.FlagSet // the flags, to say them again
}

func (a *app) upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up [SERVER...]",
		Short: "Serve all configured servers, or those named, at one endpoint",
		Long: `Offer the tools, resources, templates and prompts of every configured server, or of
those named, at one endpoint, to clients of every revision. The names of tools and
prompts get the server's name in front: SERVER__TOOL.

What servers offer is remembered: it is there at once, and a server is started when it
is first used. Servers that were never seen are started in the background, some at a
time. "start": "eager" in a server's entry starts it at once; "startTimeout" says how
long that may take (default 2m, longer while npx and the like install something).

With no configuration it serves what ships with junction: everything, and filesystem
on the current folder, read-only. Servers that a project's file defines are started
only if you agree, on the terminal or by naming the file with --config.`,
		ValidArgsFunction: a.suggestServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return usagef("%s: serves configured servers; for the command of one, see %s proxy", cmd.CommandPath(), cmd.Root().Name())
			}
			if err := errors.Join(o.front.check(), o.layering.check()); err != nil {
				return err
			}
			if o.http == "" && !o.stdio {
				o.http = defaultAddress
			}
			for _, name := range args {
				if !slices.Contains(o.names, name) {
					o.names = append(o.names, name)
				}
			}
			o.given = cmd.Flags()
			return a.up(cmd.Context(), o)
		},
	}
	o.front.flags(cmd.Flags(), " (default "+defaultAddress+")")
	o.layering.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.noPrefix, "no-prefix", false,
		"offer tools and prompts under the servers' own names; a name that another server has gets a suffix")
	a.configFlags(cmd.Flags())
	return cmd
}

func (a *app) up(ctx context.Context, o upOptions) (err error) {
	set, entries, err := a.servers()
	if err != nil {
		return err
	}
	if entries, err = chosen(entries, set, o.names); err != nil {
		return err
	}
	a.reportProblems(set)
	if err := a.reportNothing(set, entries); err != nil {
		return err
	}
	var l net.Listener
	if !o.stdio {
		if l, err = a.listen(o.front); err != nil {
			return err
		}
		defer l.Close()
	}
	if entries, err = a.enterChain(ctx, set, entries, o.names, l); err != nil {
		return err
	}
	y, err := a.openLayers(o.layering)
	if err != nil {
		return err
	}
	defer func() { err = closed(err, y.close()) }()
	board := newBoard(a.screen, o.stdio && !a.flags.verbose, a.flags.verbose, l)
	g := gateway.New(gateway.Options{Name: "junction", Version: version, OneClient: o.stdio, Logger: a.logger(), OnChange: board.changed,
		NoPrefix: o.noPrefix, FirstList: firstList})
	defer board.close()
	defer g.Close()
	store := a.store()
	entries = a.admitted(ctx, entries)
	if ctx.Err() != nil {
		return orderly(ctx, nil)
	}
	join := func(client string) { a.joinAll(ctx, g, entries, store, client, y) }
	if !o.stdio {
		join("")
	}
	defer y.watch(ctx, a, g)()
	defer a.publish(g, l, sources(entries))()
	if !o.stdio || a.flags.verbose {
		a.introduce(l, a.stdioArgs(set, slices.ContainsFunc(entries, entry.ofProject), o))
		a.showSources(entries)
		y.introduce(a)
	}
	if !o.stdio {
		board.start(g)
		return orderly(ctx, a.serveHTTP(ctx, l, o.front, y.front(g)))
	}
	a.hintStdio(o.front)
	return orderly(ctx, a.serveStdio(ctx, joinFirst(y.front(g), func(client string) {
		join(client)
		board.start(g)
	})))
}

// reportNothing says that there is no server to serve, if so; it is an error only where
// something is wrong with the configuration.
func (a *app) reportNothing(set *config.Set, entries []entry) error {
	why := nothing("there is no server to serve", set, entries)
	switch {
	case why == nil:
		return nil
	case a.faulty && len(entries) == 0:
		return &connectError{why}
	}
	a.screen.Printf("junction: %v\n", why)
	return nil
}

// nothing says that there is no server, and why, if there is none.
func nothing(why string, set *config.Set, entries []entry) error {
	var files []string
	for _, f := range set.Files {
		files = append(files, f.Path)
	}
	switch in := strings.Join(files, ", "); {
	case slices.ContainsFunc(entries, func(e entry) bool { return e.definition == nil || !e.definition.Disabled }):
		return nil
	case len(entries) > 0:
		return fmt.Errorf("%s: all of %s are disabled", why, in)
	case len(set.Problems()) > 0 || len(files) == 0:
		return errors.New(why) // the problems were shown
	default:
		return fmt.Errorf(`%s: %s defines none; expected {"mcpServers": {NAME: {…}}}`, why, in)
	}
}

// joinFirst returns the gateway for one client: its servers join with the first
// request, which says what the client declared, as what they offered depends on it.
func joinFirst(h mcp.Handler, join func(client string)) mcp.Handler {
	var first sync.Once
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		first.Do(func() { join(declared(req.Meta.Capabilities)) })
		return h.Handle(ctx, req)
	})
}

// chosen returns the servers with these names, or all where there are none.
func chosen(entries []entry, set *config.Set, names []string) ([]entry, error) {
	if len(names) == 0 {
		return entries, nil
	}
	var some []entry
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			continue
		}
		e, err := enabled(name, set, entries)
		if err != nil {
			return nil, err
		}
		some = append(some, e)
	}
	return some, nil
}

// admitted returns the servers that are not switched off and may be started. What
// must be asked for that is asked now.
func (a *app) admitted(ctx context.Context, entries []entry) []entry {
	var some []entry
	entries = slices.DeleteFunc(slices.Clone(entries), entry.isDisabled)
	faults := a.consents(ctx, entries)
	for i, e := range entries {
		if faults[i] != nil {
			a.screen.Printf("junction: %v\n", faults[i])
			continue
		}
		if e.definition != nil {
			a.askInputs(ctx, e)
		}
		some = append(some, e)
	}
	return some
}

// joinAll adds servers to the gateway.
func (a *app) joinAll(ctx context.Context, g *gateway.Gateway, entries []entry, store *definitions.Store, client string, y *layers) {
	for _, e := range entries {
		a.join(ctx, g, e, store, client, y)
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.definition != nil }) {
		_ = g.Settle(ctx) // those in this process are there at once; the error is ctx's
	}
}

// join adds a server to the gateway. client is what the one client declared; empty
// where there may be several. Why one cannot be added is shown.
func (a *app) join(ctx context.Context, g *gateway.Gateway, e entry, store *definitions.Store, client string, y *layers) {
	var err error
	if e.definition != nil {
		u := a.upstream(ctx, e, store, client)
		u.Middleware = y.around(e)
		err = g.Add(e.name, u)
	} else {
		var h mcp.Handler
		if h, err = a.shipped(ctx, e.name, shipping{}); err == nil {
			err = g.AddHandler(e.name, h, y.around(e)...)
		}
	}
	if err != nil {
		a.screen.Printf("junction: %v\n", err)
	}
}

// upstream is how the gateway reaches a configured server. Its variables are
// resolved again for each connection.
func (a *app) upstream(ctx context.Context, e entry, store *definitions.Store, client string) gateway.Upstream {
	u := gateway.Upstream{Eager: e.definition.Eager}
	if s, err := e.definition.Resolve(ctx); err == nil {
		u.Program = s.Kind == config.Stdio && startable(s)
		if store != nil {
			u.Memory = memoryOf(store, s, client)
		}
	}
	u.Dial = func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
		t, err := a.resolve(ctx, e)
		if err != nil {
			return nil, err
		}
		o := a.options(t)
		o.Bridge, o.OneClient = true, start.Client()
		known := u.Memory != nil && u.Memory.Load() != nil
		return dialWatched(ctx, t.transport, o, start, e.definition.StartTimeout, known)
	}
	return u
}

// startable reports whether there is a program to start. One that is missing fails
// at once: it need not wait until others have started.
func startable(s *config.Server) bool {
	if _, changed := s.Env["PATH"]; filepath.IsAbs(s.Command) || !changed {
		_, err := exec.LookPath(s.Command)
		return err == nil
	}
	return true // starting it says
}

// memoryKey is what the definitions that are remembered of a server depend on. client
// is what the one client declared; empty where there may be several.
func memoryKey(s *config.Server, client string) definitions.Origin {
	return definitions.Origin{Command: s.Command, Args: s.Args, Dir: s.Dir, Env: s.Env, Unset: s.Unset, URL: s.URL, Headers: s.Headers, Client: client}
}

// askInputs asks for the inputs that a server needs, before anything else is on
// the screen: the configuration remembers the answers. What is wrong with the
// rest shows when the server is connected to.
func (a *app) askInputs(ctx context.Context, e entry) {
	if a.person != nil && needsInput(e.definition) {
		_, _ = e.definition.Resolve(ctx)
	}
}
