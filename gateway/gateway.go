package gateway

import (
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
	maxMoves       = 10               // limits the members that a request is passed to in turn while they are replaced
	maxListed      = 10_000           // limits the entries of one list of one member
	maxListedBytes = 2 << 20          // limits the bytes of these entries
	maxOfferBytes  = 12 << 20         // limits the bytes of one list of all members, which is one message
	listTime       = 30 * time.Second // limits reading one list
	firstBackoff   = time.Second      // is the time before a lost member is connected again
	lastBackoff    = 5 * time.Minute
	firstListTime  = 10 * time.Second       // is how long lists wait for members without remembered definitions
	moment         = 250 * time.Millisecond // is the same if definitions of other members are remembered
)

// Options are optional; the zero value of each field means its default.
type Options struct {
	// NoPrefix offers tools and prompts under the names that the members give them. If two members
	// have the same name, that of the one added later gets a suffix. So does a name that models do
	// not accept.
	NoPrefix bool
	// Conflicts is the rule for a name that two members have; the default is [Suffix].
	Conflicts Conflicts
	// OneClient is set if all requests come from one client. Members are connected when its first
	// request has declared its capabilities; see [Start.Client].
	OneClient bool
	// FirstList is how long lists wait, after the last member was added, for members whose
	// definitions are not known yet; the default is 10 seconds. If definitions of other members are
	// remembered, it is at most 250 milliseconds. Clients get list_changed for later definitions.
	FirstList time.Duration
	// MaxStarts is how many programs start at the same time. The default is four for each processor
	// and at least eight, as far as memory is free.
	MaxStarts int
	// PublicErrors reduces errors for clients to [mcp.PublicError], without reasons of failures in
	// requests of others. It is for gateways whose clients are different users. [Status] and logs
	// have the whole error.
	PublicErrors bool
	// Name and Version are sent to clients; the default name is junction.
	Name, Version string
	// Logger gets errors of members; the default is slog.Default().
	Logger *slog.Logger
	// OnChange is called after the state or the offer of members changed, by one goroutine, and not
	// after Close. It must not call Close.
	OnChange func()
}

// A Gateway offers the tools, prompts and resources of its members. It is an [mcp.Handler]. All
// methods are safe for concurrent use.
type Gateway struct {
	options Options
	id      string // is random; see loop.go
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	starts  *startQueue
	running sync.WaitGroup
	first   firstClient

	reporting sync.Mutex
	reported  chan struct{} // is closed and replaced when the state or the offer of members changes

	mu      sync.RWMutex
	members []*member // are in the order in which they were added
	count   int       // counts all members that ever existed
	added   time.Time // when the last of them was added
	// remembers is set if the definitions of a member were remembered.
	remembers bool
	removed   bool          // is set after a member was removed
	offer     *offer        // the offer of all members; nil when it must be made again
	renewed   chan struct{} // is closed when the offer changes
	changes   *changes.Feed
	hearings  []*hearing // the receivers of log messages; see logs.go
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

// Route returns a gateway over Handlers by name, for use in a program. Its members are ready as
// soon as their lists are read.
func Route(members map[string]mcp.Handler) *Gateway {
	g := New(Options{})
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := g.AddHandler(name, members[name]); err != nil {
			panic(fmt.Sprintf("gateway: %v", err)) // for a name that is not valid
		}
	}
	return g
}

// Add adds a server. Its remembered definitions are offered at once, and Upstream decides when it
// is started. Add fails if the name or u is not valid.
func (g *Gateway) Add(name string, u Upstream) error {
	m, err := g.add(name, u, nil)
	if err != nil {
		return err
	}
	m.start(nil)
	return nil
}

// AddHandler adds a Handler in this process, with middleware like [Upstream.Middleware].
func (g *Gateway) AddHandler(name string, h mcp.Handler, around ...mcp.Middleware) error {
	return g.Add(name, Upstream{Handler: h, Middleware: around})
}

// add puts a member in the place of another, or at the end.
func (g *Gateway) add(name string, u Upstream, inPlaceOf *member) (*member, error) {
	if err := checkName(name); err != nil {
		return nil, err
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
	if m.asker = name; inPlaceOf != nil || g.removed {
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

// await waits until the definitions of all members are known, at most FirstList after the last was
// added. Clients get list_changed for later definitions. The error is that of ctx.
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

// Settle waits until the definitions of every member are known or its first attempt to connect
// failed. Remembered definitions count as known.
func (g *Gateway) Settle(ctx context.Context) error { return settle(ctx, g.all()) }

// all returns the present members. The slice is not changed later.
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

// Handle responds from the kept lists, or passes the request on to the member of its entry.
func (g *Gateway) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	g.meet(req)
	return g.routed(req, func() (mcp.Result, error) { return g.handle(ctx, req) })
}

func (g *Gateway) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	return g.dispatch(ctx, req, everyone, nil, func(k kind) (mcp.Result, error) { return g.list(ctx, req, k, everyone) })
}

// dispatch responds to a request from a part of the offer: the members for which has reports true,
// and the entries in offers. The function list returns the lists.
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

// routed returns the result of ask, which finds the member of a request. If the member was replaced
// or removed before it got the request, routed calls ask again with the present members.
func (g *Gateway) routed(req *mcp.Request, ask func() (mcp.Result, error)) (result mcp.Result, err error) {
	for range maxMoves {
		if result, err = ask(); !errors.Is(err, ErrRemoved) || req.Round > 0 {
			break
		}
	}
	return result, g.shown(err)
}

// shown returns an error in the form that clients may see.
func (g *Gateway) shown(err error) error {
	if err == nil || !g.options.PublicErrors {
		return err
	}
	return mcp.PublicError(err)
}

// route passes a call on to the member of the entry's name.
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

// stateAskers is the key under which a request keeps the member that asked the client in the round
// before. If that member is a gateway in this process, its own member follows.
const stateAskers = "gateway"

// askerMark follows the name of an asker if another member has, or may have, had the name before.
const askerMark = "\x00"

// takeAsker returns the member whose requests this round responds to, or an empty string in the
// first round. No other member may get the responses, nor the state that the member sent.
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
		_ = json.Unmarshal(kept, &askers) // else no member asked
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

// ask passes a request of a client on to the member, with the member's own name of the entry. If
// the member needs input, ask notes which member it is.
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

// changedOffer makes the next list read the members again, and notifies clients.
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

// report notes that the state or the offer of members changed.
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
