package up

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/ratelimit"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/prometheus/client_golang/prometheus"
)

// A Served is the gateway that junction up runs, with everything that it was made from. A reload
// uses it to restart only what has changed.
type Served struct {
	App      *cli.App
	Options  Options // options of the command line
	Gateway  *uplib.Gateway
	board    *board
	live     *LiveUp // the live screen; nil if lines are printed
	notices  notices
	store    *definitions.Store
	listener net.Listener         // listener for clients; nil on standard input and output
	access   *Access              // authenticates clients; nil if they need not authenticate
	shares   *ratelimit.Shares    // counts limits together with other replicas; nil without a shared store
	results  *results.Store       // keeps long results for other replicas; nil without a shared store
	metrics  *prometheus.Registry // metrics for the admin address
	admin    net.Listener         // listener at the admin address; nil without --admin
	reach    Audience             // audience of admin
	again    chan reloadRequest   // receives requests to reload

	Exchanges Exchanges
	stamped   map[string]string // stamps of the files before they were first read
	unmatched unmatched
	condition atomic.Pointer[condition] // faults of the configuration when it was last read
	readAt    atomic.Int64              // when a configuration that could be used was last read, in Unix nanoseconds
	doors     atomic.Pointer[Doors]     // endpoints for clients over HTTP; nil before they are served
	Refused   atomic.Pointer[[]string]  // lines about the servers of projects that were refused then
	tried     atomic.Bool               // whether every server has been tried once; see untried

	files      []string // files of rules in the settings when they were last read; used only by watch
	queueFault string   // error of the last read of the queue of events; used only by watch
	queue      string   // stamp of the queue of events when it was last read; used only by watch
	pins       string   // stamp of the approved definitions when they were last read; used only by watch
	logins     string   // stamp of the logins when they were last checked; used only by watch

	secrets secretWatch

	client  atomic.Pointer[string] // key of the capabilities that the only client declared; empty if there may be several clients
	mu      sync.Mutex
	Entries []launch.Entry // entries of the servers; guarded by mu
}

// Profile returns the handler of a profile, or nil if there is no such profile now.
func (v *Served) Profile(name string) mcp.Handler { return v.Gateway.Profile(name) }

// Start adds all servers. client is the key of the capabilities that the only client declared, or
// "" if there may be several clients.
func (v *Served) Start(ctx context.Context, client string) {
	v.client.Store(&client)
	v.report(v.Gateway.Start(ctx))
}

// A reloadRequest is a request to read the configuration again. read receives the result of reading.
type reloadRequest struct {
	by   caller
	read chan<- error
}

// watchPause is the time between two checks for changed files. A changed file is read after it has
// stayed the same for that time, because programs may write a file in parts.
const watchPause = time.Second

// watch reloads the configuration and the rules when one of their files changes, until stop is
// called.
func (v *Served) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	seen := v.stamped
	watching.Go(func() {
		v.secrets.look(ctx, v.App, v.serverEntries()) // remembers the present ones
		ticker := time.NewTicker(watchPause)
		defer ticker.Stop()
		last := seen
		for {
			select {
			case <-ticker.C:
			case asked := <-v.again:
				seen = v.reloaded(ctx, v.stamp(), asked.by, func(err error) { asked.read <- err })
				last = seen
				continue
			case <-ctx.Done():
				return
			}
			v.takeEvents()
			v.rereadPins()
			v.retryLogins()
			now := v.stamp()
			if v.renewSecrets(ctx) || maps.Equal(now, last) && !maps.Equal(now, seen) {
				seen = v.reloaded(ctx, now, caller{}, func(error) {})
			}
			last = now
		}
	})
	return func() { cancel(); watching.Wait() }
}

// reloaded reloads the configuration and returns the stamps of the files from before. A file that
// changes during the reload therefore differs from its stamp and is read again.
func (v *Served) reloaded(ctx context.Context, then map[string]string, by caller, was func(error)) map[string]string {
	before := v.hashes()
	v.Reload(ctx, func(err error) {
		v.noteReload(by, before, err)
		was(err)
	})
	now := v.stamp()
	for path := range now {
		if before, known := then[path]; known {
			now[path] = before
		}
	}
	return now
}

// stamp returns the stamps of all files from which the gateway is made.
func (v *Served) stamp() map[string]string {
	rules := slices.Clone(v.files) // includes files with faults, which the current plan does not use
	for _, book := range v.Gateway.Layers().Plan().Books {
		rules = append(rules, book.Paths()...)
	}
	return stamp(v.App, rules)
}

// stamp returns the stamps of the configuration files and of the files in named, by path.
func stamp(a *cli.App, named []string) map[string]string {
	paths := append(named, filepath.FromSlash(rules.ProjectFile))
	for _, path := range a.Launch.ConfigFiles(launch.ConfigOptions(a.Place)) {
		paths = append(paths, path, filepath.Join(filepath.Dir(path), "junction.json"), install.LockPath(a.Real(path)))
	}
	stamp := map[string]string{}
	for _, path := range paths {
		stamp[path] = filename.Stamp(path)
	}
	return stamp
}

// rereadPins reads the approved definitions if their file has changed, and then the definitions of
// all servers.
func (v *Served) rereadPins() {
	stamp, changed := stampOfState(v.App.Place, "pins.json", v.pins)
	if changed && v.App.Launch.Shared() == nil && v.usePins() == nil { // after an error, the next call tries again
		v.pins = stamp
	}
}

