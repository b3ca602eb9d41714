package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// followPause is how long a member that sends no notifications of its lists is
	// left alone before it is asked for them again.
	followPause = 30 * time.Second
	// agreeTime is how long a member may take to acknowledge that it will, before
	// its lists are read all the same.
	agreeTime = 5 * time.Second
	// rereadPause is how long after its lists were read those that changed are read
	// again: a member whose lists change all the time costs the others little.
	rereadPause = time.Second
	// watchPause is how long after a member was lost its resources are subscribed
	// to again.
	watchPause = 5 * time.Second
)

const (
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
	notifyUpdated      = "notifications/resources/updated"
)

// changedLists are the notifications of the lists, with their kinds.
var changedLists = [...]struct {
	kind   kinds
	method string
}{
	{tools, "notifications/tools/list_changed"},
	{prompts, "notifications/prompts/list_changed"},
	{resources, "notifications/resources/list_changed"},
}

// listen listens to the member for changes of its lists until ctx is done, and
// notes in changed what to read again. agreed is called when the member first
// agreed, or first refused.
func (m *member) listen(ctx context.Context, c *mcp.Client, changed *pending, agreed func()) {
	params, _ := json.Marshal(map[string]any{"notifications": mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}}) // cannot fail
	for again := false; ; again = true {
		req := mcp.NewRequest("subscriptions/listen", params)
		req.Meta.Capabilities = &mcp.ClientCapabilities{}
		req.Peer = &listsPeer{client: &m.gateway.first, changed: changed, acknowledged: func() {
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
		if !sleep(ctx, followPause) {
			return
		}
	}
}

// A listsPeer is the Peer of the gateway's own listen request to one member.
type listsPeer struct {
	client       *firstClient
	changed      *pending
	acknowledged func()
}

// Notify notes which lists changed.
func (p *listsPeer) Notify(_ context.Context, method string, _ json.RawMessage) error {
	if method == notifyAcknowledged {
		p.acknowledged()
	}
	for _, list := range changedLists {
		if method == list.method {
			p.changed.add(list.kind)
		}
	}
	return nil
}

// Ask asks the one client, if there is only one.
func (p *listsPeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return p.client.ask(ctx, q)
}

// reread reads the lists again that changed, until ctx is done.
func (m *member) reread(ctx context.Context, c *mcp.Client, changed *pending) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed.wake:
		}
		which := kinds(changed.kinds.Swap(0))
		if differ, err := m.readAll(ctx, c, which, false); err == nil && differ != 0 {
			m.gateway.changedOffer(differ)
		}
		if !sleep(ctx, rereadPause) {
			return
		}
	}
}

// pending collects the kinds of the lists that changed.
type pending struct {
	kinds atomic.Uint32
	wake  chan struct{}
}

func newPending() *pending { return &pending{wake: make(chan struct{}, 1)} }

func (p *pending) add(k kinds) {
	p.kinds.Or(uint32(k))
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// notify notifies the clients that listen of lists that changed.
func (g *Gateway) notify(k kinds) {
	for _, list := range changedLists {
		if k&list.kind != 0 {
			g.changes.Add(changes.Change{Method: list.method})
		}
	}
}

// listen acknowledges everything that a client asks for and then notifies it:
// of changes of the lists, and of updates of the resources that it subscribed
// to, as soon as their members agree to it.
func (g *Gateway) listen(ctx context.Context, req *mcp.Request, offers choice) (mcp.Result, error) {
	var filter mcp.SubscriptionFilter
	if raw := jsonrpc.Get(req.Params, "notifications"); raw != nil {
		if err := json.Unmarshal(raw, &filter); err != nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "notifications: %v", err)
		}
	}
	since, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(req.Params, "_meta"), changes.MarkKey))
	l := g.changes.Listen(wanted(filter), since)
	defer l.Close()
	if g.options.OneClient {
		defer g.first.listens(req.Peer)()
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
	watching.Go(func() { g.watch(ctx, l, req, filter.ResourceSubscriptions, offers) })
	if err = l.Forward(ctx, req.Peer.Notify); errors.Is(err, errClosed) {
		err = nil
	}
	return mcp.Result{}, err
}

// errClosed is why subscriptions end when the gateway is closed.
var errClosed = errors.New("the gateway is closed")

// wanted returns the lists that a filter names.
func wanted(f mcp.SubscriptionFilter) (lists []changes.Change) {
	for i, wanted := range []bool{f.ToolsListChanged, f.PromptsListChanged, f.ResourcesListChanged} {
		if wanted {
			lists = append(lists, changes.Change{Method: changedLists[i].method})
		}
	}
	return lists
}

// A watch knows which members are listened to for the updates that one client wants.
type watch struct {
	gateway *Gateway
	offers  choice
	matches *matching
	owned   map[*member]map[string]bool // the client's URIs that each is listened to for
}

// A watchEnd is a member that is not listened to any more.
type watchEnd struct {
	member *member
	known  map[string][]string
}

// watch listens to the members for updates of the resources until ctx is done. A resource that nobody offers, as its member
// is not connected yet, was removed or refused to tell of it, is looked for again when the offer changes.
func (g *Gateway) watch(ctx context.Context, l *changes.Listener, req *mcp.Request, uris []string, offers choice) {
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
				again = e.member.staying.Err() != nil // another may have them now
			case <-ctx.Done():
				return
			}
		}
		if !sleep(ctx, rereadPause) {
			return
		}
	}
}

// find returns whom to listen to for resources: by the member's own URIs those that the client knows. free are those that
// nobody offers.
func (w *watch) find(uris []string) (free []string, found map[*member]map[string][]string) {
	found = map[*member]map[string][]string{}
	offer := w.gateway.current()
	for _, uri := range uris {
		owners, _ := offer.owners(uri, w.matches)
		isOwned := false
		for _, r := range owners {
			if !w.offers.has(resourceKind, uri, r.member, r.uri) {
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

// watch listens to the member for updates of resources until ctx is done, the member leaves or
// refuses. A member that is lost, or not connected, is tried again. known
// are the resources, with the URIs that the client knows.
func (m *member) watch(ctx context.Context, l *changes.Listener, req *mcp.Request, known map[string][]string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.staying, cancel)()
	uris := slices.Sorted(maps.Keys(known))
	params, _ := json.Marshal(map[string]any{"notifications": mcp.SubscriptionFilter{ResourceSubscriptions: uris}}) // cannot fail
	sub := mcp.NewRequest(req.Method, params)
	sub.Meta, sub.Caller, sub.Principal, sub.Peer = req.Meta, req.Caller, req.Principal, watchPeer{&m.gateway.first, l, known}
	for {
		_, err := m.around.Load().chain.Handle(ctx, sub)
		if ctx.Err() != nil {
			return
		}
		m.gateway.log.Debug("gateway: no updates of resources", "server", m.name, "error", err)
		if errors.As(err, new(*mcp.Error)) || !sleep(ctx, watchPause) {
			return
		}
	}
}

// A watchPeer is the Peer of a listen request to one member.
type watchPeer struct {
	first  *firstClient
	client *changes.Listener
	known  map[string][]string // what the client calls the resources, by the member's own URIs
}

// Notify passes updates on. What changed before the member began to listen
// nobody knows, so its acknowledgement counts as an update of each resource.
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

// Ask asks the one client, if there is only one.
func (p watchPeer) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return p.first.ask(ctx, q)
}
