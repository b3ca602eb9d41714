package mcp

import (
	"context"
	"encoding/json"

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
)

// A SubscriptionFilter says which news a client wants (basic/patterns/subscriptions).
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
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
		for _, item := range s.news.take(l) {
			if err := peer.Notify(ctx, item.method, item.params); err != nil {
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