// usePins reads the approved definitions if the settings need them, and then the definitions of all
// servers.
func (v *Served) usePins() error {
	if !v.Gateway.Layers().Plan().Reviews() {
		return nil
	}
	if err := v.Gateway.Layers().ReadPins(); err != nil {
		return err
	}
	for _, s := range v.Gateway.Members().Status() {
		_ = v.Gateway.Members().Reread(s.Name) // cannot fail, because the server exists
	}
	return nil
}

// retryLogins connects again to the servers that lack a login or a secret, if a login or a secret
// has been stored since the last call.
func (v *Served) retryLogins() {
	stamp, changed := stampOfState(v.App.Place, "state.db", v.logins)
	if !changed {
		return
	}
	v.logins = stamp
	for _, s := range v.Gateway.Members().Status() {
		if errors.Is(s.Err, oauth.ErrLogin) || errors.Is(s.Err, config.ErrSecret) {
			_ = v.Gateway.Members().Restart(s.Name) // cannot fail, because the server exists
		}
	}
}

// stampOfState returns the stamp of a file in this user's state folder, and whether it differs from
// before.
func stampOfState(p place.Place, name, before string) (stamp string, changed bool) {
	path, err := p.State(name)
	if err != nil {
		return before, false
	}
	stamp = filename.Stamp(path) + filename.Stamp(path+"-wal") // SQLite writes its log to the second file first
	return stamp, stamp != before
}

// reread holds the configuration as its files are now.
type reread struct {
	set        *config.Set
	entries    []launch.Entry // entries to serve, which may be a selection
	configured []string       // names of all configured servers
	settings   *settings.Settings
	from       string // file of the settings
	next       *layer.Plan
	shares     sharing
}

// readAgain reads all files. The error is the reason why they cannot be used.
func (v *Served) readAgain(ctx context.Context) (r reread, err error) {
	c, err := v.App.Launch.Read()
	r.set, r.entries = c.Set, c.Entries
	if err != nil {
		return r, err
	}
	r.configured = launch.ConfiguredNames(r.set, r.entries)
	if len(v.Options.Names) > 0 {
		if r.entries, err = reach.SelectServers(r.entries, r.set, v.Options.Names); err != nil {
			return r, err
		}
	}
	if r.settings, r.from, err = v.App.Launch.Settings(r.set); err != nil {
		return r, err
	}
	if r.settings, _, err = v.Options.Settle(r.settings, r.from); err != nil {
		return r, err
	}
	v.files = keyFiles(r.settings, r.from)
	for profile := range r.settings.Profiles {
		v.files = append(v.files, r.settings.PolicyFiles(profile)...)
	}
	v.files = append(v.files, r.settings.PolicyFiles("")...)
	if r.shares, err = v.Options.sharing(ctx, v.App, r.settings, r.from); err != nil {
		return r, err
	}
	r.next, err = v.Gateway.Layers().Read(r.settings)
	return r, err
}

// Reload reads the configuration again and applies its changes. It calls was with the result of
// reading, before it applies anything. If the configuration cannot be used, the servers stay
// unchanged.
func (v *Served) Reload(ctx context.Context, was func(error)) {
	r, err := v.readAgain(ctx)
	v.found(r.set, err)
	was(err)
	if err != nil {
		v.App.Screen.Printf("junction: the changed configuration cannot be used, so the earlier servers keep running: %v\n", err)
		return
	}
	v.Options.shared.replace(r.shares)
	if err := v.sealShared(ctx); err != nil { // tried again within a minute
		v.App.Screen.Printf("junction: %v\n", err)
	}
	reportUnknown(v.App, r.settings, r.from, r.configured)
	v.ReportWaiting(r.settings)
	v.unmatched.configured(r.configured, r.from)
	reach.ReportProblems(v.App, r.set)
	source := v.Source()
	source.Settings, source.Admit = r.settings, func(ctx context.Context, entries []launch.Entry) []launch.Entry {
		entries = v.Admit(ctx, r.set, entries, false)
		_ = v.untried() // records whether all current servers have been tried, before others are added
		return entries
	}
	next, err := source.Plan(launch.Configuration{Set: r.set, Entries: r.entries, Names: v.Options.Names})
	if err != nil {
		v.App.Screen.Printf("junction: %v\n", err)
		return
	}
	next.Layers = r.next
	d, err := v.Gateway.Apply(ctx, next)
	if err != nil { // does not occur, because readAgain has checked the settings
		v.App.Screen.Printf("junction: %v\n", err)
		return
	}
	changed := v.report(d)
	what := cmp.Or(strings.Join(changed, "; "), "no change to the servers")
	if v.App.Log != nil { // has the time, too
		v.App.Log.Info("Configuration reloaded", "changes", what)
	} else {
		v.App.Screen.Printf("%s  Configuration reloaded: %s.\n", time.Now().Format(time.TimeOnly), what)
	}
	v.reportUnmatched()
}

// ReportWaiting prints the settings that differ from those at the start of junction up and that
// need a restart.
func (v *Served) ReportWaiting(next *settings.Settings) {
	waiting := v.Gateway.Layers().Opened.Waiting(next, settings.RestartGateway)
	if v.Options.takesTokens() {
		waiting = append(waiting, v.Gateway.Layers().Opened.Waiting(next, settings.RestartTokens)...)
	}
	if len(waiting) > 0 {
		v.App.Screen.Printf("junction: these changes apply when junction up starts again: %s\n", strings.Join(waiting, ", "))
	}
}
