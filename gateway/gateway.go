package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// Limits and times.
const (
	maxMembers     = 1_000
	maxMoves       = 10               // maximum number of members that one request is passed to in turn while they are replaced
	maxListed      = 10_000           // maximum entries of one list of one member
	maxListedBytes = 2 << 20          // maximum bytes of these entries
	maxOfferBytes  = 12 << 20         // maximum bytes of one list of all members, which is one message
	listTime       = 30 * time.Second // timeout of reading one list
	firstBackoff   = time.Second      // pause before the first reconnection to a lost member
	lastBackoff    = 5 * time.Minute
	firstListTime  = 10 * time.Second       // how long a list waits for members without remembered definitions
	moment         = 250 * time.Millisecond // the same limit if definitions of other members are remembered
)

// Options holds the settings of a Gateway. The zero value of each field is its default.
type Options struct {
	// NoPrefix offers tools and prompts under the names that the members give them. If two members
	// have the same name, the name of the member that was added later gets a suffix. A name that
	// models do not accept also gets a suffix.
	NoPrefix bool
	// Conflicts is the rule for a name that two members have; the default is [Suffix].
	Conflicts Conflicts
	// OneClient is set if all requests come from one client. The gateway then connects to members
	// only after that client's first request, which declares its capabilities; see [Start.Client].
	OneClient bool
	// FirstList is the maximum time that a list waits for members whose definitions are not known
	// yet. It counts from the addition of the last member; the default is 10 seconds. If
	// definitions of other members are remembered, a list waits for at most 250 milliseconds.
	// Clients get list_changed for definitions that become known later.
	FirstList time.Duration
	// MaxStarts is the maximum number of programs that start at the same time. The default is four
	// for each processor and at least eight, fewer if too little memory is free.
	MaxStarts int
	// RedactErrors reduces errors for clients to [mcp.RedactError], which hides failures in the
	// requests of other clients. It is meant for gateways whose clients belong to different users.
	// [Status] and logs contain the whole error.
	RedactErrors bool
	// Unanswered is the number of requests to a member in a row without a response, after which
	// further ones fail at once until the member answers a ping; the default is 5.
	Unanswered int
	// HealthPause is the time between two pings of a member; the default is one minute.
	HealthPause time.Duration
	// Name and Version are sent to clients; the default name is junction.
	Name, Version string
	// Logger gets errors of members; the default is slog.Default().
	Logger *slog.Logger
	// OnChange is called after the state or the offer of members changed. One goroutine makes all
	// calls, and none after Close. OnChange must not call Close.
	OnChange func()
}

// A Gateway offers the tools, prompts and resources of its members. It is an [mcp.Handler]. All
// methods are safe for concurrent use.
type Gateway struct {
	options Options
	id      string // random; see loop.go
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	starts  *startQueue
	running sync.WaitGroup
	first   firstClient

	reporting sync.Mutex
	reported  chan struct{} // closed and replaced when the state or the offer of members changes

	mu      sync.RWMutex
	members []*member // in the order in which they were added or SetOrder put them
	count   int       // counts all members ever added
	added   time.Time // when the last member was added
	// remembers is set if the definitions of any member were remembered.
	remembers    bool
	removed      bool          // set after a member was removed
	offer        *offer        // the offer of all members; nil when it must be made again
	renewed      chan struct{} // closed when the offer changes
	changes      *changes.Feed
	logListeners []*logListener // the receivers of log messages; see logs.go
}

// New returns a gateway without members. Close it when done.
func New(o Options) *Gateway {
	if o.Name == "" {
		o.Name = "junction"
	}
	if o.Version == "" {
		o.Version = "0.1.0"
	}
	if o.FirstList <= 0 {
		o.FirstList = firstListTime
	}
	o.Unanswered, o.HealthPause = cmp.Or(o.Unanswered, defaultUnanswered), cmp.Or(o.HealthPause, defaultHealthPause)
	if o.MaxStarts <= 0 {
		o.MaxStarts = process.Starts()
	}
	g := &Gateway{options: o, id: rand.Text(), log: o.Logger, changes: changes.NewFeed(), starts: &startQueue{free: o.MaxStarts, alone: o.MaxStarts == 1}, reported: make(chan struct{})}
	g.first.known, g.renewed = make(chan struct{}), make(chan struct{})
	if g.log == nil {
		g.log = slog.Default()
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	if o.OnChange != nil {
		changed := g.Changed()
		g.running.Go(func() { g.callOnChange(changed) })
	}
	return g
}

// Route returns a gateway over Handlers by name. It is meant for Handlers in the same program. Its
// members are ready as soon as their lists are read. Route panics if a name is not valid, or a
// Handler is nil.
func Route(members map[string]mcp.Handler) *Gateway {
	g := New(Options{})
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := g.AddHandler(name, members[name]); err != nil {
			panic(fmt.Sprintf("gateway: %v", err)) // a name is not valid, or a Handler is nil
		}
	}
	return g
}

