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
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/prometheus/client_golang/prometheus"
)

// A Served gateway is what up runs, with what it was made from, so that a change of that changes no more
// than it must.
type Served struct {
	App      *cli.App
	Options  Options // as the command line has them
	Gateway  *uplib.Gateway
	board    *board
	live     *LiveUp // nil: lines are printed
	store    *definitions.Store
	listener net.Listener         // nil on standard input and output
	access   *Access              // who is let in there; nil: that is not looked at
	metrics  *prometheus.Registry // served there
	admin    net.Listener         // for those who watch; nil where there is none
	reach    Audience             // of that
	again    chan chan<- error    // everything is to be read again now; why it cannot be used is sent

	Exchanges Exchanges
	stamped   map[string]string // the files as they were before they were read
	unmatched unmatched
	condition atomic.Pointer[condition] // of the configuration when it was last read
	Refused   atomic.Pointer[[]string]  // which servers of projects are not started then, and why
	tried     atomic.Bool               // every server was tried once; see untried

	ruled  []string // files of rules that the settings named when they were last read; for the goroutine that watches
	pins   string   // when the approved definitions were last read; for the goroutine that watches
	logins string   // when the logins were last looked at; for the same

	client  atomic.Pointer[string] // what the one client declared; empty where there may be several
	mu      sync.Mutex
	Entries []launch.Entry // of the servers
}

// Profile returns a profile of the gateway; nil if there is none now.
func (v *Served) Profile(name string) mcp.Handler { return v.Gateway.Profile(name) }

// Start adds all servers, for a client that declared what it can be asked; empty where there may be several.
func (v *Served) Start(ctx context.Context, client string) {
	v.client.Store(&client)
	v.report(v.Gateway.Start(ctx))
}

// watchPause is the time between two looks whether a file changed. What changed is read when it stayed
// the same for that long: programs write files in parts.
const watchPause = time.Second

// watch reads the configuration and the rules again when one of their files changed, until it is stopped.
func (v *Served) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	seen := v.stamped
	watching.Go(func() {
		ticker := time.NewTicker(watchPause)
		defer ticker.Stop()
		last := seen
		for {
			select {
			case <-ticker.C:
			case reply := <-v.again:
				seen = v.reloaded(ctx, v.stamp(), func(err error) { reply <- err })
				last = seen
				continue
			case <-ctx.Done():
				return
			}
			v.rereadPins()
			v.retryLogins()
			now := v.stamp()
			if maps.Equal(now, last) && !maps.Equal(now, seen) {
				seen = v.reloaded(ctx, now, func(error) {})
			}
			last = now
		}
	})
	return func() { cancel(); watching.Wait() }
}

// reloaded reads the files again, and returns what they were then: what changed meanwhile is read once more.
func (v *Served) reloaded(ctx context.Context, then map[string]string, was func(error)) map[string]string {
	v.Reload(ctx, was)
	now := v.stamp()
	for path := range now {
		if before, known := then[path]; known {
			now[path] = before
		}
	}
	return now
}

// stamp is what changes when one of the files does that the gateway is made from.
func (v *Served) stamp() map[string]string {
	rules := slices.Clone(v.ruled) // which need not be among those that are used, as they may have faults
	for _, book := range v.Gateway.Layers().Plan().Books {
		rules = append(rules, book.Paths()...)
	}
	return stamp(v.App, rules)
}

// stamp is what changes when a file of the configuration does, or one of the files of rules.
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

// rereadPins has what was approved meanwhile be offered.
func (v *Served) rereadPins() {
	stamp, changed := stampOfState(v.App.Place, "pins.json", v.pins)
	if !changed || !v.Gateway.Layers().Plan().Reviews() || v.Gateway.Layers().ReadPins() != nil { // what cannot be read now is read again
		return
	}
	v.pins = stamp
	for _, s := range v.Gateway.Members().Status() {
		_ = v.Gateway.Members().Reread(s.Name) // it is there
	}
}

