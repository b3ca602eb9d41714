package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/retry"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/gateway/secrets"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/metrics"
	"github.com/junction-mcp/junction/recording"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Layers holds the state of the layers of junction up while it runs.
type Layers struct {
	Now       atomic.Pointer[Arrangement]
	Opened    *settings.Settings         // those that it was started with
	recorder  *recording.Recorder        // nil: nothing is recorded
	counts    *metrics.Metrics           // nil: nothing is counted
	Pins      atomic.Pointer[guard.Pins] // the approved definitions; nil where none are needed
	Log       *audit.Log                 // nil: nothing is written down
	folder    string                     // of log
	exporters []*export.Exporter         // of log
	collector string                     // of traces, as --otlp names it
	tracer    *trace.TracerProvider      // nil: requests make no spans
	Results   *results.Store             // long results of all servers
	Tasks     *tasks.Tasks               // that calls become which are tasks of a server, or last

	withheld   *prometheus.CounterVec // definitions, by server
	Removed    *rules.Book            // of profiles that there are not any more
	Logger     *slog.Logger
	Authorizes bool // callers have principals, with scopes
}

// An Arrangement is what may change while a gateway runs; it is not changed itself.
type Arrangement struct {
	Settings *settings.Settings
	books    map[string]*rules.Book    // by profile, "" is the whole gateway; those without rules have none
	Limits   map[LimitOf]CountedLimits // of users, servers and tools
	Redacted map[string]redact.Options // by server; those of which nothing is hidden have none
	audit    *settings.Audit           // what of calls is written down; nil as usual
	unlogged redact.Paths              // of arguments and results in the audit log

	picks map[string]*settings.Selection // what each server with settings offers
}

// A layer is one thing that junction up does with requests between clients and servers. One of edge, front and server says what the
// layer is around; it returns nil where nothing asks for the layer. Each other function may be missing.
type layer struct {
	Name string
	// arrange reads the settings of the layer, each time that the file is read, and returns an error if they are not valid.
	arrange func(y *Layers, a *cli.App, now *Arrangement) error
	// keep takes over state of the arrangement before, such as counters.
	keep func(now, before *Arrangement)
	// open and close begin and end what lasts as long as junction up.
	open  func(y *Layers, a *cli.App) error
	close func(y *Layers) error

	Edge   func(y *Layers) mcp.Middleware                                    // around what clients send, also what no Handler gets
	Front  func(y *Layers, now *Arrangement, p Part) mcp.Middleware          // around the gateway or a part of it
	Server func(y *Layers, now *Arrangement, s LayeredServer) mcp.Middleware // around one server
	from   func(now *Arrangement) any                                        // what server is made from, in addition to the server's own settings
}

// A Part is the gateway, a profile of it, or one server with its tools under its own names.
type Part struct {
	Gateway *gateway.Gateway
	profile string
	server  string
	settings.Profile
}

// A LayeredServer is the server that a layer is made for.
type LayeredServer struct {
	cli.Entry
	App      *cli.App
	own      settings.Server
	picks    *settings.Selection
	Upstream *gateway.Upstream
}

