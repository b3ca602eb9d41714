package edge

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

// subscribeTime is how long resources/subscribe waits for its subscription to
// be in force.
const subscribeTime = 10 * time.Second

// overlapTime is how long a listen request without positions goes on beside the
// one that takes over from it, so that what is under way in it still arrives.
const overlapTime = 5 * time.Second

// maxLeaving is how many of them go on so; one more ends the oldest.
const maxLeaving = 8

// ErrListening is returned by [Session.Listen] where it runs already.
var ErrListening = errors.New("the session has a stream for news already")

// A listening is one running [Session.Listen]: a listen request, and another for
// every change of the session's subscriptions, which takes over when it is in
// force, so that no news falls in between.
type listening struct {
	ctx    context.Context
	out    Sender
	turn   chan struct{} // holds a token while nobody changes the filter
	rounds sync.WaitGroup

	// Under the session's lock:
	latest  *newsRound   // the one with the newest filter
	inForce *newsRound   // the one with the newest filter of those acknowledged, if any
	leaving []*newsRound // the last ones before, which may still have news under way
}

// A newsRound is one listen request of a session, and its Peer.
type newsRound struct {
	session *Session
	to      *listening
	request *mcp.Request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	version int           // of the subscriptions in its filter
	ready   chan struct{} // closed when the request is in force, or will never be
	once    sync.Once

	replaced bool // under the session's lock: a newer round tells what has a position
}

func (r *newsRound) settle() { r.once.Do(func() { close(r.ready) }) }

// Listen sends the server's news to out until ctx is done. It is how a legacy
// session subscribes: one long subscriptions/listen, made anew whenever the
// session subscribes to other resources. What changed since the last Listen, or
// since the handshake, is told first.
func (s *Session) Listen(ctx context.Context, out Sender) error {
	listen, err := s.OpenListen(ctx, out)
	if err != nil {
		return err
	}
	return listen()
}

// OpenListen is the part of [Session.Listen] that comes before what the client
// sends next: a subscription from now on waits until it is in force. The
// function that it returns does the rest and must be called.
func (s *Session) OpenListen(ctx context.Context, out Sender) (listen func() error, err error) {
	l := &listening{ctx: ctx, out: out, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening != nil {
		return nil, ErrListening
	}
	s.listening = l
	first := s.newRound(l)
	return func() error {
		first.run()
		<-ctx.Done() // the stream stays open, for other rounds or for nothing
		s.mu.Lock()
		s.listening = nil
		s.mu.Unlock()
		l.rounds.Wait()
		return ctx.Err()
	}, nil
}

// newRound prepares a listen request with the present subscriptions. The
// session's lock is held.
func (s *Session) newRound(l *listening) *newsRound {
	r := &newsRound{session: s, to: l, version: s.version, ready: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(l.ctx)
	r.request = &mcp.Request{Method: methodListen, Params: s.listenParams(), Meta: s.meta, Peer: r}
	if l.latest != nil {
		l.latest.replaced = s.changes != "" // the new one begins where that one is now
	}
	l.latest = r
	return r
}

// run makes the request and returns when it is over.
func (r *newsRound) run() {
	defer r.settle()
	defer r.cancel(nil)
	_, err := r.session.edge.handler.Handle(r.ctx, r.request)
	if err != nil && r.ctx.Err() == nil {
		r.session.edge.log.Debug("mcp: no news from the server", "error", err)
		r.giveBack()
	}
}

// giveBack leaves the news to the round before where the server refused this one,
// and takes back what this one subscribed to.
func (r *newsRound) giveBack() {
	s, l := r.session, r.to
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.latest != r || l.inForce == r {
		return
	}
	var before map[string]struct{}
	if l.inForce != nil {
		before = resourcesOf(l.inForce.request.Params)
		l.latest, l.inForce.replaced = l.inForce, false
	}
	s.forget(resourcesOf(r.request.Params), before)
}

// forget ends the subscriptions that were wanted and not agreed to. The
// session's lock is held.
func (s *Session) forget(wanted, agreed map[string]struct{}) {
	for uri := range wanted {
		if _, told := agreed[uri]; !told {
			delete(s.resources, uri)
		}
	}
}

func (s *Session) listenParams() json.RawMessage {
	filter := mcp.SubscriptionFilter{
		ToolsListChanged:     s.has.Tools.ListChanged,
		PromptsListChanged:   s.has.Prompts.ListChanged,
		ResourcesListChanged: s.has.Resources.ListChanged,
	}
	for uri := range s.resources {
		filter.ResourceSubscriptions = append(filter.ResourceSubscriptions, uri)
	}
	slices.Sort(filter.ResourceSubscriptions)
	params := map[string]any{"notifications": filter}
	if s.changes != "" {
		params["_meta"] = map[string]string{mcp.ChangesKey: s.changes}
	}
	data, _ := json.Marshal(params)
	return data
}

// Notify passes a piece of news on, as legacy clients know it.
func (r *newsRound) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == notifyAcknowledged {
		r.begin(params)
		r.settle()
		return nil
	}
	level, mine := r.note(params)
	if !mine || method == notifyProgress || method == notifyMessage && !loud(params, level) {
		return nil
	}
	return r.to.out.Send(ctx, jsonrpc.AppendNotification(nil, method, withoutMeta(params)))
}

// begin takes over from the round before. What the server does not agree to tell
// of is not subscribed to. The position is only where to begin, as it comes
// before what it counts is told.
func (r *newsRound) begin(acknowledged json.RawMessage) {
	s, l := r.session, r.to
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == "" {
		s.changes = position(acknowledged)
	}
	switch before := l.inForce; {
	case before == nil:
		l.inForce = r
	case before.version > r.version:
		r.cancel(errRefilter)
	case before != r:
		l.inForce = r
		l.leave(before, s.changes != "")
	}
	if wanted := resourcesOf(r.request.Params); len(wanted) > 0 {
		s.forget(wanted, resourcesOf(acknowledged))
	}
}

// leave ends a round that another took over from: at once where the other began
// at the position of this one, and else when what it has under way has arrived.
// The session's lock is held.
func (l *listening) leave(r *newsRound, atOnce bool) {
	if atOnce {
		r.cancel(errRefilter)
		return
	}
	if len(l.leaving) == maxLeaving {
		l.leaving[0].cancel(errRefilter)
		l.leaving = slices.Delete(l.leaving, 0, 1)
	}
	l.leaving = append(l.leaving, r)
	l.rounds.Go(func() {
		select {
		case <-time.After(overlapTime):
			r.cancel(errRefilter)
		case <-r.ctx.Done():
		}
	})
}

// resourcesOf are the subscriptions in the filter of a listen request or of its
// acknowledgement.
func resourcesOf(params json.RawMessage) map[string]struct{} {
	uris := map[string]struct{}{}
	jsonrpc.EachElement(jsonrpc.Get(jsonrpc.Get(params, "notifications"), "resourceSubscriptions"), func(element []byte) bool {
		if uri, ok := jsonrpc.Unquote(element); ok {
			uris[uri] = struct{}{}
		}
		return true
	})
	return uris
}

// note remembers how far the news have come. It reports whether this round
// tells the piece: of two that overlap the newer one, which begins where the
// other was when it was made. What has no position both tell, as nobody knows
// whether both have it.
func (r *newsRound) note(params json.RawMessage) (level mcp.LogLevel, mine bool) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	at := position(params)
	if at == "" {
		return s.level, true
	}
	if !r.replaced {
		s.changes = at
	}
	return s.level, !r.replaced
}

