package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/retry"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/metrics"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/ratelimit"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/sdk/trace"
)

// A layering says what stands around the gateway and its servers: Handlers around Handlers.
type layering struct {
	tools  string   // all, search or auto
	pinned []string // patterns of tools that are listed in any case
	policy string   // a file of rules
	shadow bool     // rules only write down what they would have decided
	review string   // none, changes or all: which definitions are withheld until they are approved
	audit  string   // a folder; default: the usual one
	sync   string   // second or call: when the audit log is on the disk
	goOn   bool     // where the audit log cannot be written
	export []string // where its lines are sent to, too
	keep   string   // bytes of the audit log; empty: the usual ones
	// keepFor is how old files of the audit log become; 0: age does not count.
	keepFor time.Duration
	otlp    string // a collector of traces; empty: as the environment says
}

// When the audit log is on the disk.
const (
	syncSecond = "second"
	syncCall   = "call"
)

// reviewNone offers tools whatever their definitions are.
const reviewNone = "none"

// usualFolder is what --audit alone means.
const usualFolder = "default"

func (o *layering) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.tools, "tools", string(search.Auto), "offer tools by `all|search|auto`: all of them; search_tools, describe_tool and call_tool in their place; or these where the definitions of all cost more than 10,000 tokens")
	flags.StringSliceVar(&o.pinned, "pin", nil, "with --tools search or auto: list the tools whose names match this `PATTERN` in any case, such as files__*")
	flags.StringVar(&o.policy, "policy", "", "have the rules of `FILE` decide which calls may run; what they ask about, the client's user is asked")
	flags.BoolVar(&o.shadow, "shadow", false, "with --policy: let every call run; what the rules would have decided is written down with --audit, and else nowhere")
	flags.StringVar(&o.review, "review", reviewNone, "withhold `none|changes|all`: tools and prompts whose definitions changed since they were first seen or approved, or are added and look harmful (changes), or all that nobody approved; junction approve shows and approves them")
	flags.StringVar(&o.audit, "audit", "", "write down every call before its result leaves, in `FOLDER` (default with --audit alone: junction/audit in your configuration folder)")
	flags.Lookup("audit").NoOptDefVal = usualFolder
	flags.StringVar(&o.sync, "audit-sync", syncSecond, "with --audit: wait for the disk each `second|call`: each second, so that the last one is lost if the machine fails, but never if Junction does; or with every call, which takes three times as much")
	flags.StringVar(&o.keep, "audit-keep", "", "with --audit: remove the oldest files where all have more than `SIZE`, such as 500MB (default 1 GiB)")
	flags.DurationVar(&o.keepFor, "audit-keep-for", 0, "with --audit: remove files whose last call was this `DURATION` ago, such as 2160h (default: never)")
	flags.StringSliceVar(&o.export, "audit-export", nil, "with --audit: send its lines to this `URL`, too: https://HOST/v1/logs (OTLP), syslog+tcp://HOST:PORT, syslog+udp://HOST:PORT or syslog+unix:///dev/log")
	flags.StringVar(&o.otlp, "otlp", "", "send traces to the collector of OpenTelemetry at `URL`, such as http://localhost:4318")
	flags.BoolVar(&o.goOn, "audit-optional", false, "with --audit: answer calls that cannot be written down, such as on a full disk, in place of refusing them")
}