// Chain has all layers. The first is the outermost.
var Chain = []layer{
	{Name: "traces", open: (*Layers).openTraces, close: (*Layers).closeTraces, Edge: (*Layers).spans},
	{Name: "recording", Front: recordClients},
	{Name: "profile", Front: entered},
	{Name: "tasks", open: (*Layers).openTasks, Front: func(y *Layers, _ *Arrangement, p Part) mcp.Middleware { // for the log and the limits a task is one call
		calls, _ := y.Tasks.Split(p.profile)
		return calls
	}},
	{Name: "search", Front: searched},
	{Name: "metrics", Front: func(y *Layers, _ *Arrangement, _ Part) mcp.Middleware {
		if y.counts == nil {
			return nil
		}
		return y.counts.Around
	}},
	{Name: "audit", arrange: arrangeLog, keep: keepLog, open: (*Layers).openAudit, close: (*Layers).closeAudit, Front: func(y *Layers, now *Arrangement, p Part) mcp.Middleware {
		if y.Log == nil {
			return nil
		}
		return y.Log.Calls(now.Logged(p.Gateway, p.profile))
	}},
	{Name: "retries", Front: retried},
	{Name: "limit of a user", arrange: limitAll, keep: keepLimits, Front: userLimit},
	{Name: "scopes", Front: func(y *Layers, now *Arrangement, _ Part) mcp.Middleware {
		if !y.Authorizes {
			return nil
		}
		return scoped(now.Settings.Authorization)
	}},
	{Name: "requests about tasks", Front: func(y *Layers, _ *Arrangement, p Part) mcp.Middleware { // which reach the log and the limits, too
		_, requests := y.Tasks.Split(p.profile)
		return requests
	}},
	{Name: "selection", arrange: pick, Front: selected},

	{Name: "long results", Server: longResults}, // outside all that withholds something, of which nothing is kept then
	{Name: "secrets", Server: guardedSecrets},   // outside edits, whose fixed arguments may be secrets
	{Name: "edits", Server: edited, from: func(now *Arrangement) any { return now.Settings.Names == "map" }},
	{Name: "limit of a server", Server: serverLimit}, // outside those of tools, always: calls that hold one and wait for the other would wait for ever
	{Name: "limits of tools", Server: toolLimits},
	{Name: "rules", arrange: readRules, open: (*Layers).denyRemoved, Server: (*Layers).rules, from: func(now *Arrangement) any {
		return []bool{len(now.books) > 0, now.Settings.Shadow}
	}},
	{Name: "redaction", arrange: hide, Server: redacted}, // inside the rules, which decide about what is sent
	{Name: "review", arrange: (*Layers).needPins, Server: (*Layers).Review},
	{Name: "traces of servers", Server: func(y *Layers, _ *Arrangement, _ LayeredServer) mcp.Middleware {
		if y.tracer == nil {
			return nil
		}
		return otelmcp.Client(y.traced())
	}},
}

// OpenLayers makes the layers that settings and a collector of traces ask for. Close them when done.
func OpenLayers(a *cli.App, s *settings.Settings, collector string) (*Layers, error) {
	withheld := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_withheld_definitions_total", Help: "Definitions that were found not to be approved."}, []string{"server"})
	y := &Layers{Opened: s, recorder: a.Launch.Recorder, collector: collector, withheld: withheld, Results: results.NewStore(0), Logger: a.Logger()}
	now, err := y.Arrange(a, s)
	if err != nil {
		return nil, err
	}
	y.Now.Store(now)
	for _, l := range Chain {
		if l.open == nil {
			continue
		}
		if err := l.open(y, a); err != nil {
			return nil, errors.Join(err, y.Close())
		}
	}
	return y, nil
}

// Close ends the layers, the innermost first.
func (y *Layers) Close() (err error) {
	for _, l := range slices.Backward(Chain) {
		if l.close != nil {
			err = errors.Join(err, l.close(y))
		}
	}
	return err
}

