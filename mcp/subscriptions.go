package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	methodListen             = "subscriptions/listen"
	notificationAcknowledged = "notifications/subscriptions/acknowledged"

	notificationToolsChanged     = "notifications/tools/list_changed"
	notificationPromptsChanged   = "notifications/prompts/list_changed"
	notificationResourcesChanged = "notifications/resources/list_changed"

	// ChangesKey is a member of _meta by which a server tells how far its news
	// have come (on server/discover, on the acknowledgement and on each piece of
	// news) and a client that was away says where it stopped (on
	// subscriptions/listen). The value is opaque. What changed in between is then
	// told at once.
	ChangesKey = "io.github.junction-mcp/changes"

	maxResourceSubscriptions = 10_000 // URIs in one filter
	maxRecentUpdates         = 1_024  // updates remembered for clients that were away
)

// A SubscriptionFilter says which news a client wants (basic/patterns/subscriptions).
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
}

// newsKind is a bit set of lists that change.
type newsKind uint8

const (
	newsTools newsKind = 1 << iota
	newsPrompts
	newsResources
)

// news carries what changed in a Server to the requests that listen for it.
// Telling never waits for a listener: each has a small set of what it has not
// been told yet, in which the same thing stands once.
type news struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	epoch     string    // distinguishes this process's counts from another's
	counts    [3]uint64 // changes of each list so far
	updates   uint64    // resource updates so far
	recent    []update  // the last of them, oldest first
}

type update struct {
	uri   string
	count uint64
}

// A listener is one running subscriptions/listen.
type listener struct {
	kinds newsKind
	uris  map[string]struct{}
	wake  chan struct{} // holds one token while something is pending

	// Under news.mu:
	pending newsKind
	updated map[string]struct{}
}

func newNews() *news {
	return &news{listeners: make(map[*listener]struct{}), epoch: rand.Text()[:8]}
}

func (n *news) listChanged(kind newsKind) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.counts {
		if kind&(1<<i) != 0 {
			n.counts[i]++
		}
	}
	for l := range n.listeners {
		if l.kinds&kind != 0 {
			l.pending |= kind & l.kinds
			l.signal()
		}
	}
}

func (n *news) updated(uri string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.updates++
	n.recent = append(n.recent, update{uri, n.updates})
	if len(n.recent) > maxRecentUpdates {
		n.recent = slices.Delete(n.recent, 0, len(n.recent)-maxRecentUpdates/2)
	}
	for l := range n.listeners {
		if _, wanted := l.uris[uri]; wanted {
			l.update(uri)
		}
	}
}

func (l *listener) update(uri string) {
	if l.updated == nil {
		l.updated = make(map[string]struct{})
	}
	l.updated[uri] = struct{}{}
	l.signal()
}

func (l *listener) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// position says how far the news have come, for [ChangesKey].
func (n *news) position() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.positionLocked()
}

func (n *news) positionLocked() string {
	return fmt.Sprintf("%s.%d.%d.%d.%d", n.epoch, n.counts[0], n.counts[1], n.counts[2], n.updates)
}