// check says what is wrong with the flags. A setting that goes with another that there is not, such as pin where all
// tools are listed, is without effect: a profile may use it, or a flag set it aside.
func (o *layering) check(given func(flag string) bool) error {
	switch {
	case !slices.Contains([]string{string(search.All), string(search.Search), string(search.Auto)}, o.tools):
		return usagef("--tools: expected all, search or auto, got %q", o.tools)
	case given("pin") && given("tools") && o.tools == string(search.All):
		return usagef("--pin goes with --tools search or --tools auto: all tools are listed")
	case !slices.Contains([]string{reviewNone, string(review.Changes), string(review.All)}, o.review):
		return usagef("--review: expected none, changes or all, got %q", o.review)
	case given("shadow") && o.shadow && o.policy == "":
		return usagef("--shadow goes with --policy FILE, the rules that it tries")
	case (o.keep != "" || o.keepFor != 0) && o.audit == "":
		return usagef("--audit-keep and --audit-keep-for go with --audit")
	case o.keepFor != 0 && o.keepFor < time.Minute:
		return usagef("--audit-keep-for: expected at least 1m, got %v", o.keepFor)
	case len(o.export) > 0 && o.audit == "":
		return usagef("--audit-export goes with --audit")
	case o.goOn && o.audit == "":
		return usagef("--audit-optional goes with --audit")
	case o.sync != syncCall && o.sync != syncSecond:
		return usagef("--audit-sync: expected call or second, got %q", o.sync)
	case o.sync != syncSecond && o.audit == "":
		return usagef("--audit-sync goes with --audit")
	}
	if _, ok := settings.Size(o.keep); o.keep != "" && !ok {
		return usagef("--audit-keep: expected a number of KB, MB or GB, such as 500MB, got %q", o.keep)
	}
	for _, pattern := range o.pinned {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return usagef("--pin: %q is no pattern: %v", pattern, err)
		}
	}
	return nil
}

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

	removed    *rulebook // of profiles that there are not any more
	logger     *slog.Logger
	authorizes bool // callers have principals, with scopes
}

// An arrangement is what may change while a gateway runs; it is not changed itself.
type arrangement struct {
	options  layering
	settings *settings.Settings
	books    map[string]*rulebook      // by profile, "" is the whole gateway; those without rules have none
	person   *ratelimit.Limiter        // of each principal or client; nil: there is no limit
	limits   map[limitOf]countedLimits // of servers and tools
	redacted map[string]redact.Options // by server; those of which nothing is hidden have none
	unlogged redact.Paths              // of arguments and results in the audit log

	picks map[string]*settings.Selection // what each server with settings offers
}

// openLayers makes the layers that command line and settings ask for. Close the log when done.
func (a *app) openLayers(o layering, s *settings.Settings, from string) (*layers, error) {
	now, err := a.arrange(o, s, from)
	if err != nil {
		return nil, err
	}
	y := &layers{results: results.NewStore(0), removed: new(rulebook), logger: a.logger()}
	if y.removed.Policy, err = policy.Compile([]policy.Rule{{Effect: policy.Deny, Reason: "the profile was removed"}}, policy.Options{}); err != nil {
		return nil, err
	}
	if y.tasks, err = a.newTasks(); err != nil {
		return nil, err
	}
	y.now.Store(now)
	if o.review != reviewNone {
		if err := y.readPins(); err != nil {
			return nil, err
		}
	}
	if err := y.openTraces(a, o.otlp); err != nil {
		return nil, err
	}
	if o.audit == "" {
		return y, nil
	}
	return y, y.openAudit(a, o, s.Audit)
}