// Arrange makes what settings say.
func (y *Layers) Arrange(a *cli.App, s *settings.Settings) (*Arrangement, error) {
	now := &Arrangement{Settings: s}
	for _, l := range Chain {
		if l.arrange == nil {
			continue
		}
		if err := l.arrange(y, a, now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// GoOn has the layers go on with what was before.
func (now *Arrangement) GoOn(before *Arrangement) {
	for _, l := range Chain {
		if l.keep != nil {
			l.keep(now, before)
		}
	}
}

// edge returns the layers around what clients send.
func (y *Layers) edge() (around []mcp.Middleware) {
	for _, l := range Chain {
		if l.Edge != nil {
			if m := l.Edge(y); m != nil {
				around = append(around, m)
			}
		}
	}
	return around
}

// Front returns the gateway, a profile of it, or one server, with the layers around all of it.
func (y *Layers) Front(p Part) mcp.Handler {
	now := y.Now.Load()
	p.Profile = now.Settings.Profiles[p.profile]
	h := mcp.Handler(p.Gateway)
	for _, l := range slices.Backward(Chain) {
		if l.Front != nil {
			if m := l.Front(y, now, p); m != nil {
				h = m(h)
			}
		}
	}
	return h
}

// Around returns the layers around one server, and sets in u what is asked once the server was started for a request.
func (now *Arrangement) Around(y *Layers, a *cli.App, e cli.Entry, u *gateway.Upstream) (around []mcp.Middleware) {
	s := LayeredServer{Entry: e, App: a, own: now.Settings.Of(e.Name), picks: now.Settings.Select(e.Name), Upstream: u}
	for _, l := range Chain {
		if l.Server != nil {
			if m := l.Server(y, now, s); m != nil {
				around = append(around, m)
			}
		}
	}
	return around
}

// recordClients has what clients say be written to the recording.
func recordClients(y *Layers, _ *Arrangement, p Part) mcp.Middleware {
	if y.recorder == nil {
		return nil
	}
	switch {
	case p.server != "":
		return y.recorder.Middleware("server " + p.server)
	case p.profile != "":
		return y.recorder.Middleware("profile " + p.profile)
	}
	return y.recorder.Middleware("junction")
}

// entered has the layers inside know which profile a request came to, and the gateway's names of what one server has.
func entered(_ *Layers, _ *Arrangement, p Part) mcp.Middleware {
	switch {
	case p.server != "":
		return func(next mcp.Handler) mcp.Handler { return p.Gateway.Own(p.server, next) }
	case p.profile != "":
		return func(next mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
				return next.Handle(context.WithValue(ctx, inProfile{}, p.profile), req)
			})
		}
	}
	return nil
}

// pick reads what each server offers.
func pick(_ *Layers, _ *cli.App, now *Arrangement) error {
	now.picks = map[string]*settings.Selection{}
	for name := range now.Settings.Servers {
		now.picks[name] = now.Settings.Select(name)
	}
	return nil
}

// selected has a profile and a server offer their part of the gateway.
func selected(_ *Layers, now *Arrangement, p Part) mcp.Middleware {
	var s gateway.Selection
	switch {
	case p.server != "":
		s.Servers = []string{p.server}
	case p.profile != "":
		s = gateway.Selection{Servers: p.Servers, Keep: now.keeps(p.profile), Hide: now.hides(p.Gateway, p.profile)}
	default:
		return nil
	}
	return func(mcp.Handler) mcp.Handler { return p.Gateway.Only(s) }
}

// retried sends again what got nothing back.
func retried(_ *Layers, now *Arrangement, p Part) mcp.Middleware {
	for _, s := range now.Settings.Servers {
		if s.Retries > 0 {
			return retry.Middleware(retry.Options{Times: func(req *mcp.Request) int { return now.retries(p.Gateway, req) }})
		}
	}
	return nil
}

func longResults(y *Layers, _ *Arrangement, s LayeredServer) mcp.Middleware {
	if s.own.MaxResult == 0 {
		return nil
	}
	return results.Middleware(results.Options{Server: s.Name, Max: s.own.MaxResult, Store: y.Results})
}

func guardedSecrets(_ *Layers, _ *Arrangement, s LayeredServer) mcp.Middleware {
	if s.own.Secrets == "" || s.own.Secrets == "pass" {
		return nil
	}
	return secrets.Middleware(secrets.Options{Arguments: s.own.Secrets != "results", Results: s.own.Secrets != "arguments"})
}

// edited has what a server offers look as its settings say.
func edited(_ *Layers, _ *Arrangement, s LayeredServer) mcp.Middleware {
	o := edit.Options{Tools: map[string]edit.Tool{}, Prompts: entries(s.own.Prompts), Resources: entries(s.own.Resources)}
	if !s.picks.All() {
		o.Keep = func(kind edit.Kind, name string) bool { return s.picks.Offers(settings.Kind(kind), name) }
	}
	if s.picks.Tagged() {
		o.Tags = func(kind edit.Kind, name string) []string { return s.picks.Tags(settings.Kind(kind), name) }
	}
	for tool, t := range s.own.Tools {
		if t.Title+t.Description != "" || len(t.Fixed)+len(t.Defaults) > 0 {
			o.Tools[tool] = edit.Tool{Title: t.Title, Description: t.Description, Fixed: t.Fixed, Defaults: t.Defaults}
		}
	}
	if o.Keep == nil && o.Tags == nil && len(o.Tools)+len(o.Prompts)+len(o.Resources) == 0 {
		return nil
	}
	return edit.Middleware(o)
}

// entries are the changes of prompts or resources.
func entries(all map[string]settings.Entry) map[string]edit.Entry {
	changed := map[string]edit.Entry{}
	for name, e := range all {
		if c := (edit.Entry{Title: e.Title, Description: e.Description, Name: e.Name}); c != (edit.Entry{}) {
			changed[name] = c
		}
	}
	return changed
}

// searched lists tools to search with in place of all.
func searched(y *Layers, now *Arrangement, p Part) mcp.Middleware {
	mode := cmp.Or(p.Tools, now.Settings.Tools)
	if mode == string(search.All) || p.server != "" {
		return nil
	}
	o := search.Options{Mode: search.Mode(mode), Pinned: append(slices.Clone(now.Settings.Pin), p.Pin...)}
	o.Server = func(tool string) (name, about, own string) {
		t, _ := p.Gateway.Tool(tool)
		return t.Server, "", t.Name
	}
	o.Unavailable = func(tool string) error {
		server, err := p.Gateway.Unavailable(tool)
		if len(p.Servers) > 0 && !slices.Contains(p.Servers, server) {
			return nil
		}
		return cmp.Or(err, now.denied(p.Gateway, p.profile, tool))
	}
	return y.perScopes(now.Settings.Authorization, search.Middleware(o))
}

// retries is how often a call may be sent again.
func (now *Arrangement) retries(g *gateway.Gateway, req *mcp.Request) int {
	t, ok := g.Tool(req.Name)
	if !ok || req.Method != "tools/call" {
		return 0
	}
	claims := rules.Annotations(t.Definition)
	if is := func(claim *bool) bool { return claim != nil && *claim }; !is(claims.ReadOnly) && !is(claims.Idempotent) {
		return 0
	}
	return now.Settings.Servers[t.Server].Retries
}

// keeps says what a profile has of its servers.
func (now *Arrangement) keeps(profile string) func(gateway.Entry) bool {
	p := now.Settings.Profiles[profile]
	patterns := p.Patterns()
	return func(e gateway.Entry) bool {
		kind := settings.ResourceKind
		switch e.Kind {
		case "tool":
			kind = settings.ToolKind
		case "prompt":
			kind = settings.PromptKind
		}
		var tags []string
		if picks := now.picks[e.Server]; picks != nil {
			tags = picks.Tags(kind, e.Name)
		}
		if now.Settings.Of(e.Server).MaxResult > 0 && results.Is(e.Server, e.Name) { // what its tools gave
			return true
		}
		names := []string{e.Exposed}
		if kind == settings.ResourceKind { // which patterns find by the server's own URI, too
			names = append(names, e.Name)
		}
		return patterns.Pick(kind, tags, names...)
	}
}

// introduction says which layers there are, for people.
func (y *Layers) introduction(p place.Place) string {
	text, now := "", y.Now.Load()
	if s := now.Settings; s.Policy != "" && s.Shadow {
		text = fmt.Sprintf("Rules of %s are tried, and nothing is refused.\n", p.Short(s.Policy))
	} else if s.Policy != "" {
		text = fmt.Sprintf("Rules of %s decide which calls may run.\n", p.Short(s.Policy))
	}
	if y.Log != nil {
		text += fmt.Sprintf("Calls are written down in %s.\n", p.Short(y.folder))
	}
	return text
}
