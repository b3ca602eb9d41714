package main

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
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
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

// layers holds the state of the layers of junction up while it runs.
type layers struct {
	now       atomic.Pointer[arrangement]
	opened    *settings.Settings         // those that it was started with
	recorder  *recording.Recorder        // nil: nothing is recorded
	counts    *metrics.Metrics           // nil: nothing is counted
	pins      atomic.Pointer[guard.Pins] // the approved definitions; nil where none are needed
	log       *audit.Log                 // nil: nothing is written down
	folder    string                     // of log
	exporters []*export.Exporter         // of log
	collector string                     // of traces, as --otlp names it
	tracer    *trace.TracerProvider      // nil: requests make no spans
	results   *results.Store             // long results of all servers
	tasks     *tasks.Tasks               // that calls become which are tasks of a server, or last

	withheld   *prometheus.CounterVec // definitions, by server
	removed    *policies.Rulebook     // of profiles that there are not any more
	logger     *slog.Logger
	authorizes bool // callers have principals, with scopes
}

// An arrangement is what may change while a gateway runs; it is not changed itself.
type arrangement struct {
	settings *settings.Settings
	books    map[string]*policies.Rulebook // by profile, "" is the whole gateway; those without rules have none
	limits   map[limitOf]countedLimits     // of users, servers and tools
	redacted map[string]redact.Options     // by server; those of which nothing is hidden have none
	audit    *settings.Audit               // what of calls is written down; nil as usual
	unlogged redact.Paths                  // of arguments and results in the audit log

	picks map[string]*settings.Selection // what each server with settings offers
}

// A layer is one thing that junction up does with requests between clients and servers. One of edge, front and server says what the
// layer is around; it returns nil where nothing asks for the layer. Each other function may be missing.
type layer struct {
	name string
	// arrange reads the settings of the layer, each time that the file is read, and returns an error if they are not valid.
	arrange func(y *layers, a *cli.App, now *arrangement) error
	// keep takes over state of the arrangement before, such as counters.
	keep func(now, before *arrangement)
	// open and close begin and end what lasts as long as junction up.
	open  func(y *layers, a *cli.App) error
	close func(y *layers) error

	edge   func(y *layers) mcp.Middleware                                    // around what clients send, also what no Handler gets
	front  func(y *layers, now *arrangement, p part) mcp.Middleware          // around the gateway or a part of it
	server func(y *layers, now *arrangement, s layeredServer) mcp.Middleware // around one server
	from   func(now *arrangement) any                                        // what server is made from, in addition to the server's own settings
}

// A part is the gateway, a profile of it, or one server with its tools under its own names.
type part struct {
	gateway *gateway.Gateway
	profile string
	server  string
	settings.Profile
}

// A layeredServer is the server that a layer is made for.
type layeredServer struct {
	cli.Entry
	app      *cli.App
	own      settings.Server
	picks    *settings.Selection
	upstream *gateway.Upstream
}

