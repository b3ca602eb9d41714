package up

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/prometheus/client_golang/prometheus"
)

// Options holds the settings of a Gateway that are not in its Plan. The zero value of each field is
// its default.
type Options struct {
	Layers layer.Options
	// Gateway holds the options of the inner gateway. New replaces NoPrefix and Conflicts by the
	// settings.
	Gateway gateway.Options
	// Metrics, if not nil, gets the metrics of the layers. The caller must not have registered them
	// with it before.
	Metrics prometheus.Registerer
	// Owners, if not nil, decides which replica runs an instance of a server, if the settings want it
	// to run at one only; see [settings.Settings.OwnedByOne].
	Owners gateway.Owners
}

// A Gateway serves a [Plan]. It is an [mcp.Handler], and its methods are safe for concurrent use.
// Make it with [New].
type Gateway struct {
	members *gateway.Gateway
	layers  *layer.Stack
	owners  gateway.Owners
	now     atomic.Pointer[served]
	started atomic.Bool // changed only while mu is held

	applying sync.Mutex // held by Apply, also while Admit asks a user
	mu       sync.Mutex
	prints   map[string]print // prints of the servers that were added
}

// A served holds the handlers for one plan.
type served struct {
	plan              *Plan
	whole             mcp.Handler
	profiles, servers map[string]mcp.Handler
}

// A print identifies the inputs that a server was made from.
type print struct {
	server  string // changes if the server must be replaced
	handler any    // changes if the server must be replaced
	around  string // changes if the layers around it must be replaced
}

// New returns a Gateway for a plan. [Gateway.Start] adds the servers. The audit log, the tasks and
// the traces keep these settings until the Gateway is closed. The error names invalid settings.
func New(p *Plan, o Options) (*Gateway, error) {
	layers, err := layer.Open(p.settings(), o.Layers)
	if err != nil {
		return nil, err
	}
	o.Gateway.NoPrefix, o.Gateway.Conflicts = naming(p.settings())
	g := &Gateway{members: gateway.New(o.Gateway), layers: layers, owners: o.Owners, prints: map[string]print{}}
	if o.Metrics != nil {
		if err := layers.Count(o.Metrics, g.members); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	g.serve(p)
	return g, nil
}

// Close ends the tasks, closes the connections to servers, and closes the layers, which write their
// last data. Running requests fail.
func (g *Gateway) Close() error {
	if t := g.layers.Tasks; t != nil {
		_ = t.Close() // while the servers can still be reached
	}
	return errors.Join(g.members.Close(), g.layers.Close())
}

// Members returns the inner gateway, without the layers around the whole gateway. It gives access
// to the status and the definitions of servers.
func (g *Gateway) Members() *gateway.Gateway { return g.members }

// Layers returns the layers.
func (g *Gateway) Layers() *layer.Stack { return g.layers }

// Handle passes a request to the whole gateway, with all layers. It implements [mcp.Handler].
func (g *Gateway) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if err := g.notStarted(req); err != nil {
		return mcp.Result{}, err
	}
	return g.now.Load().whole.Handle(ctx, req)
}

// notStarted returns an error for a request to a server while no servers are added yet.
func (g *Gateway) notStarted(req *mcp.Request) error {
	if req.Name == "" || g.started.Load() {
		return nil
	}
	return fmt.Errorf("%s %q: the gateway has no servers yet: call Gateway.Start of package up first", req.Method, req.Name)
}

// Profile returns a handler for a profile of the settings. The handler looks the profile up for
// each request. Profile returns nil if no profile has this name now.
func (g *Gateway) Profile(name string) mcp.Handler {
	return g.present("profile", name, func(s *served) mcp.Handler { return s.profiles[name] })
}

// Server returns a handler for one server, with its tools under their own names. The handler looks
// the server up for each request. Server returns nil if no server has this name now.
func (g *Gateway) Server(name string) mcp.Handler {
	return g.present("server", name, func(s *served) mcp.Handler { return s.servers[name] })
}

