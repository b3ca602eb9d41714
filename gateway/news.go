package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// followPause is how long a member that tells no news is left alone before it
// is asked for them again.
const followPause = 30 * time.Second

// agreeTime is how long a member may take to agree to tell news before its
// lists are read all the same.
const agreeTime = 5 * time.Second

// listen listens to the member for changes of its lists until ctx is done, and
// notes in changes what to read again. agreed is called when the member first
// agreed, or first refused.
func (m *member) listen(ctx context.Context, c *mcp.Client, changes *pending, agreed func()) {
	filter := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	for again := false; ; again = true {
		err := c.Listen(ctx, filter, func(n mcp.News) {
			switch n.Method {
			case "notifications/tools/list_changed":
				changes.add(tools)
			case "notifications/prompts/list_changed":
				changes.add(prompts)
			case "notifications/resources/list_changed":
				changes.add(resources)
			}
		}, func(mcp.SubscriptionFilter) {
			if again {
				changes.add(offered(c)) // what changed meanwhile was not told
			}
			agreed()
		})
		agreed()
		if ctx.Err() != nil {
			return
		}
		m.gateway.log.Debug("gateway: no news from the server", "server", m.name, "error", err)
		if !sleep(ctx, followPause) {
			return
		}
	}
}

// reread reads the lists again that changed, until ctx is done.
func (m *member) reread(ctx context.Context, c *mcp.Client, changes *pending) {
	for changes.wait(ctx) {
		which := changes.take()
		if m.readAll(ctx, c, which) == nil {
			m.gateway.changedOffer(which)
		}
	}
}

// pending collects kinds until somebody takes them.
type pending struct {
	mu    sync.Mutex
	kinds kinds
	wake  chan struct{}
}

func newPending() *pending { return &pending{wake: make(chan struct{}, 1)} }

func (p *pending) add(k kinds) {
	p.mu.Lock()
	p.kinds |= k
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pending) take() kinds {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds
	p.kinds = 0
	return k
}

// wait waits until there is something to take; false when ctx is done.
func (p *pending) wait(ctx context.Context) bool {
	select {
	case <-p.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// news tells the clients that listen which lists changed.
type news struct {
	mu        sync.Mutex
	listeners map[*pending]struct{}
}

func (n *news) join() *pending {
	p := newPending()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[*pending]struct{}{}
	}
	n.listeners[p] = struct{}{}
	return p
}

func (n *news) leave(p *pending) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, p)
}

func (n *news) changed(k kinds) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p := range n.listeners {
		p.add(k)
	}
}

// listen tells a client which lists changed, and passes the updates of the
// resources on that it subscribed to.
func (g *Gateway) listen(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if len(req.Params) > 0 {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
		}
	}
	filter := params.Notifications
	changes := g.news.join()
	defer g.news.leave(changes)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var subscribed sync.WaitGroup
	defer subscribed.Wait()
	defer cancel()
	told := &serialPeer{peer: req.Peer}
	agreed := g.subscribe(ctx, &subscribed, told, req, filter.ResourceSubscriptions)
	acknowledged := mcp.SubscriptionFilter{ToolsListChanged: filter.ToolsListChanged, PromptsListChanged: filter.PromptsListChanged,
		ResourcesListChanged: filter.ResourcesListChanged, ResourceSubscriptions: agreed}
	data, err := json.Marshal(map[string]any{"notifications": acknowledged})
	if err != nil {
		return mcp.Result{}, err
	}
	if err := told.begin(ctx, data); err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{}, g.tellChanges(ctx, told, changes, filter)
}

// tellChanges tells which lists changed until the client has enough.
func (g *Gateway) tellChanges(ctx context.Context, peer mcp.Peer, changes *pending, filter mcp.SubscriptionFilter) error {
	for {
		select {
		case <-g.ctx.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changes.wake:
		}
		which := changes.take()
		for _, n := range [...]struct {
			wanted bool
			kind   kinds
			method string
		}{
			{filter.ToolsListChanged, tools, "notifications/tools/list_changed"},
			{filter.PromptsListChanged, prompts, "notifications/prompts/list_changed"},
			{filter.ResourcesListChanged, resources, "notifications/resources/list_changed"},
		} {
			if !n.wanted || which&n.kind == 0 {
				continue
			}
			if err := peer.Notify(ctx, n.method, nil); err != nil {
				return err
			}
		}
	}
}

