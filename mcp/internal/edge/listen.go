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

	latest *newsRound // under the session's lock
}

// A newsRound is one listen request of a session, and its Peer.
type newsRound struct {
	session *Session
	out     Sender
	request *mcp.Request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	version int           // of the subscriptions in its filter
	ready   chan struct{} // closed when the request is in force, or will never be
	once    sync.Once
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
	r := &newsRound{session: s, out: l.out, version: s.version, ready: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(l.ctx)
	r.request = &mcp.Request{Method: methodListen, Params: s.listenParams(), Meta: s.meta, Peer: r}
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
		r.session.begin(params)
		r.settle()
		return nil
	}
	level, again := r.session.note(method, params)
	if again || method == notifyProgress || method == notifyMessage && !loud(params, level) {
		return nil
	}
	return r.out.Send(ctx, jsonrpc.AppendNotification(nil, method, withoutMeta(params)))
}

// begin takes the position of an acknowledgement, which comes before what it
// counts is told: it is only where to begin.
func (s *Session) begin(params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == "" {
		s.changes = position(params)
	}
}

// note remembers that a piece of news is told. It reports whether it was told
// before: two listen requests that overlap both have what changed meanwhile.
func (s *Session) note(method string, params json.RawMessage) (level mcp.LogLevel, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := position(params)
	if at == "" {
		return s.level, false
	}
	if at != s.changes {
		s.changes, s.told = at, nil
	}
	news := method + " " + string(jsonrpc.Get(params, "uri"))
	if slices.Contains(s.told, news) {
		return s.level, true
	}
	s.told = append(s.told, news)
	return s.level, false
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
	return nil
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
// subscriptions is in force, if a stream is open, and then ends the one before.
// Changes that come together share one request.
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
	before := l.latest
	if before.version < version {
		l.rounds.Go(s.newRound(l).run)
	}
	present := l.latest
	s.mu.Unlock()
	select {
	case <-present.ready:
	case <-ctx.Done():
	}
	if before != present {
		before.cancel(errRefilter)
	}
}