// position is the mark of how far the news have come; empty if there is none.
func position(params json.RawMessage) string {
	at, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(params, "_meta"), mcp.ChangesKey))
	return at
}

// Ask fails: news are no place for questions.
func (r *newsRound) Ask(ctx context.Context, q mcp.Question) (json.RawMessage, error) {
	return silent{}.Ask(ctx, q)
}

// withoutMeta leaves the metadata of a piece of news away; nil if nothing else is there.
func withoutMeta(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	out, any := jsonrpc.AppendEdited(nil, params, "_meta")
	if !any {
		return nil
	}
	return append(out, '}')
}

// subscribe adds a resource to what the session wants to hear of, or takes it
// out. Where a stream is open it returns when the change is in force.
func (s *Session) subscribe(ctx context.Context, m *jsonrpc.Message, add bool) *jsonrpc.Error {
	uri, ok := jsonrpc.Unquote(m.Members.Get("uri"))
	if !ok || uri == "" {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: expected a string, got %.40s", m.Members.Get("uri"))
	}
	if !s.has.Resources.Subscribe {
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server does not tell of changes of resources", m.Method)
	}
	version, fault := s.refilter(uri, add)
	if fault != nil || version == 0 {
		return fault
	}
	ctx, cancel := context.WithTimeout(ctx, subscribeTime)
	defer cancel()
	s.listenAnew(ctx, version)
	if add && !s.subscribed(uri) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: the server does not tell of changes of %.200q", uri)
	}
	return nil
}

func (s *Session) subscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, subscribed := s.resources[uri]
	return subscribed
}

// refilter changes the subscriptions and returns their version, or 0 where
// nothing changed.
func (s *Session) refilter(uri string, add bool) (version int, fault *jsonrpc.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, subscribed := s.resources[uri]; subscribed == add {
		return 0, nil
	}
	switch {
	case !add:
		delete(s.resources, uri)
	case len(s.resources) >= maxSubscriptions:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: the session has %d subscriptions already, which is the most", maxSubscriptions)
	case s.resources == nil:
		s.resources = map[string]struct{}{uri: {}}
	default:
		s.resources[uri] = struct{}{}
	}
	s.version++
	return s.version, nil
}

// listenAnew sees to it that a listen request with the given version of the
// subscriptions is in force, if a stream is open. Changes that come together
// share one request.
func (s *Session) listenAnew(ctx context.Context, version int) {
	s.mu.Lock()
	l := s.listening
	s.mu.Unlock()
	if l == nil {
		return
	}
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	if s.listening != l {
		s.mu.Unlock()
		return // the stream was closed; the next will have all subscriptions
	}
	if l.latest.version < version {
		l.rounds.Go(s.newRound(l).run)
	}
	present := l.latest
	s.mu.Unlock()
	select {
	case <-present.ready:
	case <-ctx.Done():
	}
}
