package layer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/approvals"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/metrics"
	"github.com/junction-mcp/junction/ratelimit"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
)

// A Layer is one kind of handling of requests between clients and servers. It has exactly one of
// the functions edge, front and server. That function returns nil if the settings do not need the
// layer. All other functions may be nil.
type Layer struct {
	Name string
	// read reads the settings of the layer into p. It returns an error if they are invalid.
	read func(s *Stack, p *Plan) error
	// keep moves state, such as counters, from the plan before to next.
	keep func(next, before *Plan)
	// open and close begin and end the state that lasts as long as the Stack.
	open  func(s *Stack) error
	close func(s *Stack) error

	edge   func(s *Stack) mcp.Middleware
	front  func(s *Stack, p *Plan, part Part) mcp.Middleware
	server func(s *Stack, p *Plan, of Server) mcp.Middleware
	// from returns the inputs of the function server other than the server's own settings.
	from func(p *Plan) any
}

// A Scope is the kind of handler that a layer wraps.
type Scope int

const (
	Edge    Scope = iota // wraps all messages of clients, also those that reach no Handler
	Front                // wraps the whole gateway, a profile, or one server as clients see it
	Servers              // wraps one server as the gateway sees it
)

// Scope returns the scope of the layer.
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
		{Name: "tasks", open: openTasks, close: closeTasks, front: callsAsTasks}, // a task counts as one call in the log and the limits
		{Name: "search", front: searchTools},
		{Name: "metrics", front: count},
		{Name: "audit", read: readAudit, keep: keepAudit, open: openAudit, close: closeAudit, front: logCalls},
		{Name: "retries", front: retryCalls},
		{Name: "limit of a user", read: readLimits, keep: keepLimits, front: limitUser},
		{Name: "scopes", front: checkScopes},
		{Name: "roles", read: readRoles, keep: keepSight, front: checkRoles},
		{Name: "requests about tasks", front: requestsAboutTasks}, // inside the log and the limits, which also see these requests
		{Name: "selection", read: readSelections, front: selectPart},

		{Name: "long results", server: cutResults}, // outside all layers that withhold results, so that withheld results are not kept
		{Name: "secrets", server: guardSecrets},    // outside edits, whose fixed arguments may be secrets
		{Name: "edits", server: editLists, from: func(p *Plan) any { return p.Settings.Names == "map" }},
		{Name: "approvals", read: readApprovals, open: openApprovals, close: closeApprovals, server: awaitApproval, from: func(p *Plan) any { return len(p.Books) > 0 }}, // outside the limits, as a waiting call must not hold a turn
		{Name: "limit of a server", server: limitServer}, // always outside the limits of tools: calls that hold one limit and wait for the other could wait for ever
		{Name: "limits of tools", server: limitTools},
		{Name: "rules", read: readRules, server: decide, from: func(p *Plan) any { return []bool{len(p.Books) > 0, p.Settings.Shadow} }},
		{Name: "redaction", read: readRedactions, server: hide}, // inside the rules, which decide about the arguments that the client sent
		{Name: "review", read: readPins, server: (*Stack).review},
		{Name: "metrics of servers", server: countServer},
		{Name: "traces of servers", server: serverSpans},
	}
}

// Options describe the environment of the layers. The zero value of each field is its default.
type Options struct {
	// Place holds the environment variables, and the folder that relative file names start from.
	// The default is the Place of the process; programs outside this module can use no other.
	// Junction's own files are in the folder that the variable JUNCTION_STATE names, or below the
	// user's configuration folder. They are pins.json with approved definitions, tasks.db and
	// audit.key. Each file is made when it is first needed.
	Place place.Place
	// Logger gets errors; the default is slog.Default().
	Logger *slog.Logger
	// Version is the version of the program. Collectors of traces and logs get it.
	Version string
	// Collector is the URL of a collector of traces. The default is the URL in the environment
	// variables of OpenTelemetry, if they name one.
	Collector string
	// Recorder, if not nil, records the requests of clients.
	Recorder *recording.Recorder
	// Authorizes is set if clients are authenticated. The scopes of their principals then limit
	// their requests.
	Authorizes bool
	// Authenticates is set if each client is authenticated, in any way. Settings with roles need
	// that.
	Authenticates bool
	// OpenState opens the file of tasks when the first task begins. If it is nil, tasks are kept in
	// memory.
	OpenState func(ctx context.Context, path string) (state.Store, error)
	// LoadPins reads the approved definitions; the default is the file pins.json.
	LoadPins func() (*guard.Pins, error)
	// Shares, if not nil, counts limits together with the other replicas of a gateway.
	Shares *ratelimit.Shares
	// Replicas, if not nil, lets callers decide at each replica about the calls that wait at any of
	// them. ReplicasSecret is the same at all replicas.
	Replicas       *replicas.Group
	ReplicasSecret []byte
	// Results keeps long results; by default they are kept in memory.
	Results *results.Store
	// Ignored, if not nil, is called with an error for each rule in a project's file that is
	// ignored because it does not tighten.
	Ignored func(error)
	// Secret, if not nil, returns the secret that a text of the settings refers to, such as
	// ${file:PATH}. Without it, the text is the secret itself.
	Secret func(ctx context.Context, text string) (string, error)
	// Team, if not nil, returns the URL of the page on which callers approve calls, or "".
	Team func() string
	// Reviewed, if not nil, is called with each change in the lists of a reviewed server. It must
	// be safe for concurrent use.
	Reviewed func(of Server, c review.Change)
}