// present returns a Handler that calls find for each request and passes the request to the result.
// It returns nil if find returns nil now.
func (g *Gateway) present(noun, name string, find func(*served) mcp.Handler) mcp.Handler {
	if find(g.now.Load()) == nil {
		return nil
	}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if err := g.notStarted(req); err != nil {
			return mcp.Result{}, err
		}
		if h := find(g.now.Load()); h != nil {
			return h.Handle(ctx, req)
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidRequest, "there is no %s %q any more", noun, name)
	})
}

// Start adds the servers of the plan. Before Start, calls fail, and [Gateway.Apply] adds no
// servers, as they may depend on the first client of the gateway. A server that cannot be added,
// such as one whose name is empty or used twice, is only in the result; see [Diff.Err].
func (g *Gateway) Start(ctx context.Context) (d Diff) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started.Store(true)
	plan := *g.now.Load().plan
	plan.admit(ctx)
	g.replace(ctx, &plan, &d)
	if !slices.ContainsFunc(plan.Servers, func(s Server) bool { return s.Print != "" }) {
		_ = g.members.Settle(ctx) // servers of this program start at once; an error comes from ctx
	}
	return d
}

// Apply replaces the plan. Running requests end under the plan with which they began, and unchanged
// servers keep running. Apply returns after removed servers have ended their requests. If settings
// are invalid, it returns an error that names them, and changes nothing. Concurrent calls of Apply
// run one after the other.
func (g *Gateway) Apply(ctx context.Context, next *Plan) (d Diff, err error) {
	g.applying.Lock()
	defer g.applying.Unlock()
	layers, before := next.Layers, g.layers.Plan()
	if layers == nil {
		if layers, err = g.layers.Read(next.settings()); err != nil {
			return d, err
		}
	}
	d.Rules = !maps.EqualFunc(layers.Books, before.Books, func(a, b *rules.Book) bool { return reflect.DeepEqual(a.Files, b.Files) })
	d.Settings = !reflect.DeepEqual(layers.Settings, before.Settings)
	replaced := func() {}
	if layers != before {
		replaced = g.layers.Use(layers)
	}
	plan := *next
	plan.Layers = layers
	plan.admit(ctx)
	g.mu.Lock()
	left := g.replace(ctx, &plan, &d)
	g.mu.Unlock()
	replaced()
	for _, s := range g.members.Status() {
		_ = g.members.Reread(s.Name) // the server was just listed, so the error is nil
	}
	left()
	return d, nil
}

// replace puts the plan into use. The function left waits until removed servers have ended.
func (g *Gateway) replace(ctx context.Context, p *Plan, d *Diff) (left func()) {
	g.members.SetNames(naming(p.settings()))
	left = func() {}
	if d.Waits = !g.started.Load(); !d.Waits {
		left = g.change(ctx, p.Servers, d)
	}
	order := p.Order
	if order == nil {
		for _, s := range p.Servers {
			order = append(order, s.Name)
		}
	}
	g.members.SetOrder(order)
	g.serve(p)
	return left
}

// serve makes the Handlers for clients from the plan, and puts them into use.
func (g *Gateway) serve(p *Plan) {
	s := &served{p, g.layers.Front(layer.Part{Gateway: g.members}), map[string]mcp.Handler{}, map[string]mcp.Handler{}}
	for name := range p.settings().Profiles {
		s.profiles[name] = g.layers.Front(layer.Part{Gateway: g.members, Profile: name})
	}
	for _, one := range p.Servers {
		s.servers[one.Name] = g.layers.Front(layer.Part{Gateway: g.members, Server: one.Name})
	}
	g.now.Store(s)
}