// subscribe listens to the members for updates of the resources, and returns
// those that somebody tells of. It returns when all members have agreed, or
// would not in time.
func (g *Gateway) subscribe(ctx context.Context, subscribed *sync.WaitGroup, peer *serialPeer, req *mcp.Request, uris []string) []string {
	byMember := map[*member][]string{}
	for _, uri := range uris {
		owners, sure := g.current().owners(uri)
		if !sure && g.await(ctx) == nil {
			owners, _ = g.current().owners(uri)
		}
		for _, m := range owners {
			byMember[m] = append(byMember[m], uri)
		}
	}
	agreed := &agreement{uris: map[string]bool{}}
	for m, uris := range byMember {
		w := &watch{member: m, to: peer, request: req, uris: uris, agreed: agreed}
		agreed.open.Add(1)
		w.settled = sync.OnceFunc(agreed.open.Done)
		timer := time.AfterFunc(listTime, w.settled)
		subscribed.Go(func() {
			defer timer.Stop()
			w.keep(ctx)
		})
	}
	return agreed.of(uris)
}

// An agreement collects what members agreed to tell of.
type agreement struct {
	open sync.WaitGroup // members that have not said yet
	mu   sync.Mutex
	uris map[string]bool
}

func (a *agreement) add(uris []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, uri := range uris {
		a.uris[uri] = true
	}
}

// of waits for all members and returns those of the URIs that somebody tells of.
func (a *agreement) of(uris []string) []string {
	a.open.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(uris), func(uri string) bool { return !a.uris[uri] })
}

// A watch is a client's subscription to resources of one member.
type watch struct {
	member  *member
	to      *serialPeer
	request *mcp.Request // of the client
	uris    []string
	agreed  *agreement
	settled func()
}

// watchPause is how long after a member was lost its resources are subscribed to again.
const watchPause = 5 * time.Second

// keep subscribes, and again when the member was lost, until ctx is done or the
// member will not. What changed meanwhile nobody knows, so all of it is told.
func (w *watch) keep(ctx context.Context) {
	defer w.settled()
	for begun := false; ; {
		var lost []string
		if begun {
			lost = w.uris
		}
		acknowledged := false
		err := w.listen(ctx, func(f mcp.SubscriptionFilter) {
			acknowledged = true
			w.agreed.add(f.ResourceSubscriptions)
			w.settled()
			for _, uri := range lost {
				params, _ := json.Marshal(map[string]string{"uri": uri})
				_ = w.to.Notify(ctx, "notifications/resources/updated", params) // a client that is gone ends ctx
			}
		})
		begun = begun || acknowledged
		if ctx.Err() != nil || !begun {
			return
		}
		w.member.gateway.log.Debug("gateway: no updates of resources", "server", w.member.name, "error", err)
		if !sleep(ctx, watchPause) {
			return
		}
	}
}

func (w *watch) listen(ctx context.Context, acknowledged func(mcp.SubscriptionFilter)) error {
	params, err := json.Marshal(map[string]any{"notifications": mcp.SubscriptionFilter{ResourceSubscriptions: w.uris}})
	if err != nil {
		return err
	}
	sub := mcp.NewRequest(w.request.Method, params)
	sub.Meta, sub.Principal = w.request.Meta, w.request.Principal
	sub.Peer = &memberNews{to: w.to, acknowledged: acknowledged}
	_, err = w.member.handle(ctx, sub)
	return err
}

// A serialPeer tells one client what several members say, after the
// acknowledgement and one at a time.
type serialPeer struct {
	peer  mcp.Peer
	mu    sync.Mutex
	begun bool
	early []string // updates before the acknowledgement
	told  []json.RawMessage
}

func (p *serialPeer) begin(ctx context.Context, acknowledged json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	if err := p.peer.Notify(ctx, "notifications/subscriptions/acknowledged", acknowledged); err != nil {
		return err
	}
	for i, method := range p.early {
		if err := p.peer.Notify(ctx, method, p.told[i]); err != nil {
			return err
		}
	}
	p.early, p.told = nil, nil
	return nil
}

// maxEarly is how many updates may come before the acknowledgement.
const maxEarly = 1_024

func (p *serialPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun {
		return p.peer.Notify(ctx, method, params)
	}
	if len(p.early) < maxEarly {
		p.early, p.told = append(p.early, method), append(p.told, params)
	}
	return nil
}

func (p *serialPeer) Ask(context.Context, mcp.Question) (json.RawMessage, error) {
	return nil, errors.New("news are no place for questions")
}

// memberNews is the Peer of a listen request to one member.
type memberNews struct {
	to           *serialPeer
	acknowledged func(mcp.SubscriptionFilter)
}

func (n *memberNews) Notify(ctx context.Context, method string, params json.RawMessage) error {
	switch method {
	case "notifications/subscriptions/acknowledged":
		var agreed struct {
			Notifications mcp.SubscriptionFilter `json:"notifications"`
		}
		if err := json.Unmarshal(params, &agreed); err != nil {
			return err
		}
		n.acknowledged(agreed.Notifications)
		return nil
	case "notifications/resources/updated":
		return n.to.Notify(ctx, method, jsonrpc.Without(params, "_meta")) // its position is that of one member only
	}
	return nil
}

func (n *memberNews) Ask(ctx context.Context, q mcp.Question) (json.RawMessage, error) {
	return n.to.Ask(ctx, q)
}