// A Stack holds the state of the layers of one running gateway. Make it with [Open]. Its methods
// are safe for concurrent use.
type Stack struct {
	Options
	Opened *settings.Settings         // the settings at Open; must not be changed
	Pins   atomic.Pointer[guard.Pins] // approved definitions; nil without review
	Log    *audit.Log                 // nil if calls are not logged
	Folder string                     // the folder of Log
	Tasks  *tasks.Tasks               // the tasks of the gateway's clients; nil if there are none
	Desk   *approvals.Desk            // the calls that wait for approval

	plan      atomic.Pointer[Plan]
	counts    *metrics.Metrics // nil without metrics
	messages  *approvals.Messenger
	exporters []*export.Exporter
	tracer    *trace.TracerProvider  // nil if requests make no spans
	resource  telemetry              // description of this process
	results   *results.Store         // long results of all servers
	withheld  *prometheus.CounterVec // number of withheld definitions by server
}

// A Plan is the result of reading settings. It is immutable and safe for concurrent use.
type Plan struct {
	Settings *settings.Settings
	// Books holds the rules by profile. The key "" is the whole gateway. A profile without rules
	// has no entry.
	Books map[string]*rules.Book

	roles    *Roles // is nil without roles
	sight    *sight
	limits   map[limitOf]limit
	redacted map[string]redact.Options // by server; servers without redaction have no entry
	webhook  approvals.Webhook         // the zero value without one
	audit    *settings.Audit           // content of the log; nil means the default
	unlogged redact.Paths              // paths to hide in arguments and results in the audit log
	picks    map[string]*settings.Selection
}

// A Part is the whole gateway, one of its profiles, or one server with its tools under their own
// names.
type Part struct {
	Gateway *gateway.Gateway
	Profile string // empty if the part is not a profile
	Server  string // empty if the part is not one server

	settings settings.Profile
}

// A Server is a server that layers wrap.
type Server struct {
	Name string
	// Source is the file that defines the server, or empty.
	Source string
	// Command is the command line or URL of the server. Rules identify the server by it. It is nil
	// for a server in this program, whose definitions are not reviewed.
	Command []string
	// OfProject is set if a project's file defines the server. Rules that trust a server by name
	// then do not apply to it.
	OfProject bool
	// Locked, if not nil, returns the hashes of the definitions that a lock approves, as in
	// [review.Options]. It is called each time the layers are made.
	Locked func() map[string]string

	upstream *gateway.Upstream
	own      settings.Server
	picks    *settings.Selection
}

// Open makes the layers for the settings. The caller must not change s afterwards, and must close
// the Stack when its gateway is closed.
func Open(s *settings.Settings, o Options) (*Stack, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	stack := &Stack{Options: o, Opened: s, resource: newTelemetry(o.Place.Getenv, o.Version), results: cmp.Or(o.Results, results.NewStore(0)), withheld: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_withheld_definitions_total", Help: "Definitions that were found not to be approved."}, []string{"server"})}
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

// Check reads settings, and the files that they name, as [Open] does. It opens nothing.
func Check(s *settings.Settings, o Options) (*Plan, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return (&Stack{Options: o, Opened: s}).Read(s)
}

// Close closes the layers, the innermost first.
func (s *Stack) Close() (err error) {
	for _, l := range slices.Backward(All()) {
		if l.close != nil {
			err = errors.Join(err, l.close(s))
		}
	}
	return err
}

// Read makes a plan from settings, and reads the files that they name. The plan has no effect on
// requests until [Stack.Use].
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

// Use puts a plan into use. State of the plan before, such as the counts of limits, moves to next.
// No Stack may have used next before. Rules of the new plan apply at once. For all other changes,
// call [Stack.Front] and [Stack.Around] again, and then replaced. It ends the subscriptions of clients
// that may see other lists now. These clients read their lists again, from the new Handlers.
func (s *Stack) Use(next *Plan) (replaced func()) {
	before := s.plan.Load()
	if before != nil {
		for _, l := range All() {
			if l.keep != nil {
				l.keep(next, before)
			}
		}
	}
	s.plan.Store(next)
	if before == nil || before.sight == next.sight {
		return func() {}
	}
	return before.sight.end
}

// Plan returns the plan in use.
func (s *Stack) Plan() *Plan { return s.plan.Load() }

// Edge returns the layers around all messages of clients, the outermost first.
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

// Front returns a part of a gateway, wrapped in the layers for it.
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

// Around sets the layers around one server as the middleware of u.
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

// From returns the inputs of the layers around a server, other than the server itself. If they
// change, Around returns different layers.
func (p *Plan) From(server string) []any {
	from := []any{p.Settings.Of(server)}
	for _, l := range All() {
		if l.from != nil {
			from = append(from, l.from(p))
		}
	}
	return from
}
