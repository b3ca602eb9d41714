package up

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
	"github.com/junction-mcp/junction/traffic"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

const (
	DefaultAddress = "127.0.0.1:7717"
	// firstList is how long the first lists wait for servers without remembered definitions. Some
	// clients request lists only once.
	firstList = 3 * time.Second
)

// An Options holds the command line of up.
type Options struct {
	Front
	NoPrefix bool
	console  bool     // serve a console
	profile  string   // profile to serve on standard input and output
	Names    []string // names of the servers; empty means all
}

// garbagePercent is the value of GOGC. A call produces much garbage, while the gateway itself keeps
// little memory. At the default of 100, garbage collection takes a tenth of the time of many calls.
const garbagePercent = 200

func Command(a *cli.App) *cobra.Command {
	var o Options
	var check bool
	cmd := &cobra.Command{
		Use:   "up [SERVER…]",
		Short: "Serve all your servers, or those named, at one address; service does at login",
		Long: `Offer the tools, resources, templates and prompts of every configured server, or of
those named, at one endpoint, to clients of every revision. The names of tools and
prompts get the server's name in front: SERVER__TOOL.

junction remembers what servers offer. Clients see it at once, and a server starts at
its first use. New servers start in the background, a few at a time. "start": "eager"
in a server's entry starts it at once. "startTimeout" limits the start (default 2m,
longer while npx and similar programs install packages).

Without a configuration it serves the servers that ship with junction: everything, and
filesystem on the current folder, read-only. Servers of a project's file start only if
you agree, on the terminal or by naming the file with --config.`,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return cli.Usagef("%s serves only configured servers; to serve a command, use %s proxy", cmd.CommandPath(), cmd.Root().Name())
			}
			log := o.Flags.given.Telemetry
			a.StartLog(log.LogFormat, log.LogLevel)
			if o.profile != "" && !o.Stdio {
				return cli.Usagef("--profile goes with --stdio; over HTTP, profiles are at %s/NAME", launch.EndpointPath)
			}
			if a.Flags.JSON && !check {
				return cli.Usagef("--json goes with --check")
			}
			for _, name := range args {
				if !slices.Contains(o.Names, name) {
					o.Names = append(o.Names, name)
				}
			}
			if check {
				if err := o.Flags.check(); err != nil {
					return err
				}
				return checkUp(cmd.Context(), a, o)
			}
			return serveUp(cmd.Context(), a, o)
		},
	}
	o.Define(cmd.Flags())
	cmd.Flags().Lookup("http").DefValue = DefaultAddress
	cmd.Flags().BoolVar(&o.NoPrefix, "no-prefix", false,
		"offer tools and prompts under the servers' own names; a name that is taken gets a suffix")
	cmd.Flags().StringVar(&o.profile, "profile", "", "with --stdio: serve the profile `NAME` of the configuration, which over HTTP is at "+launch.EndpointPath+"/NAME")
	cmd.Flags().BoolVar(&o.console, "console", false, "serve a web page, on this machine only, with servers and messages; the printed link admits one browser")
	cmd.Flags().BoolVar(&check, "check", false, "start nothing: check the configuration, print each setting with its source, and compare it with a running junction up")
	a.JSONFlag(cmd, Checked{})
	reach.ConfigFlags(a, cmd.Flags())
	reach.FrozenFlag(a, cmd.Flags())
	reach.RecordFlag(a, cmd.Flags())
	return cmd
}

