package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
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
	position := append(make([]byte, 0, 32), n.epoch...)
	for _, count := range [...]uint64{n.counts[0], n.counts[1], n.counts[2], n.updates} {
		position = strconv.AppendUint(append(position, '.'), count, 10)
	}
	return string(position)
}

// join registers a listener; since is where it stopped listening, or empty. It
// returns up to where the listener has been told everything.
func (n *news) join(f *SubscriptionFilter, since string) (*listener, string) {
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
	if l.pending != 0 || l.updated != nil {
		return l, since
	}
	return l, n.positionLocked()
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
func (s *Server) listen(ctx context.Context, req *Request) error {
	l, acknowledged, err := s.joinNews(req)
	if err != nil {
		return err
	}
	defer s.news.leave(l)
	if err := req.Peer.Notify(ctx, notificationAcknowledged, acknowledged); err != nil {
		return err
	}
	return s.tell(ctx, req.Peer, l)
}

// joinNews registers a listener for what the request asks for, and says what of
// it the server can tell.
func (s *Server) joinNews(req *Request) (l *listener, acknowledged json.RawMessage, err error) {
	wanted, err := filterOf(req.Params)
	if err != nil {
		return nil, nil, err
	}
	filter := s.supported(wanted)
	since, _ := jsonrpc.Unquote(memberOrNil(memberOrNil(req.Params, "_meta"), ChangesKey))
	l, position := s.news.join(filter, since)
	return l, appendPosition(filter.appendJSON([]byte(`{"notifications":`)), position), nil
}

// filterOf reads the filter of a listen request. It decodes by hand: the
// goroutine that does it stays for as long as the client listens, and a decoder
// would leave it with a stack of twice the size.
func filterOf(params json.RawMessage) (*SubscriptionFilter, error) {
	raw := memberOrNil(params, "notifications")
	if len(raw) == 0 || raw[0] != '{' {
		return nil, Errorf(CodeInvalidParams, "notifications: expected an object, got %.40s", raw)
	}
	f := &SubscriptionFilter{}
	var err error
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		switch name, _ := jsonrpc.Unquote(quoted); name {
		case "toolsListChanged":
			f.ToolsListChanged, err = boolOf(name, value)
		case "promptsListChanged":
			f.PromptsListChanged, err = boolOf(name, value)
		case "resourcesListChanged":
			f.ResourcesListChanged, err = boolOf(name, value)
		case "resourceSubscriptions":
			f.ResourceSubscriptions, err = urisOf(value)
		}
		return err == nil
	})
	return f, err
}

func boolOf(name string, value []byte) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	return false, Errorf(CodeInvalidParams, "notifications.%s: expected true or false, got %.40s", name, value)
}

func urisOf(value []byte) (uris []string, err error) {
	if len(value) == 0 || value[0] != '[' {
		return nil, Errorf(CodeInvalidParams, "notifications.resourceSubscriptions: expected an array of strings, got %.40s", value)
	}
	jsonrpc.EachElement(value, func(element []byte) bool {
		uri, ok := jsonrpc.Unquote(element)
		switch {
		case !ok:
			err = Errorf(CodeInvalidParams, "notifications.resourceSubscriptions: expected strings, got %.40s", element)
		case len(uris) >= maxResourceSubscriptions:
			err = Errorf(CodeInvalidParams, "notifications.resourceSubscriptions: more than %d", maxResourceSubscriptions)
		}
		uris = append(uris, uri)
		return err == nil
	})
	return uris, err
}

// appendJSON appends the filter as JSON; by hand for the reason above.
func (f *SubscriptionFilter) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	for _, m := range [...]struct {
		name  string
		value bool
	}{{"toolsListChanged", f.ToolsListChanged}, {"promptsListChanged", f.PromptsListChanged}, {"resourcesListChanged", f.ResourcesListChanged}} {
		if m.value {
			comma()
			dst = append(append(append(dst, '"'), m.name...), `":true`...)
		}
	}
	if len(f.ResourceSubscriptions) > 0 {
		comma()
		dst = append(dst, `"resourceSubscriptions":[`...)
		for i, uri := range f.ResourceSubscriptions {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonrpc.AppendString(dst, uri)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
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
		if err := tellAll(ctx, peer, kinds, uris, position); err != nil {
			return err
		}
	}
}

func tellAll(ctx context.Context, peer Peer, kinds newsKind, uris []string, position string) error {
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
	return nil
}

func orEmptyObject(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return json.RawMessage(`{}`)
	}
	return params
}
