package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// followPause is the interval of reading the lists of a member that does not notify of changes.
	followPause = 30 * time.Second
	// agreeTime is how long the gateway waits for a member to acknowledge the subscription before
	// it reads the lists anyway.
	agreeTime = 5 * time.Second
	// rereadPause is the minimum time between two readings of changed lists. So a member whose
	// lists change all the time does not slow down the other members.
	rereadPause = time.Second
	// watchPause is the pause before the gateway subscribes again to resources of a lost member.
	watchPause = 5 * time.Second
)

const (
	// freshTime is how long a list request of a client waits for lists that members reported as
	// changed.
	freshTime = 2 * time.Second
	// arriveTime is how long the gateway waits after a call for notifications on another stream.
	arriveTime = 20 * time.Millisecond
)

const (
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
	notifyUpdated      = "notifications/resources/updated"
	notifyMessage      = "notifications/message"
)

// listen subscribes to changes of the member's lists until ctx is done or the member refuses. It
// adds the kinds of lists to read again to changed. The function gets selects the clients that get
// log messages that belong to no call. It calls agreed when the member first acknowledged or
// refused.
func (m *member) listen(ctx context.Context, c *mcp.Client, changed *pending, gets func(*logListener) bool, agreed func()) {
	params, _ := json.Marshal(map[string]any{"notifications": mcp.AllLists()}) // cannot fail
	for again := false; ; again = true {
		req := mcp.NewRequest("subscriptions/listen", params)
		req.Meta.Capabilities = &mcp.ClientCapabilities{}
		req.Peer = &listsPeer{member: m, changed: changed, gets: gets, acknowledged: func() {
			if again {
				changed.add(offered(c))
			}
			agreed()
		}}
		_, err := c.Handle(ctx, req)
		agreed()
		if ctx.Err() != nil {
			return
		}
		m.gateway.log.Debug("gateway: no notifications from the server", "server", m.name, "error", err)
		if isRefused(err) || idle.Wait(ctx, followPause) != nil {
			return
		}
	}
}

// isRefused reports whether the same request would fail again, because the server does not know its
// method or params. Other errors may pass.
func isRefused(err error) bool {
	fault, is := errors.AsType[*mcp.Error](err)
	return is && (fault.Code == mcp.CodeMethodNotFound || fault.Code == mcp.CodeInvalidParams || fault.Code == mcp.CodeInvalidRequest)
}

// A listsPeer is the Peer of the gateway's own listen request to one member.
type listsPeer struct {
	member       *member
	changed      *pending
	gets         func(*logListener) bool
	acknowledged func()
}

// Notify records changed lists, and passes log messages on.
func (p *listsPeer) Notify(_ context.Context, method string, params json.RawMessage) error {
	switch method {
	case notifyAcknowledged:
		p.acknowledged()
	case notifyMessage:
		p.member.gateway.pass(p.member, p.gets, params)
	}
	if c := revision.Changed(method); c != "" {
		p.changed.add(bitsOf(func(k kind) bool { return k.Capability == c }))
	}
	return nil
}

// Ask sends a request of the member to the client, if the gateway has only one client.
func (p *listsPeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return p.member.gateway.first.ask(ctx, p.member, q)
}

// readChanged reads changed lists again, until ctx is done.
func (m *member) readChanged(ctx context.Context, c *mcp.Client, changed *pending) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed.wake:
		}
		if differ, err := m.readAll(ctx, c, changed.take(), false); err == nil && differ != 0 {
			m.gateway.changedOffer(differ)
		}
		changed.done()
		if !changed.pause(ctx, rereadPause) {
			return
		}
	}
}

// pending collects the kinds of the changed lists.
type pending struct {
	wake  chan struct{}
	hurry chan struct{} // capacity 1; a value means that a client waits for the reading

	mu    sync.Mutex
	todo  kinds         // changed, not yet being read
	doing kinds         // being read
	next  chan struct{} // closed when todo is read; nil if todo is empty
	now   chan struct{} // closed when doing is read
}