func serveUp(ctx context.Context, a *cli.App, o Options) (err error) {
	stamped := stamp(a, nil)
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	s, from, err := a.Launch.Settings(set)
	if err != nil {
		return err
	}
	merged, front, wrong := o.Settle(s, from)
	if wrong == nil {
		a.StartLog(merged.Telemetry.LogFormat, merged.Telemetry.LogLevel)
	}
	configured := launch.ConfiguredNames(set, entries)
	reportUnknown(a, s, from, configured)
	if wrong != nil {
		return wrong
	}
	s, o.Front = merged, front
	a.Launch.SeveralUsers = o.KnowsCallers()
	if entries, err = reach.SelectServers(entries, set, o.Names); err != nil {
		return err
	}
	reach.ReportProblems(a, set)
	if err := reportNothing(a, set, entries); err != nil {
		return err
	}
	shares, err := o.sharing(ctx, a, s, from)
	if err != nil {
		return err
	}
	o.Front.shared = newShared(shares)
	if err := reach.UseShared(ctx, a, s, from, shares.keys); err != nil {
		return err
	}
	v, err := listenUp(ctx, a, o)
	if err != nil {
		return err
	}
	v.files = keyFiles(s, from)
	defer v.closeListeners()
	source := v.Source()
	source.Settings = s
	source.Admit = func(ctx context.Context, entries []launch.Entry) []launch.Entry {
		return v.Admit(ctx, set, entries, len(o.Names) > 0)
	}
	plan, err := source.Plan(launch.Configuration{Set: set, Entries: entries, Names: o.Names})
	if err != nil {
		return err
	}
	defer reach.ShareTraffic(ctx, a, "")()
	board := NewBoard(a.Screen, o.Stdio && !a.Launch.Verbose, a.Launch.Verbose, v.endpoint())
	board.log = a.Log
	defer board.Close()
	if g := a.Launch.Shared(); g != nil {
		v.shares = ratelimit.NewShares(g)
		if v.results, err = results.NewSharedStore(0, g, a.Launch.SharedSecret("long results"), a.Logger()); err != nil {
			return err
		}
	}
	given := uplib.Options{Layers: v.layerOptions(s, from), Gateway: gateway.Options{Name: "junction", Version: cli.Version, OneClient: o.Stdio, Logger: a.Launch.Logger(""), OnChange: board.Changed, RedactErrors: o.KnowsCallers(), FirstList: firstList, Unanswered: s.Limits.Unanswered, HealthPause: s.Limits.HealthPause}}
	defer v.own(ctx, &given)() // until the gateway is closed
	if v.admin != nil {
		v.metrics = prometheus.NewRegistry()
		given.Metrics = v.metrics
	}
	if v.Gateway, err = uplib.New(plan, given); err != nil {
		return err
	}
	defer func() { err = cli.JoinClose(err, v.Gateway.Close()) }()
	v.Options.Front.owning.of(v.Gateway.Members())
	v.board, a.Around = board, v.Gateway.Layers().Edge()
	v.stamped = v.stamp()
	maps.Copy(v.stamped, stamped)
	if a.Launch.Traffic != nil {
		a.Launch.Traffic.Hide(func(e *traffic.Event) json.RawMessage { return v.Gateway.Layers().Plan().Shown(v.Gateway.Members(), e) })
	}
	v.unmatched.configured(configured, from)
	board.also, board.More = v.reportUnmatched, func() string { return v.shown().Remark() }
	if !o.Stdio && a.Log == nil && a.IsInteractive() {
		v.live = v.newLive()
	}
	if err = v.applyServers(ctx, *plan); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cli.IgnoreInterrupt(ctx, nil)
	}
	if !o.Stdio {
		v.Start(ctx, "")
	}
	v.found(set, a.Unread)
	defer v.live.Collect()()
	defer v.share(ctx)()
	introduceUp(a, v, set)
	v.notices.release(a.Screen)
	return cli.IgnoreInterrupt(ctx, v.serve(ctx, board))
}

// applyServers applies the servers of the plan, with the layers that the Gateway has.
func (v *Served) applyServers(ctx context.Context, plan uplib.Plan) error {
	plan.Layers = v.Gateway.Layers().Plan()
	if _, err := v.Gateway.Apply(ctx, &plan); err != nil {
		return err
	}
	if v.access != nil && v.access.provider != nil && plan.Layers.RulesUseGroups() {
		v.access.provider.AllGroups = true
	}
	return nil
}

// listenUp opens the recording, if there is one, and listens at the addresses. Errors of these are
// thus reported before any client is served.
func listenUp(ctx context.Context, a *cli.App, o Options) (v *Served, err error) {
	a.Launch.RecordsFront = true
	if err := reach.StartRecording(a, "up", "", false); err != nil {
		return nil, err
	}
	v = &Served{App: a, Options: o, store: a.Store(), again: make(chan reloadRequest)}
	v.Options.log = v.auditLog
	defer func() {
		if err != nil {
			v.closeListeners()
		}
	}()
	if v.admin, v.reach, err = o.listenAdmin(a.Place, a.Logger()); err != nil || o.Stdio {
		return v, err
	}
	if v.listener, err = listen(ctx, a, o.Front); err == nil {
		v.access, err = openAccess(ctx, a, v.listener, v.Options.Front, v.Profile)
	}
	if v.access != nil {
		v.access.Exchanges = &v.Exchanges
	}
	return v, err
}

