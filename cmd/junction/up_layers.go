package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
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
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/metrics"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/ratelimit"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
)

// reviewNone offers tools whatever their definitions are.
const reviewNone = "none"

// usualFolder is what --audit alone means.
const usualFolder = "default"

// layers are what stands around a gateway while it runs.
type layers struct {
	now       atomic.Pointer[arrangement]
	counts    *metrics.Metrics           // nil: nothing is counted
	pins      atomic.Pointer[guard.Pins] // the approved definitions; nil where none are needed
	log       *audit.Log                 // nil: nothing is written down
	folder    string                     // of log
	exporters []*export.Exporter         // of log
	tracer    *trace.TracerProvider      // nil: requests make no spans
	results   *results.Store             // long results of all servers
	tasks     *tasks.Tasks               // that calls become which are tasks of a server, or last

	withheld   *prometheus.CounterVec // definitions, by server
	removed    *rulebook              // of profiles that there are not any more
	logger     *slog.Logger
	authorizes bool // callers have principals, with scopes
}

// An arrangement is what may change while a gateway runs; it is not changed itself.
type arrangement struct {
	settings *settings.Settings
	books    map[string]*rulebook      // by profile, "" is the whole gateway; those without rules have none
	person   *ratelimit.Limiter        // of each principal or client; nil: there is no limit
	limits   map[limitOf]countedLimits // of servers and tools
	redacted map[string]redact.Options // by server; those of which nothing is hidden have none
	unlogged redact.Paths              // of arguments and results in the audit log

	picks map[string]*settings.Selection // what each server with settings offers
}

// openLayers makes the layers that command line and settings ask for. Close the log when done.
func (a *app) openLayers(s *settings.Settings, from, collector string) (*layers, error) {
	now, err := a.arrange(s, from)
	if err != nil {
		return nil, err
	}
	withheld := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_withheld_definitions_total", Help: "Definitions that were found not to be approved."}, []string{"server"})
	y := &layers{withheld: withheld, results: results.NewStore(0), removed: new(rulebook), logger: a.logger()}
	if y.removed.Policy, err = policy.Compile([]policy.Rule{{Effect: policy.Deny, Reason: "the profile was removed"}}, policy.Options{}); err != nil {
		return nil, err
	}
	if y.tasks, err = a.newTasks(); err != nil {
		return nil, err
	}
	y.now.Store(now)
	if s.Review != reviewNone {
		if err := y.readPins(); err != nil {
			return nil, err
		}
	}
	if err := y.openTraces(a, collector); err != nil {
		return nil, err
	}
	if s.Audit == nil {
		return y, nil
	}
	return y, y.openAudit(a, s.Audit)
}

// arrange reads the rules of the whole gateway and of the profiles, and makes the limits.
func (a *app) arrange(s *settings.Settings, from string) (*arrangement, error) {
	now := &arrangement{settings: s, books: map[string]*rulebook{}, picks: map[string]*settings.Selection{}}
	for name := range s.Servers {
		now.picks[name] = s.Select(name)
	}
	if s.Limits != (settings.Limits{}) {
		now.person = limited(s.Limits, ratelimit.Options{Key: ratelimit.Caller})
	}
	now.limitServers()
	var err error
	if now.redacted, now.unlogged, err = redactions(s); err != nil {
		return nil, fmt.Errorf("%s: junction.%w", filename.Short(from), err)
	}
	if s.Policy != "" {
		book, err := a.rulebook(s.Policy)
		if err != nil {
			return nil, err
		}
		now.books[""] = book
	}
	for name, p := range s.Profiles {
		book := now.books[""]
		if p.Policy != "" {
			var err error
			if book, err = a.rulebook(policyFiles(s, name)...); err != nil {
				return nil, fmt.Errorf("profile %q: %w", name, err)
			}
		}
		if book != nil {
			now.books[name] = book
		}
	}
	return now, nil
}

// readPins reads which definitions are approved.
func (y *layers) readPins() error {
	approved, err := pins()
	if err == nil {
		y.pins.Store(approved)
	}
	return err
}

// book are the rules for a request; nil if there are none. Those of a profile that was removed since the request came to it let
// nothing through.
func (y *layers) book(ctx context.Context) *rulebook {
	now, profile := y.now.Load(), profileOf(ctx)
	if _, there := now.settings.Profiles[profile]; profile != "" && !there {
		return y.removed
	}
	return now.books[profile]
}

