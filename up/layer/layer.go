package layer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/metrics"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/state"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
)

// A Layer is one thing that the gateway does with requests between clients and servers. Exactly one of its functions edge, front and
// server is set, each of which returns nil where nothing asks for the layer. Each other function may be nil.
type Layer struct {
	Name string
	// read reads the settings of the layer into p, and returns an error if they are not valid.
	read func(s *Stack, p *Plan) error
	// keep takes over state of the plan before, such as counters.
	keep func(next, before *Plan)
	// open and close begin and end what lasts as long as the Stack.
	open  func(s *Stack) error
	close func(s *Stack) error

	edge   func(s *Stack) mcp.Middleware
	front  func(s *Stack, p *Plan, part Part) mcp.Middleware
	server func(s *Stack, p *Plan, of Server) mcp.Middleware
	// from returns what server depends on, in addition to the server's own settings.
	from func(p *Plan) any
}

// A Scope is what a layer is around.
type Scope int

const (
	Edge    Scope = iota // what clients send, also what no Handler gets
	Front                // the whole gateway, a profile, or one server as clients see it
	Servers              // one server as the gateway sees it
)

// Scope returns what the layer is around.
func (l Layer) Scope() Scope {
	switch {
	case l.edge != nil:
		return Edge
	case l.front != nil:
		return Front
	}
	return Servers
}

// All returns all layers. The first is the outermost.
func All() []Layer {
	return []Layer{
		{Name: "traces", open: openTraces, close: closeTraces, edge: clientSpans},
		{Name: "recording", front: record},
		{Name: "profile", front: enterProfile},
		{Name: "tasks", open: openTasks, close: closeTasks, front: callsAsTasks}, // for the log and the limits a task is one call
		{Name: "search", front: searchTools},
		{Name: "metrics", front: count},
		{Name: "audit", read: readAudit, keep: keepAudit, open: openAudit, close: closeAudit, front: logCalls},
		{Name: "retries", front: retryCalls},
		{Name: "limit of a user", read: readLimits, keep: keepLimits, front: limitUser},
		{Name: "scopes", front: checkScopes},
		{Name: "requests about tasks", front: requestsAboutTasks}, // which reach the log and the limits, too
		{Name: "selection", read: readSelections, front: selectPart},

		{Name: "long results", server: cutResults}, // outside all that withholds something, of which nothing is kept then
		{Name: "secrets", server: guardSecrets},    // outside edits, whose fixed arguments may be secrets
		{Name: "edits", server: editLists, from: func(p *Plan) any { return p.Settings.Names == "map" }},
		{Name: "limit of a server", server: limitServer}, // outside those of tools, always: calls that hold one and wait for the other would wait for ever
		{Name: "limits of tools", server: limitTools},
		{Name: "rules", read: readRules, server: decide, from: func(p *Plan) any { return []bool{len(p.Books) > 0, p.Settings.Shadow} }},
		{Name: "redaction", read: readRedactions, server: hide}, // inside the rules, which decide about what is sent
		{Name: "review", read: readPins, server: (*Stack).review},
		{Name: "traces of servers", server: serverSpans},
	}
}

// Options are what the layers of a gateway need of their surroundings. The zero value of each field means its default.
type Options struct {
	// Place is the environment, and the folder, from which files are named; by default those of the process, which is all that programs
	// outside this module can have. Junction's own files are in the folder that the variable JUNCTION_STATE names, or below the user's
	// configuration: pins.json with approved definitions, tasks.db, audit.key. None is made before it is needed.
	Place place.Place
	// Logger gets what goes wrong; default slog.Default().
	Logger *slog.Logger
	// Version is the program's, for collectors of traces and logs.
	Version string
	// Collector is the URL of a collector of traces; by default that of the variables of OpenTelemetry, if they name one.
	Collector string
	// Recorder, if not nil, records what clients say.
	Recorder *recording.Recorder
	// Authorizes says that clients are authenticated, so that their principals' scopes decide what they may do.
	Authorizes bool
	// OpenState opens the file in which tasks are kept, when the first one is; by default they are kept in memory.
	OpenState func(ctx context.Context, path string) (state.Store, error)
	// Ignored, if not nil, is called with each rule of a project's file that is left out, as it does not tighten.
	Ignored func(error)
	// Reviewed, if not nil, is called with what changed in the lists of a server that is reviewed. It must be safe for concurrent use.
	Reviewed func(of Server, c review.Change)
}

// A Stack holds what the layers of one gateway keep while it runs. Make it with [Open]. Its methods are safe for concurrent use.
type Stack struct {
	Options
	Opened *settings.Settings         // those that it was opened with; not to be changed
	Pins   atomic.Pointer[guard.Pins] // the approved definitions; nil where nothing is reviewed
	Log    *audit.Log                 // nil: nothing is written down
	Folder string                     // of Log
	Tasks  *tasks.Tasks               // of the gateway's clients

	plan      atomic.Pointer[Plan]
	counts    *metrics.Metrics // nil: nothing is counted
	exporters []*export.Exporter
	tracer    *trace.TracerProvider  // nil: requests make no spans
	resource  telemetry              // of this process
	results   *results.Store         // long results of all servers
	withheld  *prometheus.CounterVec // definitions, by server
}

