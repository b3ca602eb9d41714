package mcp

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	methodListen             = "subscriptions/listen"
	notificationAcknowledged = "notifications/subscriptions/acknowledged"

	notificationToolsChanged     = "notifications/tools/list_changed"
	notificationPromptsChanged   = "notifications/prompts/list_changed"
	notificationResourcesChanged = "notifications/resources/list_changed"

	// ChangesKey is a member of _meta that says how many of a server's changes a
	// client knows of. A server sends it with the result of server/discover, with
	// the acknowledgement of subscriptions/listen, and with each notification that
	// follows. A client that was away returns the last one with its next
	// subscriptions/listen and is notified at once of what changed in between. The
	// value is opaque.
	ChangesKey = changes.MarkKey

	maxResourceSubscriptions = 10_000 // URIs in one filter
)

// A SubscriptionFilter says of which changes a client wants to be notified
// (basic/patterns/subscriptions).
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
}

// changes returns what the filter lets through.
func (f *SubscriptionFilter) changes() []changes.Change {
	wanted := make([]changes.Change, 0, 1+len(f.ResourceSubscriptions))
	for _, list := range [...]struct {
		wanted bool
		method string
	}{
		{f.ToolsListChanged, notificationToolsChanged},
		{f.PromptsListChanged, notificationPromptsChanged},
		{f.ResourcesListChanged, notificationResourcesChanged},
	} {
		if list.wanted {
			wanted = append(wanted, changes.Change{Method: list.method})
		}
	}
	for _, uri := range f.ResourceSubscriptions {
		wanted = append(wanted, changes.Change{Method: notificationUpdated, URI: uri})
	}
	return wanted
}

// listChanged notifies clients that a list changed.
func (s *Server) listChanged(method string) { s.changes.Add(changes.Change{Method: method}) }

// listen answers subscriptions/listen: it acknowledges what the server notifies
// of, and then sends notifications until the client has enough.
func (s *Server) listen(ctx context.Context, req *Request) error {
	sub, err := s.beginListen(ctx, req)
	if err != nil {
		return err
	}
	defer s.unsubscribe(sub.watches)
	defer sub.listener.Close()
	if err := req.Peer.Notify(ctx, notificationAcknowledged, sub.acknowledgement); err != nil {
		return err
	}
	return sub.listener.Forward(ctx, req.Peer.Notify)
}

// A subscription is one running subscriptions/listen.
type subscription struct {
	listener        *changes.Listener
	watches         []*watch // to unsubscribe from in the end
	acknowledgement json.RawMessage
}

func (s *Server) beginListen(ctx context.Context, req *Request) (*subscription, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	filter, watches := s.supported(ctx, filter)
	since, _ := jsonrpc.Unquote(memberOrNil(memberOrNil(req.Params, "_meta"), ChangesKey))
	sub := &subscription{listener: s.changes.Listen(filter.changes(), since), watches: watches}
	w := jsonrpc.NewObject(nil)
	_ = schema.EncodeMember(&w, "notifications", filter) // cannot fail
	changes.WriteMark(&w, sub.listener.Mark())
	sub.acknowledgement = w.Bytes()
	return sub, nil
}

// filterOf reads the filter of a listen request.
func filterOf(params json.RawMessage) (*SubscriptionFilter, error) {
	raw := memberOrNil(params, "notifications")
	if len(raw) == 0 || raw[0] != '{' {
		return nil, Errorf(CodeInvalidParams, "notifications: expected an object, got %.40s", raw)
	}
	f := &SubscriptionFilter{}
	if err := schema.DecodeLoose(raw, f); err != nil {
		return nil, Errorf(CodeInvalidParams, "notifications: %v", err)
	}
	if len(f.ResourceSubscriptions) > maxResourceSubscriptions {
		return nil, Errorf(CodeInvalidParams, "notifications.resourceSubscriptions: at most %d, got %d", maxResourceSubscriptions, len(f.ResourceSubscriptions))
	}
	return f, nil
}

// supported returns the part of the filter that the server has notifications
// for, and the resources that it watches for it.
func (s *Server) supported(ctx context.Context, f *SubscriptionFilter) (*SubscriptionFilter, []*watch) {
	c := s.capabilities()
	agreed := &SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && c.Tools != nil,
		PromptsListChanged:   f.PromptsListChanged && c.Prompts != nil,
		ResourcesListChanged: f.ResourcesListChanged && c.Resources != nil,
	}
	if c.Resources == nil {
		return agreed, nil
	}
	if s.options.OnSubscribe == nil {
		agreed.ResourceSubscriptions = f.ResourceSubscriptions
		return agreed, nil
	}
	var subscribed []*watch
	for _, uri := range f.ResourceSubscriptions {
		w, err := s.subscribe(ctx, uri)
		if err != nil {
			s.log.Debug("mcp: subscription refused", "uri", uri, "error", err)
			continue
		}
		subscribed = append(subscribed, w)
		agreed.ResourceSubscriptions = append(agreed.ResourceSubscriptions, uri)
	}
	return agreed, subscribed
}

func orEmptyObject(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return json.RawMessage(`{}`)
	}
	return params
}