func (y *layers) close() error {
	if y.log == nil {
		return y.closeTraces()
	}
	err := y.log.Close() // which has the exporters get its last lines
	y.closeExporters()
	return errors.Join(err, y.closeTraces())
}

// A serverLayer is one that may be around a server: the function returns nil where nothing asks for it.
type serverLayer func(y *layers, now *arrangement, s layeredServer) mcp.Middleware

// A layeredServer is the server that a layer is made for.
type layeredServer struct {
	entry
	app      *app
	own      settings.Server
	picks    *settings.Selection
	upstream *gateway.Upstream
}

// serverLayers has them all. The first is the outermost.
var serverLayers = []serverLayer{
	longResults,    // outside all that withholds something, of which nothing is kept then
	guardedSecrets, // outside edits, whose fixed arguments may be secrets
	edited,
	serverLimit, // outside those of tools, always: calls that hold one and wait for the other would wait for ever
	toolLimits,
	(*layers).rules,
	redacted, // inside the rules, which decide about what is sent
	(*layers).review,
	func(y *layers, _ *arrangement, _ layeredServer) mcp.Middleware {
		if y.tracer == nil {
			return nil
		}
		return otelmcp.Client(y.traced())
	},
}

// around returns the layers around one server, and sets in u what is asked once the server was started for a request.
func (now *arrangement) around(y *layers, a *app, e entry, u *gateway.Upstream) (around []mcp.Middleware) {
	s := layeredServer{entry: e, app: a, own: now.settings.Of(e.name), picks: now.settings.Select(e.name), upstream: u}
	for _, layer := range serverLayers {
		if m := layer(y, now, s); m != nil {
			around = append(around, m)
		}
	}
	return around
}

func longResults(y *layers, _ *arrangement, s layeredServer) mcp.Middleware {
	if s.own.MaxResult == 0 {
		return nil
	}
	return results.Middleware(results.Options{Server: s.name, Max: s.own.MaxResult, Store: y.results})
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

func serverLimit(_ *layers, now *arrangement, s layeredServer) mcp.Middleware {
	if l, there := now.limits[limitOf{s.name, ""}]; there {
		return l.Around
	}
	return nil
}

func toolLimits(_ *layers, now *arrangement, s layeredServer) mcp.Middleware {
	var all []mcp.Middleware
	for tool := range s.own.Tools {
		if l, there := now.limits[limitOf{s.name, tool}]; there {
			all = append(all, l.Around)
		}
	}
	if all == nil {
		return nil
	}
	return func(next mcp.Handler) mcp.Handler { return mcp.Chain(next, all...) }
}

func redacted(_ *layers, now *arrangement, s layeredServer) mcp.Middleware {
	if o, some := now.redacted[s.name]; some {
		return redact.Middleware(o)
	}
	return nil
}

// rules has the rules decide about the requests to one server.
func (y *layers) rules(now *arrangement, e layeredServer) mcp.Middleware {
	if len(now.books) == 0 {
		return nil
	}
	command := e.command()
	return rules.Middleware(rules.Options{
		Policy: func(ctx context.Context) *policy.Policy {
			if book := y.book(ctx); book != nil {
				return book.Policy
			}
			return nil
		},
		Profile: profileOf,
		Server:  e.name, Origin: policy.OriginOf(command), Shadow: now.settings.Shadow,
		Trusted: func(ctx context.Context) bool {
			book := y.book(ctx)
			return book != nil && vouches(book.trusted, e.name, command, !e.ofProject())
		},
	})
}

// front is the gateway, or a profile of it, with what stands around all of it.
func (y *layers) front(g *gateway.Gateway, profile string) mcp.Handler {
	now := y.now.Load()
	p := now.settings.Profiles[profile]
	mode := cmp.Or(p.Tools, now.settings.Tools)
	if profile == "" {
		return y.surrounded(g, g, "", mode)
	}
	h := y.surrounded(g, g.Only(gateway.Selection{Servers: p.Servers, Keep: now.keeps(profile), Hide: now.hides(g, profile)}), profile, mode)
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		return h.Handle(context.WithValue(ctx, inProfile{}, profile), req)
	})
}

// ownFront is the front of one server, with all of its tools under its own names.
func (y *layers) ownFront(g *gateway.Gateway, server string) mcp.Handler {
	return g.Own(server, y.surrounded(g, g.Only(gateway.Selection{Servers: []string{server}}), "", string(search.All)))
}