// Add adds a server. Clients get its remembered definitions at once, and u decides when the server
// is started. Add fails if the name or u is not valid.
func (g *Gateway) Add(name string, u Upstream) error {
	m, err := g.add(name, u, nil)
	if err != nil {
		return err
	}
	m.start(nil)
	return nil
}

// AddHandler adds a Handler of this process, with middleware as in [Upstream.Middleware].
func (g *Gateway) AddHandler(name string, h mcp.Handler, around ...mcp.Middleware) error {
	return g.Add(name, Upstream{Handler: h, Middleware: around})
}

// add puts a new member in the place of inPlaceOf, or at the end if inPlaceOf is nil.
func (g *Gateway) add(name string, u Upstream, inPlaceOf *member) (*member, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if u.Dial == nil && u.Handler == nil {
		return nil, fmt.Errorf("server %q: it has neither Dial nor a Handler; set one of them", name)
	}
	if err := u.check(name); err != nil {
		return nil, err
	}
	m := newMember(g, name, u)
	if inPlaceOf != nil {
		m.follows(inPlaceOf)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch m.asker = name; {
	case u.Identity != "":
		m.asker += askerMark + u.Identity
	case inPlaceOf != nil || g.removed:
		m.asker += askerMark + rand.Text()
	}
	others := slices.DeleteFunc(slices.Clone(g.members), func(m *member) bool { return m == inPlaceOf })
	if slices.ContainsFunc(others, func(m *member) bool { return m.name == name }) {
		return nil, fmt.Errorf("server %q: there is one of this name already", name)
	}
	if len(others) >= maxMembers {
		return nil, fmt.Errorf("server %q: there are %d servers already; at most %d are possible", name, len(others), maxMembers)
	}
	m.setPrefix(g.prefixOf(name, &u, others))
	at := slices.Index(g.members, inPlaceOf)
	if at < 0 {
		at = len(others)
		g.count++
		m.index = g.count
	} else {
		m.index = inPlaceOf.index
	}
	g.members, g.added = slices.Insert(others, at, m), time.Now() // makes a new array, as readers keep theirs
	g.remembers = g.remembers || m.known != nil
	g.starts.again(g.remembers)
	g.setPrefixes()
	g.offer = nil
	return m, nil
}

// await waits until the definitions of all members are known, at most until FirstList after the
// last member was added. It returns an error only if ctx is done.
func (g *Gateway) await(ctx context.Context) error { return g.awaitOf(ctx, g.all()) }

// awaitOf is like [Gateway.await] for some of the members.
func (g *Gateway) awaitOf(ctx context.Context, members []*member) error {
	g.mu.RLock()
	limit := g.options.FirstList
	if g.remembers {
		limit = min(limit, moment)
	}
	until := g.added.Add(limit)
	g.mu.RUnlock()
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	_ = settle(wait, members)
	return context.Cause(ctx)
}

// Settle waits until, for each member, the definitions are known or the first attempt to connect
// has failed. Remembered definitions count as known.
func (g *Gateway) Settle(ctx context.Context) error { return settle(ctx, g.all()) }

// all returns the present members. The slice never changes.
func (g *Gateway) all() []*member {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.members
}

func settle(ctx context.Context, members []*member) error {
	for _, m := range members {
		if m.isSettled() {
			continue
		}
		select {
		case <-m.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close ends the connections to all members, and waits for all their goroutines. Requests that are
// running fail.
func (g *Gateway) Close() error {
	g.cancel()
	g.running.Wait()
	return nil
}

// Handle responds from the kept lists, or passes the request on to the member that it is for.
func (g *Gateway) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	g.noteClient(req)
	return g.routed(req, func() (mcp.Result, error) { return g.handle(ctx, req) })
}

func (g *Gateway) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	return g.dispatch(ctx, req, everyone, nil, func(k kind) (mcp.Result, error) { return g.list(ctx, req, k, everyone) })
}

// dispatch responds to a request from a part of the offer. The part consists of the members for
// which has reports true and the entries in offers. The function list returns its lists.
func (g *Gateway) dispatch(ctx context.Context, req *mcp.Request, has func(*member) bool, offers *choice, list func(kind) (mcp.Result, error)) (mcp.Result, error) {
	if k, listed := listedBy(req.Method); listed {
		return list(k)
	}
	if k, used := usedBy(req.Method); used {
		return g.route(ctx, req, k, offers)
	}
	switch req.Method {
	case "resources/read":
		return g.read(ctx, req, offers)
	case "completion/complete":
		return g.complete(ctx, req, offers)
	case skills.MethodGet:
		return g.getSkill(ctx, req, offers)
	case skills.MethodDirectory:
		return g.readDirectory(ctx, req, offers)
	case "subscriptions/listen":
		return g.listen(ctx, req, has, func(ctx context.Context, l *changes.Listener, req *mcp.Request, uris []string) {
			if offers != nil {
				offers = &choice{of: offers.of} // as a subscription outlasts the request that uses an entry
			}
			g.watch(ctx, l, req, uris, offers)
		})
	case "server/discover":
		return g.discover(has)
	}
	return mcp.Result{}, unknownMethod(req)
}

func unknownMethod(req *mcp.Request) error {
	return mcp.Errorf(mcp.CodeMethodNotFound, "unknown method %q", req.Method)
}

// routed returns the result of ask, which finds the member for a request. If the member was
// replaced or removed before it got the request, routed calls ask again.
func (g *Gateway) routed(req *mcp.Request, ask func() (mcp.Result, error)) (result mcp.Result, err error) {
	for range maxMoves {
		if result, err = ask(); !errors.Is(err, ErrRemoved) || req.Round > 0 {
			break
		}
	}
	return result, g.shown(err)
}

// shown returns an error in the form for clients.
func (g *Gateway) shown(err error) error {
	if err == nil || !g.options.RedactErrors {
		return err
	}
	return mcp.RedactError(err)
}

// route passes a request on to the member that has the named tool or prompt.
func (g *Gateway) route(ctx context.Context, req *mcp.Request, k kind, offers *choice) (mcp.Result, error) {
	m, name, err := g.find(ctx, k, req.Name)
	if err != nil {
		return mcp.Result{}, err
	}
	if m == nil || !offers.has(k, req.Name, m, name) {
		return mcp.Result{}, g.current().unknown(k, req.Name, offers)
	}
	if k.bit == toolKind.bit {
		if err := g.current().validateHeaders(req); err != nil {
			return mcp.Result{}, err
		}
	}
	if err := m.takesRound(req); err != nil {
		return mcp.Result{}, err
	}
	result, err := m.ask(ctx, req, req.Renamed(name))
	if err != nil || !m.shares.Load() {
		return result, err
	}
	return g.current().translated(m, req.Method, result, nil)
}

// stateAskers is the key of the request state for the member that asked the client in the previous
// round. If that member is a gateway in this process, its own member follows in the list.
const stateAskers = "gateway"

// askerMark is appended to the name of an asker, before its Identity, or before a random text if
// another member has, or may have, had the same name before.
const askerMark = "\x00"

// takeAsker removes and returns the member that asked in the previous round, or an empty string in
// the first round. No other member may get the client's responses or the state that the member
// sent.
func takeAsker(req *mcp.Request) string {
	askers := askersOf(req)
	if len(askers) == 0 {
		return ""
	}
	setAskers(req, askers[1:])
	return askers[0]
}

func askersOf(req *mcp.Request) (askers []string) {
	if kept := req.State.Get(stateAskers); len(kept) > 0 {
		_ = json.Unmarshal(kept, &askers) // on an error, no member asked
	}
	return askers
}

func setAskers(req *mcp.Request, askers []string) {
	var encoded json.RawMessage
	if len(askers) > 0 {
		encoded, _ = json.Marshal(askers) // encoding strings never fails
	}
	req.State.Set(stateAskers, encoded)
}

// ask passes a request of a client on to the member. In renamed, the entry has the member's own
// name. If the member needs input, ask records the member in the state.
func (m *member) ask(ctx context.Context, req, renamed *mcp.Request) (mcp.Result, error) {
	m.calls.begin()
	m.users.note(req)
	defer m.changeEra(0)
	defer m.calls.end()
	result, err := m.around.Load().chain.Handle(ctx, renamed)
	if req.Method == "tools/call" && !m.called.Load() {
		m.called.Store(true)
	}
	if errors.Is(err, mcp.ErrInputRequired) {
		setAskers(req, append([]string{m.asker}, askersOf(req)...))
	}
	return result, err
}

// changedOffer discards the offer, so that the next request makes it again, and notifies clients.
func (g *Gateway) changedOffer(kinds kinds) {
	g.mu.Lock()
	g.offer = nil
	close(g.renewed)
	g.renewed = make(chan struct{})
	g.mu.Unlock()
	for i, list := range revision.Changes() {
		if kinds&(1<<i) != 0 {
			g.changes.Add(changes.Change{Method: list.Notification})
		}
	}
	g.report()
}

// report signals that the state or the offer of members changed.
func (g *Gateway) report() {
	g.reporting.Lock()
	defer g.reporting.Unlock()
	close(g.reported)
	g.reported = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of the state or the offer of servers.
func (g *Gateway) Changed() <-chan struct{} {
	g.reporting.Lock()
	defer g.reporting.Unlock()
	return g.reported
}

// callOnChange calls OnChange until the gateway is closed.
func (g *Gateway) callOnChange(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
			changed = g.Changed()
			g.options.OnChange()
		case <-g.ctx.Done():
			return
		}
	}
}