func (v *Served) closeListeners() {
	for _, l := range []net.Listener{v.listener, v.admin} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// endpoint returns the URL where clients reach the gateway. It returns "" for standard input and
// output.
func (v *Served) endpoint() string {
	if v.listener == nil {
		return ""
	}
	return v.Options.Front.Endpoint(v.listener)
}

// introduceUp prints the served servers and how clients connect.
func introduceUp(a *cli.App, v *Served, set *config.Set) {
	switch o := v.Options; {
	case a.Log != nil && v.listener != nil:
		a.Log.Info("junction serves", "url", v.endpoint())
	case a.Log == nil && (!o.Stdio || a.Launch.Verbose):
		var args []string // arguments for another process, which can neither write the same audit log nor authenticate clients
		if v.Gateway.Layers().Log == nil && len(o.Auth) == 0 {
			args = StdioArgs(a, set, v.Entries, o)
		}
		var names []string
		files := map[string]string{}
		for _, e := range v.Entries {
			if e.Definition != nil && !e.Definition.Disabled {
				names, files[e.Name] = append(names, e.Name), e.Definition.Source
			}
		}
		// One call prints all the text, so that no output of servers comes in between.
		a.Screen.Printf("%s%s%s", introduction(v.listener, o.Front, args), cli.SourcesText(a.Place, names, files, cli.LineWidth(a.Screen)), v.introduceLayers())
	}
	SayUnnamed(a, v.access)
}

// introduceLayers returns lines about roles, rules and the audit log.
func (v *Served) introduceLayers() string {
	text, a := "", v.App
	if roles := slices.Sorted(maps.Keys(v.Gateway.Layers().Plan().Settings.Roles)); len(roles) > 0 {
		text = fmt.Sprintf("Callers need one of these roles: %s.\n", plaintext.FirstNames(roles))
	}
	if s := v.Gateway.Layers().Plan().Settings; s.Policy != "" && s.Shadow {
		text += fmt.Sprintf("Rules of %s are only tried, and refuse nothing.\n", a.Short(s.Policy))
	} else if s.Policy != "" {
		text += fmt.Sprintf("Rules of %s decide which calls may run.\n", a.Short(s.Policy))
	}
	if v.Gateway.Layers().Log != nil {
		text += fmt.Sprintf("Calls are logged in %s.%s\n", a.Short(v.Gateway.Layers().Folder), v.retention())
	}
	return text
}

// serve serves clients until ctx is done, or until the client on standard input disconnects.
func (v *Served) serve(ctx context.Context, board *board) error {
	if v.App.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	}
	stopAdmin, err := v.serveAdmin(ctx)
	if err != nil {
		return err
	}
	defer stopAdmin()
	defer v.noteStart()()
	defer v.watch(ctx)()
	defer v.follow(context.WithoutCancel(ctx))() // also while it drains
	if v.access != nil {
		v.access.team = v.newTeam()
	}
	closeEvents, err := v.openEvents()
	if err != nil {
		return err
	}
	defer closeEvents()
	if o := v.Options; !o.Stdio {
		unfollow, err := o.Front.shared.follow(context.WithoutCancel(ctx), v.listener, v.App.Logger()) // also while it drains
		if err != nil {
			return err
		}
		defer unfollow()
		return v.live.Run(ctx, func(ctx context.Context) error {
			board.Start(v.Gateway.Members())
			o.Front.doors = &v.doors
			return serveHTTP(ctx, v.App, v.listener, o.Front, v.Gateway, v.access, v.Gateway.Profile)
		})
	}
	HintStdio(v.App, v.Options.Front)
	var h mcp.Handler = v.Gateway
	if v.Options.profile != "" {
		h = v.Gateway.Profile(v.Options.profile)
	}
	return serveStdio(ctx, v.App, v.Options.Front, joinFirst(h, func(client string) {
		v.Start(ctx, client)
		board.Start(v.Gateway.Members())
	}))
}

// reportNothing prints a line if there is no server to serve. It returns an error only if faults of
// the configuration are the reason.
func reportNothing(a *cli.App, set *config.Set, entries []launch.Entry) error {
	why := reach.NoServersError("there is no server to serve", set, entries)
	switch {
	case why == nil:
		return nil
	case a.Faulty && len(entries) == 0:
		return why
	}
	a.Screen.Printf("junction: %v\n", why)
	return nil
}

// joinFirst returns a Handler for the only client. It calls join at the first request, because the
// definitions of servers depend on the capabilities that the client declares there.
func joinFirst(h mcp.Handler, join func(client string)) mcp.Handler {
	var first sync.Once
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		first.Do(func() { join(cli.CapabilitiesKey(req.Meta.Capabilities)) })
		return h.Handle(ctx, req)
	})
}
