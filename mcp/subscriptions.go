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

	// ChangesKey is a member of _meta that marks a position in the sequence of a server's changes.
	// A server sends it in the result of server/discover, in the acknowledgement of
	// subscriptions/listen, and in each notification after that. A client that was disconnected
	// sends the last mark in its next subscriptions/listen, and gets notifications of the changes
	// in between. The value is opaque.
	ChangesKey = changes.MarkKey

	maxResourceSubscriptions = 10_000 // URIs in one filter
)

// listen handles subscriptions/listen. It acknowledges the filter, and then sends notifications
// until the request ends.
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
	watches         []*watch // watches to unsubscribe from at the end
	acknowledgement json.RawMessage
}

func (s *Server) beginListen(ctx context.Context, req *Request) (*subscription, error) {
	filter, err := filterOf(req.Params)
	if err != nil {
		return nil, err
	}
	filter, watches := s.supported(ctx, filter)
	since, _ := jsonrpc.Unquote(memberOrNil(memberOrNil(req.Params, "_meta"), ChangesKey))
	wanted := make([]changes.Change, 0, 1+len(filter.ResourceSubscriptions))
	for _, method := range filter.Lists() {
		wanted = append(wanted, changes.Change{Method: method})
	}
	for _, uri := range filter.ResourceSubscriptions {
		wanted = append(wanted, changes.Change{Method: notificationUpdated, URI: uri})
	}
	sub := &subscription{listener: s.changes.Listen(wanted, since), watches: watches}
	w := jsonrpc.NewObject(nil)
	_ = schema.EncodeMember(&w, "notifications", filter) // cannot fail
	changes.WriteMark(&w, sub.listener.Mark())
	sub.acknowledgement = w.Bytes()
	return sub, nil
}

// filterOf decodes the filter in a listen request.
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

// supported returns the part of the filter that the server supports, and the watches of the
// resources in it.
func (s *Server) supported(ctx context.Context, f *SubscriptionFilter) (*SubscriptionFilter, []*watch) {
	agreed := f.OfferedBy(s.capabilities())
	if s.options.OnSubscribe == nil {
		return &agreed, nil
	}
	agreed.ResourceSubscriptions = nil
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
	return &agreed, subscribed
}

func orEmptyObject(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return json.RawMessage(`{}`)
	}
	return params
}