// arrange reads the rules of the whole gateway and of the profiles, and makes the limits.
func (a *app) arrange(o layering, s *settings.Settings, from string) (*arrangement, error) {
	now := &arrangement{options: o, settings: s, books: map[string]*rulebook{}, picks: map[string]*settings.Selection{}}
	for name := range s.Servers {
		now.picks[name] = s.Select(name)
	}
	if s.Limits != (settings.Limits{}) {
		now.person = limited(s.Limits, ratelimit.Options{Key: ratelimit.Caller})
	}
	now.limitServers()
	var err error
	if now.redacted, now.unlogged, err = redactions(s); err != nil {
		return nil, fmt.Errorf("%s: junction.%w", shortened(from), err)
	}
	if o.policy != "" {
		book, err := a.rulebook(o.policy)
		if err != nil {
			return nil, err
		}
		now.books[""] = book
	}
	for name, p := range s.Profiles {
		book := now.books[""]
		if p.Policy != "" {
			var err error
			if book, err = a.rulebook(policyFiles(o.policy, s, from, name)...); err != nil {
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

// around has what stands around one server be in u, and what is asked once the server was started for a request. Nothing is where
// nothing is asked for.
func (y *layers) around(a *app, e entry, u *gateway.Upstream) {
	now := y.now.Load()
	around := now.edits(e.name, y.results)
	if len(now.books) > 0 {
		around = append(around, y.rules(now, e))
	}
	if o, some := now.redacted[e.name]; some { // inside the rules, which decide about what is sent
		around = append(around, redact.Middleware(o))
	}
	if now.options.review != reviewNone && e.definition != nil { // next to the server: junction approve knows its own definitions
		around = append(around, y.review(a, e, u))
	}
	if y.tracer != nil {
		around = append(around, otelmcp.Client(y.traced()))
	}
	u.Middleware = around
}

// rules has the rules decide about the requests to one server.
func (y *layers) rules(now *arrangement, e entry) mcp.Middleware {
	command := e.command()
	o := rules.Options{
		Policy: func(ctx context.Context) *policy.Policy {
			if book := y.book(ctx); book != nil {
				return book.Policy
			}
			return nil
		},
		Profile: profileOf,
		Server:  e.name, Origin: policy.OriginOf(command), Shadow: now.options.shadow,
		Trusted: func(ctx context.Context) bool {
			book := y.book(ctx)
			return book != nil && vouches(book.trusted, e.name, command, !e.ofProject())
		},
	}
	if y.log != nil {
		o.OnDecision = func(ctx context.Context, _ *mcp.Request, d *policy.Decision, effect policy.Effect) {
			reason := d.Reason
			if now.options.shadow {
				reason = "in the shadow: " + reason
			}
			audit.Decided(ctx, string(effect), d.Rule.String(), reason)
		}
	}
	return rules.Middleware(o)
}

// front is the gateway, or a profile of it, with what stands around all of it.
func (y *layers) front(g *gateway.Gateway, profile string) mcp.Handler {
	now := y.now.Load()
	var h mcp.Handler = g
	p := now.settings.Profiles[profile]
	if profile != "" {
		h = g.Only(gateway.Selection{Servers: p.Servers, Keep: now.keeps(profile), Hide: now.hides(g, profile)})
	}
	if y.authorizes {
		h = scoped(now.settings.Authorization)(h)
	}
	if now.person != nil {
		h = now.person.Around(h)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(now.settings.Servers)), func(s settings.Server) bool { return s.Retries > 0 }) {
		h = retry.Middleware(retry.Options{Times: func(req *mcp.Request) int { return now.retries(g, req) }})(h)
	}
	if y.log != nil {
		h = y.log.Calls(now.logged(g, profile))(h)
	}
	if y.counts != nil {
		h = y.counts.Around(h)
	}
	if mode := cmp.Or(p.Tools, now.options.tools); mode != string(search.All) {
		h = y.perScopes(now.settings.Authorization, search.Middleware(search.Options{Mode: search.Mode(mode), Pinned: append(slices.Clone(now.options.pinned), p.Pin...), Server: func(tool string) (name, about, own string) {
			t, _ := g.Tool(tool)
			return t.Server, "", t.Name
		}, Unavailable: func(tool string) error {
			server, err := g.Unavailable(tool)
			if len(p.Servers) > 0 && !slices.Contains(p.Servers, server) {
				return nil
			}
			return err
		}}))(h)
	}
	h = y.tasks.Part(profile)(h) // around the log and the limits: for them a task is one call
	if h = y.spans(h); profile == "" {
		return h
	}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		return h.Handle(context.WithValue(ctx, inProfile{}, profile), req)
	})
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
		return e.Kind == "tool" && book != nil && listed && !now.options.shadow && book.Policy.Hides(t.Server, t.Name, rules.Annotations(t.Definition))
	}
}

// introduction says which layers there are, for people.
func (y *layers) introduction() string {
	text, now := "", y.now.Load()
	if o := now.options; o.policy != "" && o.shadow {
		text = fmt.Sprintf("Rules of %s are tried, and nothing is refused.\n", shortened(o.policy))
	} else if o.policy != "" {
		text = fmt.Sprintf("Rules of %s decide which calls may run.\n", shortened(o.policy))
	}
	if y.log != nil {
		text += fmt.Sprintf("Calls are written down in %s.\n", shortened(y.folder))
	}
	return text
}
