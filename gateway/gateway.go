package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// Limits and times.
const (
	maxMembers   = 1_000
	maxListed    = 10_000           // entries of one list of one member
	listTime     = 30 * time.Second // how long reading one list may take
	firstBackoff = time.Second      // before a lost member is connected again
	lastBackoff  = time.Minute
	firstAnswer  = 10 * time.Second // how long the first list waits for members to connect
)

// Options are optional; the zero value of each field means its default.
type Options struct {
	// NoPrefix offers tools and prompts under the names that the members give
	// them. A member with a name that another has already is not connected.
	NoPrefix bool
	// Transparent is for a gateway that only keeps one member connected: it
	// introduces that member, with its instructions, in place of itself.
	Transparent bool
	// Name and Version introduce the gateway to clients; default junction.
	Name, Version string
	// Logger is told what goes wrong with members; default slog.Default().
	Logger *slog.Logger
	// OnChange is called after the state or the offer of a member changed, by one
	// goroutine at a time. It must not call Close.
	OnChange func()
}

// A Gateway offers what its members offer. It is an [mcp.Handler]; all methods
// are safe for concurrent use.
type Gateway struct {
	options Options
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	changed sync.Mutex // serializes OnChange

	mu      sync.RWMutex
	members []*member // in the order in which they were added
	offer   *offer    // what all offer together; nil when it must be made again
	news    news
}

// New returns a gateway without members. Close it when done.
func New(o Options) *Gateway {
	if o.Name == "" {
		o.Name = "junction"
	}
	if o.Version == "" {
		o.Version = "0.1.0"
	}
	g := &Gateway{options: o, log: o.Logger}
	if g.log == nil {
		g.log = slog.Default()
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Route returns a gateway over Handlers by name, for use in a program. Its
// members are ready as soon as their lists are read.
func Route(members map[string]mcp.Handler) *Gateway {
	g := New(Options{})
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := g.AddHandler(name, members[name]); err != nil {
			panic(fmt.Sprintf("gateway: %v", err)) // a name that no server may have
		}
	}
	return g
}

// Add adds a server. dial connects to it; it is called now, in the background,
// and again whenever the connection was lost, with growing pauses. The error
// says what is wrong with the name.
func (g *Gateway) Add(name string, dial func(ctx context.Context) (*mcp.Client, error)) error {
	m, err := g.add(name)
	if err != nil {
		return err
	}
	g.running.Go(func() { m.keepConnected(g.ctx, dial) })
	return nil
}

// AddHandler adds a Handler in this process.
func (g *Gateway) AddHandler(name string, h mcp.Handler) error {
	m, err := g.add(name)
	if err != nil {
		return err
	}
	g.running.Go(func() {
		if err := m.serve(g.ctx, h, nil); g.ctx.Err() == nil {
			m.failed(err)
		}
	})
	return nil
}

func (g *Gateway) add(name string) (*member, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.ContainsFunc(g.members, func(m *member) bool { return m.name == name }) {
		return nil, fmt.Errorf("server %q: there is one of this name already", name)
	}
	if len(g.members) >= maxMembers {
		return nil, fmt.Errorf("server %q: there are %d already, which is the most", name, maxMembers)
	}
	m := &member{gateway: g, name: name, prefix: prefix(name), settled: make(chan struct{})}
	if g.options.NoPrefix {
		m.prefix = ""
	}
	g.members = append(g.members, m)
	g.offer = nil
	return m, nil
}

// await is Settle for a client, who gets what there is when its patience, that
// for a first answer, ends: the rest comes with the news. The error is ctx's.
func (g *Gateway) await(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	_ = g.Settle(wait)
	return context.Cause(ctx)
}

// Settle waits until every member was connected, or failed to connect, once.
func (g *Gateway) Settle(ctx context.Context) error {
	g.mu.RLock()
	members := slices.Clone(g.members)
	g.mu.RUnlock()
	for _, m := range members {
		select {
		case <-m.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close ends the connections to all members and waits for everything that
// belongs to them. Requests that are running fail.
func (g *Gateway) Close() error {
	g.cancel()
	g.running.Wait()
	return nil
}

// Handle answers from what is kept ready, or passes the request on to the
// member that it is about.
func (g *Gateway) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case "tools/call":
		return g.route(ctx, req, toolKind)
	case "prompts/get":
		return g.route(ctx, req, promptKind)
	case "resources/read":
		return g.read(ctx, req)
	case "completion/complete":
		return g.complete(ctx, req)
	case "tools/list":
		return g.list(ctx, req, toolKind)
	case "prompts/list":
		return g.list(ctx, req, promptKind)
	case "resources/list":
		return g.list(ctx, req, resourceKind)
	case "resources/templates/list":
		return g.list(ctx, req, templateKind)
	case "subscriptions/listen":
		return g.listen(ctx, req)
	case "server/discover":
		return g.discover(ctx)
	}
	return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "unknown method %q", req.Method)
}

// route passes a call on to the member whose name its name begins with.
func (g *Gateway) route(ctx context.Context, req *mcp.Request, k kind) (mcp.Result, error) {
	m, name, err := g.find(ctx, k, req.Name)
	if err != nil {
		return mcp.Result{}, err
	}
	if m == nil {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "unknown %s %q; %s names those that exist", k.noun, req.Name, k.method)
	}
	if k.bit == tools {
		if err := g.current().checkMirrors(req); err != nil {
			return mcp.Result{}, err
		}
	}
	return m.handle(ctx, req.Renamed(name))
}

// read passes resources/read on to the member that offers the URI. Where none
// lists it and no template matches, those that have resources are asked in turn.
func (g *Gateway) read(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	owners, sure := g.current().owners(req.Name)
	if !sure {
		if err := g.await(ctx); err != nil {
			return mcp.Result{}, err
		}
		owners, _ = g.current().owners(req.Name)
	}
	var last error
	for _, m := range owners {
		result, err := m.handle(ctx, req)
		if err == nil || !isNotFound(err) {
			return result, err
		}
		last = err
	}
	if last == nil {
		e := mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s", req.Name)
		e.Data, _ = json.Marshal(map[string]string{"uri": req.Name})
		last = e
	}
	return mcp.Result{}, last
}

// changedOffer makes the next list read the members anew, and tells the news.
func (g *Gateway) changedOffer(kinds kinds) {
	g.mu.Lock()
	g.offer = nil
	g.mu.Unlock()
	g.news.changed(kinds)
	g.tell()
}

// tell calls OnChange.
func (g *Gateway) tell() {
	if g.options.OnChange == nil {
		return
	}
	g.changed.Lock()
	defer g.changed.Unlock()
	g.options.OnChange()
}