// retryLogins connects at once to the servers that wait for a login or a secret, when somebody logged in or set one.
func (v *Served) retryLogins() {
	stamp, changed := stampOfState(v.App.Place, "state.db", v.logins)
	if !changed {
		return
	}
	v.logins = stamp
	for _, s := range v.Gateway.Members().Status() {
		if errors.Is(s.Err, oauth.ErrLogin) || errors.Is(s.Err, config.ErrSecret) {
			_ = v.Gateway.Members().Restart(s.Name) // it is there
		}
	}
}

// stampOfState changes when a file of this user's state does, and says whether it did since before.
func stampOfState(p place.Place, name, before string) (stamp string, changed bool) {
	path, err := p.State(name)
	if err != nil {
		return before, false
	}
	stamp = filename.Stamp(path) + filename.Stamp(path+"-wal") // SQLite writes the second one
	return stamp, stamp != before
}

// reread is what the files say now.
type reread struct {
	set        *config.Set
	entries    []launch.Entry // of which some may have been chosen
	configured []string       // names
	settings   *settings.Settings
	from       string // the file of the settings
	next       *layer.Plan
}

// readAgain reads all files. The error says why they cannot be used.
func (v *Served) readAgain() (r reread, err error) {
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
	if r.settings, _, err = v.Options.Settled(r.settings); err != nil {
		return r, err
	}
	v.ruled = nil
	for profile := range r.settings.Profiles {
		v.ruled = append(v.ruled, r.settings.PolicyFiles(profile)...)
	}
	v.ruled = append(v.ruled, r.settings.PolicyFiles("")...)
	r.next, err = v.Gateway.Layers().Read(r.settings)
	return r, err
}

// Reload reads everything again. What cannot be used leaves what was there before, which was hears before anything is
// changed.
func (v *Served) Reload(ctx context.Context, was func(error)) {
	r, err := v.readAgain()
	v.found(r.set, err)
	was(err)
	if err != nil {
		v.App.Screen.Printf("junction: the changed configuration cannot be used, so the earlier servers keep running: %v\n", err)
		return
	}
	reportUnknown(v.App, r.settings, r.from, r.configured)
	v.ReportWaiting(r.settings)
	v.unmatched.configured(r.configured, r.from)
	reach.ReportProblems(v.App, r.set)
	source := v.Source()
	source.Settings, source.Admit = r.settings, func(ctx context.Context, entries []launch.Entry) []launch.Entry {
		entries = v.Admit(ctx, r.set, entries, false)
		_ = v.untried() // notes whether all were, before more are added
		return entries
	}
	next, err := source.Plan(launch.Configuration{Set: r.set, Entries: r.entries, Names: v.Options.Names})
	if err != nil {
		v.App.Screen.Printf("junction: %v\n", err)
		return
	}
	next.Layers = r.next
	d, err := v.Gateway.Apply(ctx, next)
	if err != nil { // never: the layers read the settings
		v.App.Screen.Printf("junction: %v\n", err)
		return
	}
	changed := v.report(d)
	v.App.Screen.Printf("%s  Configuration reloaded: %s.\n", time.Now().Format(time.TimeOnly), cmp.Or(strings.Join(changed, "; "), "no change to the servers"))
	v.reportUnmatched()
}

// ReportWaiting names the settings that differ from those at the start of junction up and need a restart.
func (v *Served) ReportWaiting(next *settings.Settings) {
	waiting := v.Gateway.Layers().Opened.Waiting(next, settings.RestartGateway)
	if v.Options.takesTokens() {
		waiting = append(waiting, v.Gateway.Layers().Opened.Waiting(next, settings.RestartTokens)...)
	}
	if len(waiting) > 0 {
		v.App.Screen.Printf("junction: these changes apply when junction up starts again: %s\n", strings.Join(waiting, ", "))
	}
}