// change adds, replaces and removes servers, so that the gateway has exactly the servers of the
// plan. Clients no longer get removed servers. The function left waits until removed servers have
// ended their requests. It must be called without the lock.
func (g *Gateway) change(ctx context.Context, servers []Server, d *Diff) (left func()) {
	prints := map[string]print{}
	for _, s := range servers {
		now := g.printOf(s)
		before, found := g.prints[s.Name]
		_, twice := prints[s.Name]
		err := error(nil)
		switch {
		case twice:
			err = fmt.Errorf("server %q: the plan has two servers of this name; rename one", s.Name)
		case found && before == now:
		case found && before.server == now.server && before.handler == now.handler:
			u := gateway.Upstream{}
			g.surround(s, &u)
			err = g.members.Rearrange(s.Name, u)
		default:
			err = g.add(ctx, s, found)
		}
		switch {
		case err != nil:
			d.Failed = append(d.Failed, err)
			continue
		case !found:
			d.Added = append(d.Added, s.Name)
		case before != now:
			d.Changed = append(d.Changed, s.Name)
		}
		prints[s.Name] = now
	}
	var leaving sync.WaitGroup
	for name := range g.prints {
		if _, found := prints[name]; !found {
			d.Removed = append(d.Removed, name)
			leaving.Go(func() { _ = g.members.Remove(ctx, name) }) // fails only if ctx is done
		}
	}
	slices.Sort(d.Removed)
	g.prints = prints
	return leaving.Wait
}

// add adds a server, or replaces the server with its name if replace is set.
func (g *Gateway) add(ctx context.Context, s Server, replace bool) error {
	if s.PerUser && g.layers.Plan().Settings.Servers[s.Name].Owner == "one" {
		return fmt.Errorf(`server %q: junction.servers.%s.owner is "one", but a server with exchanged tokens runs at each replica; remove owner`, s.Name, s.Name)
	}
	if s.Open == nil {
		return fmt.Errorf("server %q: Open is nil; set it, or use InProcess", s.Name)
	}
	u, err := s.Open(ctx)
	if err != nil {
		return err
	}
	if s.Print != "" { // a hash, because clients carry it in their state
		sum := sha256.Sum256([]byte(s.Print))
		u.Identity = hex.EncodeToString(sum[:16])
	}
	g.surround(s, &u)
	if replace {
		err = g.members.Replace(s.Name, u)
	} else {
		err = g.members.Add(s.Name, u)
	}
	if err != nil && u.OnEnd != nil {
		u.OnEnd()
	}
	return err
}

// surround sets the settings of a server, the layers around it, and its own middleware in u.
func (g *Gateway) surround(s Server, u *gateway.Upstream) {
	s.setOptions(u, g.layers.Plan().Settings.Servers[s.Name], g.ownersOf(s))
	g.layers.Around(s.Server, u)
	u.Middleware = append(u.Middleware, s.Middleware...)
}

// ownersOf returns what decides which replica runs an instance of a server, or nil if each does.
func (g *Gateway) ownersOf(s Server) gateway.Owners {
	if s.PerUser || !g.layers.Plan().Settings.OwnedByOne(s.Name) {
		return nil
	}
	return g.owners
}

func (g *Gateway) printOf(s Server) (p print) {
	now := g.layers.Plan()
	text, _ := json.Marshal(now.From(s.Name)) // encoding strings and numbers never fails
	if p.around, p.handler = string(text), s.handler; s.Print != "" {
		p.handler = nil
		text, _ = json.Marshal([]any{settings.RestartServer.Members(now.Settings.Of(s.Name)), settings.RestartServer.Members(*now.Settings), g.ownersOf(s) != nil, s.Print})
		p.server = string(text)
	}
	return p
}

// naming returns the settings about prefixes and about conflicts of names.
func naming(s *settings.Settings) (noPrefix bool, c gateway.Conflicts) {
	return s.Names == "none", map[string]gateway.Conflicts{"priority": gateway.First, "error": gateway.Refuse}[s.Conflicts] // the default is gateway.Suffix
}
