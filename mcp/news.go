package mcp

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const maxRecentUpdates = 1_024 // updates remembered for clients that were away

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
	now       mark
	recent    []update // the last updates of resources, oldest first
}

// A mark is how far news have come. As text it is the value of [ChangesKey].
type mark struct {
	epoch   string    // distinguishes a process's counts from another's
	counts  [3]uint64 // changes of each list so far, in the order of newsKind
	updates uint64    // resource updates so far
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
	told    mark // what changed up to here, and is not pending, was told
	pending newsKind
	updated map[string]uint64 // when each was updated, as far as it is known
}

func newNews() *news {
	return &news{listeners: make(map[*listener]struct{}), now: mark{epoch: rand.Text()[:8]}}
}

func (n *news) listChanged(kind newsKind) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.now.counts {
		if kind&(1<<i) != 0 {
			n.now.counts[i]++
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
	n.now.updates++
	n.recent = append(n.recent, update{uri, n.now.updates})
	if len(n.recent) > maxRecentUpdates {
		n.recent = slices.Delete(n.recent, 0, len(n.recent)-maxRecentUpdates/2)
	}
	for l := range n.listeners {
		if _, wanted := l.uris[uri]; wanted {
			l.update(uri, n.now.updates)
		}
	}
}

func (l *listener) update(uri string, count uint64) {
	if l.updated == nil {
		l.updated = make(map[string]uint64)
	}
	l.updated[uri] = count
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
	return n.now.String()
}

func (m mark) String() string {
	position := append(make([]byte, 0, 32), m.epoch...)
	for _, count := range [...]uint64{m.counts[0], m.counts[1], m.counts[2], m.updates} {
		position = strconv.AppendUint(append(position, '.'), count, 10)
	}
	return string(position)
}

// parseMark reads what String wrote; the mark of no process if it is something else.
func parseMark(position string) mark {
	epoch, counts, _ := strings.Cut(position, ".")
	m := mark{epoch: epoch}
	if _, err := fmt.Sscanf(counts, "%d.%d.%d.%d", &m.counts[0], &m.counts[1], &m.counts[2], &m.updates); err != nil {
		return mark{}
	}
	return m
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
		n.catchUp(l, parseMark(since))
	}
	if l.pending != 0 || l.updated != nil {
		return l, since
	}
	l.told = n.now
	return l, n.now.String()
}

// catchUp makes everything pending that changed after the listener was told all.
func (n *news) catchUp(l *listener, since mark) {
	l.told = since
	for i, count := range n.now.counts {
		if kind := newsKind(1 << i); l.kinds&kind != 0 && (since.epoch != n.now.epoch || since.counts[i] < count) {
			l.pending |= kind
			l.signal()
		}
	}
	switch {
	case since.epoch != n.now.epoch, len(n.recent) > 0 && since.updates+1 < n.recent[0].count:
		for uri := range l.uris {
			l.update(uri, since.updates)
		}
	default:
		for _, u := range n.recent {
			if _, wanted := l.uris[u.uri]; wanted && u.count > since.updates {
				l.update(u.uri, u.count)
			}
		}
	}
}

func (n *news) leave(l *listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, l)
}

// A newsItem is a notification for a listener.
type newsItem struct {
	method string
	params json.RawMessage
}

// take returns and clears what the listener has not been told yet. Each item
// has the position up to which all has been told after it, so that a client
// that is cut off between two goes on with the second.
func (n *news) take(l *listener) []newsItem {
	n.mu.Lock()
	defer n.mu.Unlock()
	items := make([]newsItem, 0, 1)
	for i, method := range [...]string{notificationToolsChanged, notificationPromptsChanged, notificationResourcesChanged} {
		if l.pending&(1<<i) != 0 {
			l.pending &^= 1 << i
			l.told.counts[i] = n.now.counts[i]
			items = append(items, newsItem{method, appendPosition([]byte{'{'}, n.after(l))})
		}
	}
	for _, uri := range slices.SortedFunc(maps.Keys(l.updated), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.updated[a], l.updated[b]), strings.Compare(a, b))
	}) {
		l.told.updates = l.updated[uri]
		delete(l.updated, uri)
		params := jsonrpc.AppendString([]byte(`{"uri":`), uri)
		items = append(items, newsItem{notificationUpdated, appendPosition(params, n.after(l))})
	}
	l.updated = nil
	return items
}

// after is how far the listener is; with nothing pending it has everything.
func (n *news) after(l *listener) string {
	if l.pending == 0 && len(l.updated) == 0 {
		l.told = n.now
	}
	return l.told.String()
}