// chain has all layers. The first is the outermost.
var chain = []layer{
	{name: "traces", open: (*layers).openTraces, close: (*layers).closeTraces, edge: (*layers).spans},
	{name: "recording", front: recordClients},
	{name: "profile", front: entered},
	{name: "tasks", open: (*layers).openTasks, front: func(y *layers, _ *arrangement, p part) mcp.Middleware { // for the log and the limits a task is one call
		calls, _ := y.tasks.Split(p.profile)
		return calls
	}},
	{name: "search", front: searched},
	{name: "metrics", front: func(y *layers, _ *arrangement, _ part) mcp.Middleware {
		if y.counts == nil {
			return nil
		}
		return y.counts.Around
	}},
	{name: "audit", arrange: arrangeLog, keep: keepLog, open: (*layers).openAudit, close: (*layers).closeAudit, front: func(y *layers, now *arrangement, p part) mcp.Middleware {
		if y.log == nil {
			return nil
		}
		return y.log.Calls(now.logged(p.gateway, p.profile))
	}},
	{name: "retries", front: retried},
	{name: "limit of a user", arrange: limitAll, keep: keepLimits, front: userLimit},
	{name: "scopes", front: func(y *layers, now *arrangement, _ part) mcp.Middleware {
		if !y.authorizes {
			return nil
		}
		return scoped(now.settings.Authorization)
	}},
	{name: "requests about tasks", front: func(y *layers, _ *arrangement, p part) mcp.Middleware { // which reach the log and the limits, too
		_, requests := y.tasks.Split(p.profile)
		return requests
	}},
	{name: "selection", arrange: pick, front: selected},

	{name: "long results", server: longResults}, // outside all that withholds something, of which nothing is kept then
	{name: "secrets", server: guardedSecrets},   // outside edits, whose fixed arguments may be secrets
	{name: "edits", server: edited, from: func(now *arrangement) any { return now.settings.Names == "map" }},
	{name: "limit of a server", server: serverLimit}, // outside those of tools, always: calls that hold one and wait for the other would wait for ever
	{name: "limits of tools", server: toolLimits},
	{name: "rules", arrange: readRules, open: (*layers).denyRemoved, server: (*layers).rules, from: func(now *arrangement) any {
		return []bool{len(now.books) > 0, now.settings.Shadow}
	}},
	{name: "redaction", arrange: hide, server: redacted}, // inside the rules, which decide about what is sent
	{name: "review", arrange: (*layers).needPins, server: (*layers).review},
	{name: "traces of servers", server: func(y *layers, _ *arrangement, _ layeredServer) mcp.Middleware {
		if y.tracer == nil {
			return nil
		}
		return otelmcp.Client(y.traced())
	}},
}

// openLayers makes the layers that settings and a collector of traces ask for. Close them when done.
func openLayers(a *cli.App, s *settings.Settings, collector string) (*layers, error) {
	withheld := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_withheld_definitions_total", Help: "Definitions that were found not to be approved."}, []string{"server"})
	y := &layers{opened: s, recorder: a.Launch.Recorder, collector: collector, withheld: withheld, results: results.NewStore(0), logger: a.Logger()}
	now, err := y.arrange(a, s)
	if err != nil {
		return nil, err
	}
	y.now.Store(now)
	for _, l := range chain {
		if l.open == nil {
			continue
		}
		if err := l.open(y, a); err != nil {
			return nil, errors.Join(err, y.close())
		}
	}
	return y, nil
}

// close ends the layers, the innermost first.
func (y *layers) close() (err error) {
	for _, l := range slices.Backward(chain) {
		if l.close != nil {
			err = errors.Join(err, l.close(y))
		}
	}
	return err
}

