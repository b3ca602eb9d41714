package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// An upListener is one running subscriptions/listen on a legacy connection.
type upListener struct {
	filter  SubscriptionFilter
	peer    Peer
	ctx     context.Context
	courier courier
}

// listen hears of everything that the session is told, and subscribes to the
// resources that nobody subscribed to yet.
func (e *legacyEra) listen(ctx context.Context, req *Request) (Result, error) {
	var params struct {
		Notifications SubscriptionFilter `json:"notifications"`
	}
	if err := schema.DecodeLoose(orEmptyObject(req.Params), &params); err != nil {
		return Result{}, Errorf(CodeInvalidParams, "%v", err)
	}
	filter := e.honoured(params.Notifications)
	l := &upListener{filter: filter, peer: req.Peer, ctx: ctx}
	defer l.courier.finish()
	e.mu.Lock()
	e.listeners[l] = struct{}{}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.listeners, l)
		e.mu.Unlock()
	}()
	agreed, err := e.subscribe(ctx, filter.ResourceSubscriptions)
	defer e.unsubscribe(agreed)
	if err != nil {
		return Result{}, err
	}
	filter.ResourceSubscriptions = agreed
	encoded, err := schema.Encode([]byte(`{"notifications":`), filter)
	if err != nil {
		return Result{}, err
	}
	if err := req.Peer.Notify(ctx, notificationAcknowledged, append(encoded, '}')); err != nil {
		return Result{}, err
	}
	select {
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	case <-e.link.Dead():
		return Result{}, fmt.Errorf("server %q: %w", e.name, e.link.Err())
	}
}

// subscribe subscribes to the resources and returns those that the server agreed
// to. One that it refuses takes nothing from the others.
func (e *legacyEra) subscribe(ctx context.Context, uris []string) (agreed []string, err error) {
	for _, uri := range uris {
		var refused *Error
		switch err := e.subscribed.add(ctx, e, uri); {
		case errors.As(err, &refused):
			e.log.Debug("mcp: subscription refused", "server", e.name, "uri", uri, "error", err)
		case err != nil:
			return agreed, err
		default:
			agreed = append(agreed, uri)
		}
	}
	return agreed, nil
}

func (e *legacyEra) unsubscribe(uris []string) {
	for _, uri := range uris {
		e.subscribed.remove(e, uri)
	}
}

// honoured is the part of a filter that the server has news of.
func (e *legacyEra) honoured(f SubscriptionFilter) SubscriptionFilter {
	agreed := SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && e.has.Tools != nil && e.has.Tools.ListChanged,
		PromptsListChanged:   f.PromptsListChanged && e.has.Prompts != nil && e.has.Prompts.ListChanged,
		ResourcesListChanged: f.ResourcesListChanged && e.has.Resources != nil && e.has.Resources.ListChanged,
	}
	if e.has.Resources != nil && e.has.Resources.Subscribe {
		agreed.ResourceSubscriptions = f.ResourceSubscriptions
	}
	return agreed
}

// news tells a notification to all who listen for it.
func (e *legacyEra) news(m *jsonrpc.Message) {
	if m.Method == notificationCancelled {
		e.withdrawn(jsonrpc.ID(m.Members.Get("requestId")))
		return
	}
	uri, _ := jsonrpc.Unquote(m.Members.Get("uri"))
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		if l.filter.wants(m.Method, uri) {
			l.courier.send(func() { _ = l.peer.Notify(l.ctx, m.Method, m.Params) })
		}
	}
}

// wants reports whether the filter lets a notification through. Log messages
// that belong to no call reach every listener; the edge knows who may see them.
func (f *SubscriptionFilter) wants(method, uri string) bool {
	switch method {
	case notificationToolsChanged:
		return f.ToolsListChanged
	case notificationPromptsChanged:
		return f.PromptsListChanged
	case notificationResourcesChanged:
		return f.ResourcesListChanged
	case notificationUpdated:
		return slices.Contains(f.ResourceSubscriptions, uri)
	}
	return method == notificationMessage
}

// subscribed counts who wants to hear of a resource, as the session subscribes once.
type subscribed struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *subscribed) add(ctx context.Context, e *legacyEra, uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[uri] == 0 {
		if _, err := e.simple(ctx, methodSubscribe, jsonrpc.AppendString([]byte(`{"uri":`), uri)); err != nil {
			return err
		}
	}
	s.counts[uri]++
	return nil
}

func (s *subscribed) remove(e *legacyEra, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[uri]--; s.counts[uri] > 0 {
		return
	}
	delete(s.counts, uri)
	if e.link.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, tellTime)
	defer cancel()
	if _, err := e.simple(ctx, methodUnsubscribe, jsonrpc.AppendString([]byte(`{"uri":`), uri)); err != nil {
		e.log.Debug("mcp: unsubscribe failed", "server", e.name, "uri", uri, "error", err)
	}
}
