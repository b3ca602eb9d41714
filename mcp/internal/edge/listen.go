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

// A listening is one running [Session.Listen]: one listen request after the
// other, each with the filter of its time. Its fields are under the session's lock.
type listening struct {
	restart context.CancelCauseFunc // ends the present request, for another filter
	next    *newsRound              // the request to come, made when somebody waits for it
}

// A newsRound is one listen request of a session, and its Peer.
type newsRound struct {
	session *Session
	out     Sender
	ready   chan struct{} // closed when the request is in force, or will never be
	once    sync.Once
}

func (r *newsRound) settle() { r.once.Do(func() { close(r.ready) }) }

// Listen sends the server's news to out until ctx is done. It is how a legacy
// session subscribes: one long subscriptions/listen, made anew whenever the
// session subscribes to other resources. What changed since the last Listen, or
// since the handshake, is told first.
func (s *Session) Listen(ctx context.Context, out Sender) error {
	l := &listening{}
	s.mu.Lock()
	if s.listening != nil {
		s.mu.Unlock()
		return ErrListening
	}
	s.listening = l
	s.mu.Unlock()
	defer s.stopListening(l)
	for {
		round, req := s.nextRound(ctx, l, out)
		_, err := s.edge.handler.Handle(round, req)
		again := errors.Is(context.Cause(round), errRefilter)
		l.restart(nil)
		req.Peer.(*newsRound).settle()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case again:
			continue
		case err != nil:
			s.edge.log.Debug("mcp: no news from the server", "error", err)
		}
		if err := s.awaitRestart(ctx, l); err != nil {
			return err
		}
	}
}

// awaitRestart waits, where the server had no more news, for the session to
// subscribe to something else.
func (s *Session) awaitRestart(ctx context.Context, l *listening) error {
	wait, restart := context.WithCancelCause(ctx)
	defer restart(nil)
	s.mu.Lock()
	if l.next == nil {
		l.restart = restart
		s.mu.Unlock()
		<-wait.Done()
		return ctx.Err()
	}
	s.mu.Unlock()
	return ctx.Err()
}

func (s *Session) stopListening(l *listening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = nil
	if l.next != nil {
		l.next.settle()
	}
}

// nextRound prepares the next listen request.
func (s *Session) nextRound(ctx context.Context, l *listening, out Sender) (context.Context, *mcp.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	round, restart := context.WithCancelCause(ctx)
	l.restart = restart
	peer := l.next
	if peer == nil {
		peer = &newsRound{ready: make(chan struct{})}
	}
	l.next = nil
	peer.session, peer.out = s, out
	return round, &mcp.Request{Method: methodListen, Params: s.listenParams(), Meta: s.meta, Peer: peer}
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
	s := r.session
	s.mu.Lock()
	if position, ok := jsonrpc.Unquote(member(member(params, "_meta"), mcp.ChangesKey)); ok && (method != notifyAcknowledged || s.changes == "") {
		s.changes = position // the acknowledgement comes before what it counts is told: it is only where to begin
	}
	level := s.level
	s.mu.Unlock()
	switch method {
	case notifyAcknowledged:
		r.settle()
		return nil
	case notifyProgress:
		return nil
	case notifyMessage:
		if !loud(params, level) {
			return nil
		}
	}
	return r.out.Send(ctx, jsonrpc.AppendNotification(nil, method, withoutMeta(params)))
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
	round, fault := s.refilter(uri, add)
	if round == nil {
		return fault
	}
	ctx, cancel := context.WithTimeout(ctx, subscribeTime)
	defer cancel()
	select {
	case <-round.ready:
	case <-ctx.Done():
	}
	return nil
}

// refilter changes the subscriptions and returns the listen request that will
// have them, or nil where there is nothing to wait for.
func (s *Session) refilter(uri string, add bool) (*newsRound, *jsonrpc.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, subscribed := s.resources[uri]; subscribed == add {
		return nil, nil
	}
	switch {
	case !add:
		delete(s.resources, uri)
	case len(s.resources) >= maxSubscriptions:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: the session has %d subscriptions already, which is the most", maxSubscriptions)
	case s.resources == nil:
		s.resources = map[string]struct{}{uri: {}}
	default:
		s.resources[uri] = struct{}{}
	}
	l := s.listening
	if l == nil {
		return nil, nil
	}
	if l.next == nil {
		l.next = &newsRound{ready: make(chan struct{})}
	}
	if l.restart != nil {
		l.restart(errRefilter)
	}
	return l.next, nil
}