// A Plan is what the layers read from settings. It is not changed, and safe for concurrent use.
type Plan struct {
	Settings *settings.Settings
	// Books are the rules by profile; those of the whole gateway have the name "". What has no rules is missing.
	Books map[string]*rules.Book

	limits   map[limitOf]limit
	redacted map[string]redact.Options // by server; those of which nothing is hidden are missing
	audit    *settings.Audit           // what of calls is written down; nil: the default
	unlogged redact.Paths              // of arguments and results in the audit log
	picks    map[string]*settings.Selection
}

// A Part is the gateway, one of its profiles, or one server with its tools under its own names.
type Part struct {
	Gateway *gateway.Gateway
	Profile string // empty: not a profile
	Server  string // empty: not one server

	settings settings.Profile
}

// A Server is a server that layers are made for.
type Server struct {
	Name string
	// Source is the file that defines it; empty if none does.
	Source string
	// Command is its command line or URL, by which rules know it; nil for a server of this program, whose definitions are not reviewed.
	Command []string
	// OfProject says that a project's file defines it, so that rules which trust a name do not mean it.
	OfProject bool
	// Locked, if not nil, returns the hashes of the definitions that a lock approves, as [review.Options] has them. It is called each time
	// that the layers are made.
	Locked func() map[string]string

	upstream *gateway.Upstream
	own      settings.Server
	picks    *settings.Selection
}

// Open makes the layers that settings ask for, which are not changed afterwards. Close the Stack when its gateway is closed.
func Open(s *settings.Settings, o Options) (*Stack, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	stack := &Stack{Options: o, Opened: s, resource: newTelemetry(o.Place.Getenv, o.Version), results: results.NewStore(0), withheld: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_withheld_definitions_total", Help: "Definitions that were found not to be approved."}, []string{"server"})}
	p, err := stack.Read(s)
	if err != nil {
		return nil, err
	}
	stack.Use(p)
	for _, l := range All() {
		if l.open == nil {
			continue
		}
		if err := l.open(stack); err != nil {
			return nil, errors.Join(err, stack.Close())
		}
	}
	return stack, nil
}

// Close ends the layers, the innermost first.
func (s *Stack) Close() (err error) {
	for _, l := range slices.Backward(All()) {
		if l.close != nil {
			err = errors.Join(err, l.close(s))
		}
	}
	return err
}

// Read makes a plan of settings, and reads the files that they name. It changes nothing for requests until [Stack.Use].
func (s *Stack) Read(from *settings.Settings) (*Plan, error) {
	p := &Plan{Settings: from}
	for _, l := range All() {
		if l.read == nil {
			continue
		}
		if err := l.read(s, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Use replaces the plan. State of the plan before, such as what limits counted, goes on in next, which must not be used before. Rules
// decide by the new plan at once; [Stack.Front] and [Stack.Around] return what else follows from it.
func (s *Stack) Use(next *Plan) {
	if before := s.plan.Load(); before != nil {
		for _, l := range All() {
			if l.keep != nil {
				l.keep(next, before)
			}
		}
	}
	s.plan.Store(next)
}

// Plan returns the plan that is in use.
func (s *Stack) Plan() *Plan { return s.plan.Load() }

// Edge returns the layers around what clients send, the outermost first.
func (s *Stack) Edge() (around []mcp.Middleware) {
	for _, l := range All() {
		if l.edge == nil {
			continue
		}
		if m := l.edge(s); m != nil {
			around = append(around, m)
		}
	}
	return around
}

// Front returns a part of a gateway with the layers around all of it.
func (s *Stack) Front(part Part) mcp.Handler {
	p := s.plan.Load()
	part.settings = p.Settings.Profiles[part.Profile]
	h := mcp.Handler(part.Gateway)
	for _, l := range slices.Backward(All()) {
		if l.front == nil {
			continue
		}
		if m := l.front(s, p, part); m != nil {
			h = m(h)
		}
	}
	return h
}

// Around sets the layers around one server in u.
func (s *Stack) Around(of Server, u *gateway.Upstream) {
	p := s.plan.Load()
	of.upstream, of.own, of.picks = u, p.Settings.Of(of.Name), p.Settings.Select(of.Name)
	u.Middleware = nil
	for _, l := range All() {
		if l.server == nil {
			continue
		}
		if m := l.server(s, p, of); m != nil {
			u.Middleware = append(u.Middleware, m)
		}
	}
}

// From returns what the layers around a server are made from, in addition to the server itself. Where it changes, Around returns others.
func (p *Plan) From(server string) []any {
	from := []any{p.Settings.Of(server)}
	for _, l := range All() {
		if l.from != nil {
			from = append(from, l.from(p))
		}
	}
	return from
}