// join registers a listener; since is where it stopped listening, or empty.
func (n *news) join(f *SubscriptionFilter, since string) *listener {
	l := &listener{wake: make(chan struct{}, 1)}
	for kind, wanted := range map[newsKind]bool{newsTools: f.ToolsListChanged, newsPrompts: f.PromptsListChanged, newsResources: f.ResourcesListChanged} {
		if wanted {
			l.kinds |= kind
		}
	}
	if len(f.ResourceSubscriptions) > 0 {
		l.uris = make(map[string]struct{}, len(f.ResourceSubscriptions))
		for _, uri := range f.ResourceSubscriptions {
			l.uris[uri] = struct{}{}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[l] = struct{}{}
	if since != "" {
		n.catchUp(l, since)
	}
	return l
}

// catchUp makes everything pending that changed after the position since.
func (n *news) catchUp(l *listener, since string) {
	var epoch string
	var counts [3]uint64
	var updates uint64
	if len(since) > 8 {
		epoch = since[:8]
		if _, err := fmt.Sscanf(since[8:], ".%d.%d.%d.%d", &counts[0], &counts[1], &counts[2], &updates); err != nil {
			epoch = ""
		}
	}
	for i, count := range n.counts {
		if kind := newsKind(1 << i); l.kinds&kind != 0 && (epoch != n.epoch || counts[i] < count) {
			l.pending |= kind
			l.signal()
		}
	}
	switch {
	case epoch != n.epoch, len(n.recent) > 0 && updates+1 < n.recent[0].count:
		for uri := range l.uris {
			l.update(uri)
		}
	default:
		for _, u := range n.recent {
			if _, wanted := l.uris[u.uri]; wanted && u.count > updates {
				l.update(u.uri)
			}
		}
	}
}

func (n *news) leave(l *listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, l)
}

// take returns and clears what the listener has not been told yet.
func (n *news) take(l *listener) (kinds newsKind, uris []string, position string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kinds, l.pending = l.pending, 0
	for uri := range l.updated {
		uris = append(uris, uri)
	}
	l.updated = nil
	slices.Sort(uris)
	return kinds, uris, n.positionLocked()
}

// listen answers subscriptions/listen: it acknowledges what the server can
// tell, and then tells it until the client has enough.
func (s *Server) listen(ctx context.Context, req *Request) (Result, error) {
	var params struct {
		Notifications *SubscriptionFilter `json:"notifications"`
	}
	if err := schema.DecodeLoose(orEmptyObject(req.Params), &params); err != nil {
		return Result{}, Errorf(CodeInvalidParams, "%v", err)
	}
	if params.Notifications == nil {
		return Result{}, Errorf(CodeInvalidParams, "notifications: required, missing")
	}
	filter := s.supported(params.Notifications)
	if n := len(filter.ResourceSubscriptions); n > maxResourceSubscriptions {
		return Result{}, Errorf(CodeInvalidParams, "notifications.resourceSubscriptions: at most %d, got %d", maxResourceSubscriptions, n)
	}
	since, _ := jsonrpc.Unquote(memberOrNil(memberOrNil(req.Params, "_meta"), ChangesKey))
	l := s.news.join(filter, since)
	defer s.news.leave(l)
	if err := acknowledge(ctx, req.Peer, filter, s.news.position()); err != nil {
		return Result{}, err
	}
	return Result{}, s.tell(ctx, req.Peer, l)
}

// supported is the part of the filter that this server can honour.
func (s *Server) supported(f *SubscriptionFilter) *SubscriptionFilter {
	c := s.capabilities()
	agreed := &SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && c.Tools != nil,
		PromptsListChanged:   f.PromptsListChanged && c.Prompts != nil,
		ResourcesListChanged: f.ResourcesListChanged && c.Resources != nil,
	}
	if c.Resources != nil {
		agreed.ResourceSubscriptions = f.ResourceSubscriptions
	}
	return agreed
}

func acknowledge(ctx context.Context, peer Peer, f *SubscriptionFilter, position string) error {
	params, err := schema.Encode([]byte(`{"notifications":`), f)
	if err != nil {
		return err
	}
	return peer.Notify(ctx, notificationAcknowledged, appendPosition(params, position))
}

// appendPosition closes an object of parameters with the position as metadata.
func appendPosition(params []byte, position string) json.RawMessage {
	if params[len(params)-1] != '{' {
		params = append(params, ',')
	}
	params = append(params, `"_meta":{"`+ChangesKey+`":"`...)
	return append(append(params, position...), `"}}`...)
}

// tell sends news until ctx is done, which is how listening ends.
func (s *Server) tell(ctx context.Context, peer Peer, l *listener) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
		}
		kinds, uris, position := s.news.take(l)
		for _, n := range [...]struct {
			kind   newsKind
			method string
		}{{newsTools, notificationToolsChanged}, {newsPrompts, notificationPromptsChanged}, {newsResources, notificationResourcesChanged}} {
			if kinds&n.kind == 0 {
				continue
			}
			if err := peer.Notify(ctx, n.method, appendPosition([]byte{'{'}, position)); err != nil {
				return err
			}
		}
		for _, uri := range uris {
			params := jsonrpc.AppendString([]byte(`{"uri":`), uri)
			if err := peer.Notify(ctx, notificationUpdated, appendPosition(params, position)); err != nil {
				return err
			}
		}
	}
}

func orEmptyObject(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return json.RawMessage(`{}`)
	}
	return params
}