func newPending() *pending {
	return &pending{wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

func (p *pending) add(k kinds) {
	p.mu.Lock()
	p.todo |= k
	if p.next == nil {
		p.next = make(chan struct{})
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take returns the changed kinds, and marks them as being read. The caller calls done after reading
// them.
func (p *pending) take() kinds {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.todo = p.todo, 0
	p.now, p.next = p.next, nil
	return p.doing
}

func (p *pending) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doing = 0; p.now != nil {
		close(p.now)
		p.now = nil
	}
}

// pause waits for d before changed lists are read again, or less if a client waits for them. It
// returns false when ctx is done.
func (p *pending) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.hurry:
	case <-ctx.Done():
		return false
	}
	return true
}

// read waits until all changed lists of the kinds k have been read again.
func (p *pending) read(ctx context.Context, k kinds) {
	p.mu.Lock()
	over := p.next
	switch {
	case p.todo&k != 0:
	case p.doing&k != 0:
		over = p.now
	default:
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	select {
	case p.hurry <- struct{}{}:
	default:
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// fresh waits until the lists of the kinds k that members reported as changed are read, for at most
// freshTime. A server with a URL may send the notification on another stream than the response, a
// moment after it.
func (g *Gateway) fresh(ctx context.Context, k kinds) { g.freshOf(ctx, k, g.all()) }

// freshOf is like [Gateway.fresh] for some of the members.
func (g *Gateway) freshOf(ctx context.Context, k kinds, members []*member) {
	within, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	called := false
	for _, m := range members {
		called = m.called.Swap(false) && m.stale.Load() != nil && !m.upstream.Program || called
	}
	if called {
		_ = idle.Wait(within, arriveTime)
	}
	for _, m := range members {
		m.reread(within, k)
	}
}

// reread waits until the changed lists of the member are read.
func (m *member) reread(ctx context.Context, k kinds) {
	if p := m.stale.Load(); p != nil {
		p.read(ctx, k)
	}
}

// listen acknowledges the whole filter of a client, and then sends it notifications of changed
// lists. It calls watch for updates of resources, which begin as soon as the members acknowledge.
func (g *Gateway) listen(ctx context.Context, req *mcp.Request, has func(*member) bool, watch func(context.Context, *changes.Listener, *mcp.Request, []string)) (mcp.Result, error) {
	var filter mcp.SubscriptionFilter
	if raw := jsonrpc.Get(req.Params, "notifications"); raw != nil {
		if err := json.Unmarshal(raw, &filter); err != nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "notifications: %v", err)
		}
	}
	since, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(req.Params, "_meta"), changes.MarkKey))
	var wanted []changes.Change
	for _, method := range filter.Lists() {
		wanted = append(wanted, changes.Change{Method: method})
	}
	l := g.changes.Listen(wanted, since)
	defer l.Close()
	defer g.addLogListener(&logListener{l, has, req})()
	if g.options.OneClient {
		defer g.first.register(&listening{req.Peer, has})()
		for _, m := range g.all() {
			if has(m) {
				m.meetClient()
			}
		}
	}
	encoded, err := json.Marshal(filter)
	if err != nil {
		return mcp.Result{}, err
	}
	w := jsonrpc.NewObject(nil)
	w.Raw("notifications", encoded)
	changes.WriteMark(&w, l.Mark())
	if err := req.Peer.Notify(ctx, notifyAcknowledged, w.Bytes()); err != nil {
		return mcp.Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(g.ctx, func() { cancel(errClosed) })()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { watch(ctx, l, req, filter.ResourceSubscriptions) })
	if err = l.Forward(ctx, req.Peer.Notify); errors.Is(err, errClosed) {
		err = nil
	}
	return mcp.Result{}, err
}

// errClosed is the reason for the end of subscriptions when the gateway is closed.
var errClosed = errors.New("the gateway is closed")

// A watch records the members that the gateway is subscribed to for the resources of one client.
type watch struct {
	gateway *Gateway
	offers  *choice
	matches *matching
	owned   map[*member]map[string]bool // the client's URIs in the subscription to each member
}

// A watchEnd reports that the subscription to a member ended.
type watchEnd struct {
	member *member
	known  map[string][]string
}