// A frontLayer is one that may be around the gateway or a part of it: the function returns nil where nothing asks for it.
type frontLayer func(y *layers, now *arrangement, p part) mcp.Middleware

// A part is what a layer is made for: the gateway, a profile of it, or one server.
type part struct {
	gateway *gateway.Gateway
	profile string
	settings.Profile
	mode string // which tools are listed
}

// frontLayers has them all. The first is the outermost.
var frontLayers = []frontLayer{
	func(y *layers, _ *arrangement, p part) mcp.Middleware { // for the log and the limits a task is one call
		calls, _ := y.tasks.Split(p.profile)
		return calls
	},
	searched,
	func(y *layers, _ *arrangement, _ part) mcp.Middleware {
		if y.counts == nil {
			return nil
		}
		return y.counts.Around
	},
	func(y *layers, now *arrangement, p part) mcp.Middleware {
		if y.log == nil {
			return nil
		}
		return y.log.Calls(now.logged(p.gateway, p.profile))
	},
	func(_ *layers, now *arrangement, p part) mcp.Middleware {
		if !slices.ContainsFunc(slices.Collect(maps.Values(now.settings.Servers)), func(s settings.Server) bool { return s.Retries > 0 }) {
			return nil
		}
		return retry.Middleware(retry.Options{Times: func(req *mcp.Request) int { return now.retries(p.gateway, req) }})
	},
	func(_ *layers, now *arrangement, _ part) mcp.Middleware {
		if now.person == nil {
			return nil
		}
		return now.person.Around
	},
	func(y *layers, now *arrangement, _ part) mcp.Middleware {
		if !y.authorizes {
			return nil
		}
		return scoped(now.settings.Authorization)
	},
	func(y *layers, _ *arrangement, p part) mcp.Middleware { // requests about a task reach the log and the limits, too
		_, requests := y.tasks.Split(p.profile)
		return requests
	},
}

// surrounded returns h, the gateway or a part of it, with the layers around all of it; mode says which tools are listed.
func (y *layers) surrounded(g *gateway.Gateway, h mcp.Handler, profile, mode string) mcp.Handler {
	now := y.now.Load()
	p := part{gateway: g, profile: profile, Profile: now.settings.Profiles[profile], mode: mode}
	for _, layer := range slices.Backward(frontLayers) {
		if m := layer(y, now, p); m != nil {
			h = m(h)
		}
	}
	return h
}

// searched lists tools to search with in place of all.
func searched(y *layers, now *arrangement, p part) mcp.Middleware {
	if p.mode == string(search.All) {
		return nil
	}
	o := search.Options{Mode: search.Mode(p.mode), Pinned: append(slices.Clone(now.settings.Pin), p.Pin...)}
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

// hides says which tools the rules of a profile deny in any case: they are in no list, and the rules say to a call why.
func (now *arrangement) hides(g *gateway.Gateway, profile string) func(gateway.Entry) bool {
	book := now.books[profile]
	return func(e gateway.Entry) bool {
		t, listed := g.Tool(e.Exposed)
		return e.Kind == "tool" && book != nil && listed && !now.settings.Shadow && book.Policy.Hides(t.Server, t.Name, rules.Annotations(t.Definition))
	}
}

// denied is the error of a call of a tool that the rules of a profile deny in any case; nil for other tools.
func (now *arrangement) denied(g *gateway.Gateway, profile, exposed string) error {
	book := now.books[profile]
	server, tool := g.Destination(exposed)
	if book == nil || now.settings.Shadow || server == "" {
		return nil
	}
	in := policy.Input{Method: "tools/call", Server: server, Tool: tool, Profile: profile}
	if known, _, _ := g.Definitions(server); known != nil {
		for _, raw := range known.Tools {
			if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); name == tool {
				in.Annotations = rules.Annotations(raw)
			}
		}
	}
	return rules.Refusal(context.Background(), book.Policy, in, exposed)
}

// introduction says which layers there are, for people.
func (y *layers) introduction() string {
	text, now := "", y.now.Load()
	if s := now.settings; s.Policy != "" && s.Shadow {
		text = fmt.Sprintf("Rules of %s are tried, and nothing is refused.\n", filename.Short(s.Policy))
	} else if s.Policy != "" {
		text = fmt.Sprintf("Rules of %s decide which calls may run.\n", filename.Short(s.Policy))
	}
	if y.log != nil {
		text += fmt.Sprintf("Calls are written down in %s.\n", filename.Short(y.folder))
	}
	return text
}