// arrange makes what settings say.
func (y *layers) arrange(a *cli.App, s *settings.Settings) (*arrangement, error) {
	now := &arrangement{settings: s}
	for _, l := range chain {
		if l.arrange == nil {
			continue
		}
		if err := l.arrange(y, a, now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// goOn has the layers go on with what was before.
func (now *arrangement) goOn(before *arrangement) {
	for _, l := range chain {
		if l.keep != nil {
			l.keep(now, before)
		}
	}
}

// edge returns the layers around what clients send.
func (y *layers) edge() (around []mcp.Middleware) {
	for _, l := range chain {
		if l.edge != nil {
			if m := l.edge(y); m != nil {
				around = append(around, m)
			}
		}
	}
	return around
}

// front returns the gateway, a profile of it, or one server, with the layers around all of it.
func (y *layers) front(p part) mcp.Handler {
	now := y.now.Load()
	p.Profile = now.settings.Profiles[p.profile]
	h := mcp.Handler(p.gateway)
	for _, l := range slices.Backward(chain) {
		if l.front != nil {
			if m := l.front(y, now, p); m != nil {
				h = m(h)
			}
		}
	}
	return h
}

// around returns the layers around one server, and sets in u what is asked once the server was started for a request.
func (now *arrangement) around(y *layers, a *cli.App, e cli.Entry, u *gateway.Upstream) (around []mcp.Middleware) {
	s := layeredServer{Entry: e, app: a, own: now.settings.Of(e.Name), picks: now.settings.Select(e.Name), upstream: u}
	for _, l := range chain {
		if l.server != nil {
			if m := l.server(y, now, s); m != nil {
				around = append(around, m)
			}
		}
	}
	return around
}

// recordClients has what clients say be written to the recording.
func recordClients(y *layers, _ *arrangement, p part) mcp.Middleware {
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
func entered(_ *layers, _ *arrangement, p part) mcp.Middleware {
	switch {
	case p.server != "":
		return func(next mcp.Handler) mcp.Handler { return p.gateway.Own(p.server, next) }
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
func pick(_ *layers, _ *cli.App, now *arrangement) error {
	now.picks = map[string]*settings.Selection{}
	for name := range now.settings.Servers {
		now.picks[name] = now.settings.Select(name)
	}
	return nil
}

// selected has a profile and a server offer their part of the gateway.
func selected(_ *layers, now *arrangement, p part) mcp.Middleware {
	var s gateway.Selection
	switch {
	case p.server != "":
		s.Servers = []string{p.server}
	case p.profile != "":
		s = gateway.Selection{Servers: p.Servers, Keep: now.keeps(p.profile), Hide: now.hides(p.gateway, p.profile)}
	default:
		return nil
	}
	return func(mcp.Handler) mcp.Handler { return p.gateway.Only(s) }
}

// retried sends again what got nothing back.
func retried(_ *layers, now *arrangement, p part) mcp.Middleware {
	for _, s := range now.settings.Servers {
		if s.Retries > 0 {
			return retry.Middleware(retry.Options{Times: func(req *mcp.Request) int { return now.retries(p.gateway, req) }})
		}
	}
	return nil
}

func longResults(y *layers, _ *arrangement, s layeredServer) mcp.Middleware {
	if s.own.MaxResult == 0 {
		return nil
	}
	return results.Middleware(results.Options{Server: s.Name, Max: s.own.MaxResult, Store: y.results})
}

func guardedSecrets(_ *layers, _ *arrangement, s layeredServer) mcp.Middleware {
	if s.own.Secrets == "" || s.own.Secrets == "pass" {
		return nil
	}
	return secrets.Middleware(secrets.Options{Arguments: s.own.Secrets != "results", Results: s.own.Secrets != "arguments"})
}

// edited has what a server offers look as its settings say.
func edited(_ *layers, _ *arrangement, s layeredServer) mcp.Middleware {
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
func searched(y *layers, now *arrangement, p part) mcp.Middleware {
	mode := cmp.Or(p.Tools, now.settings.Tools)
	if mode == string(search.All) || p.server != "" {
		return nil
	}
	o := search.Options{Mode: search.Mode(mode), Pinned: append(slices.Clone(now.settings.Pin), p.Pin...)}
	o.Server = func(tool string) (name, about, own string) {
		t, _ := p.gateway.Tool(tool)
		return t.Server, "", t.Name
	}
	o.Unavailable = func(tool string) error {
		server, err := p.gateway.Unavailable(tool)
		if len(p.Servers) > 0 && !slices.Contains(p.Servers, server) {
			return nil
		}
		return cmp.Or(err, now.denied(p.gateway, p.profile, tool))
	}
	return y.perScopes(now.settings.Authorization, search.Middleware(o))
}

// retries is how often a call may be sent again.
func (now *arrangement) retries(g *gateway.Gateway, req *mcp.Request) int {
	t, ok := g.Tool(req.Name)
	if !ok || req.Method != "tools/call" {
		return 0
	}
	claims := rules.Annotations(t.Definition)
	if is := func(claim *bool) bool { return claim != nil && *claim }; !is(claims.ReadOnly) && !is(claims.Idempotent) {
		return 0
	}
	return now.settings.Servers[t.Server].Retries
}

// keeps says what a profile has of its servers.
func (now *arrangement) keeps(profile string) func(gateway.Entry) bool {
	p := now.settings.Profiles[profile]
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
		if now.settings.Of(e.Server).MaxResult > 0 && results.Is(e.Server, e.Name) { // what its tools gave
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
func (y *layers) introduction(p place.Place) string {
	text, now := "", y.now.Load()
	if s := now.settings; s.Policy != "" && s.Shadow {
		text = fmt.Sprintf("Rules of %s are tried, and nothing is refused.\n", p.Short(s.Policy))
	} else if s.Policy != "" {
		text = fmt.Sprintf("Rules of %s decide which calls may run.\n", p.Short(s.Policy))
	}
	if y.log != nil {
		text += fmt.Sprintf("Calls are written down in %s.\n", p.Short(y.folder))
	}
	return text
}