// watch subscribes to updates of the resources at their members until ctx is done. If no member
// offers a resource, watch looks for it again whenever the offer changes: its member may not be
// connected, or was removed or refused.
func (g *Gateway) watch(ctx context.Context, l *changes.Listener, req *mcp.Request, uris []string, offers *choice) {
	w := &watch{g, offers, newListenMatching(), map[*member]map[string]bool{}}
	ended := make(chan watchEnd)
	free := slices.Compact(slices.Sorted(slices.Values(uris)))
	running := 0
	end := func(e watchEnd) {
		running--
		for _, known := range e.known {
			for _, uri := range known {
				free = append(free, uri)
				delete(w.owned[e.member], uri)
			}
		}
		if len(w.owned[e.member]) == 0 {
			delete(w.owned, e.member)
		}
	}
	defer func() {
		for running > 0 {
			end(<-ended)
		}
	}()
	for {
		g.mu.RLock()
		renewed := g.renewed
		g.mu.RUnlock()
		var found map[*member]map[string][]string
		free, found = w.find(free)
		for m, known := range found {
			running++
			go func() {
				m.watch(ctx, l, req, known)
				ended <- watchEnd{m, known}
			}()
		}
		for again := false; !again; {
			select {
			case <-renewed:
				again = true
			case e := <-ended:
				end(e)
				again = e.member.staying.Err() != nil // another member may have them now
			case <-ctx.Done():
				return
			}
		}
		if idle.Wait(ctx, rereadPause) != nil {
			return
		}
	}
}

// find returns the members to subscribe to. For each member, it maps the member's own URIs to the
// URIs of the client. free contains the URIs that no member offers.
func (w *watch) find(uris []string) (free []string, found map[*member]map[string][]string) {
	found = map[*member]map[string][]string{}
	offer := w.gateway.current()
	for _, uri := range uris {
		owners, _ := offer.owners(uri, w.matches)
		isOwned := false
		for _, r := range owners {
			if !r.isIn(w.offers, uri) {
				continue
			}
			isOwned = true
			if w.owned[r.member][uri] {
				continue
			}
			if w.owned[r.member] == nil {
				w.owned[r.member] = map[string]bool{}
			}
			w.owned[r.member][uri] = true
			if found[r.member] == nil {
				found[r.member] = map[string][]string{}
			}
			found[r.member][r.uri] = append(found[r.member][r.uri], uri)
		}
		if !isOwned {
			free = append(free, uri)
		}
	}
	return free, found
}

// watch subscribes to updates of resources until ctx is done, or the member leaves or refuses. It
// tries again if the member is lost or not connected. The map known has the member's own URIs as
// keys and the client's URIs as values.
func (m *member) watch(ctx context.Context, l *changes.Listener, req *mcp.Request, known map[string][]string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.staying, cancel)()
	uris := slices.Sorted(maps.Keys(known))
	params, _ := json.Marshal(map[string]any{"notifications": mcp.SubscriptionFilter{ResourceSubscriptions: uris}}) // cannot fail
	sub := mcp.NewRequest(req.Method, params)
	sub.Meta, sub.Caller, sub.Principal, sub.Peer = req.Meta, req.Caller, req.Principal, watchPeer{m, l, known}
	for {
		_, err := m.around.Load().chain.Handle(ctx, sub)
		if ctx.Err() != nil {
			return
		}
		m.gateway.log.Debug("gateway: no updates of resources", "server", m.name, "error", err)
		if errors.As(err, new(*mcp.Error)) || idle.Wait(ctx, watchPause) != nil {
			return
		}
	}
}

// A watchPeer is the Peer of a listen request to one member.
type watchPeer struct {
	member *member
	client *changes.Listener
	known  map[string][]string // client's URIs by the member's own URIs
}

// Notify passes updates on. Changes before the subscription are not known, so its acknowledgement
// counts as an update of each resource.
func (p watchPeer) Notify(_ context.Context, method string, params json.RawMessage) error {
	switch method {
	case notifyAcknowledged:
		uris := jsonrpc.Get(jsonrpc.Get(params, "notifications"), "resourceSubscriptions")
		jsonrpc.EachElement(uris, func(uri []byte) bool {
			p.updated(uri)
			return true
		})
	case notifyUpdated:
		p.updated(jsonrpc.Get(params, "uri"))
	}
	return nil
}

func (p watchPeer) updated(quoted []byte) {
	own, _ := jsonrpc.Unquote(quoted)
	for _, uri := range p.known[own] {
		p.client.Add(changes.Change{Method: notifyUpdated, URI: uri})
	}
}

// Ask sends a request of the member to the client, if the gateway has only one client.
func (p watchPeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return p.member.gateway.first.ask(ctx, p.member, q)
}
