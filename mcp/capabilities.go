package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// An Implementation describes MCP client or server software (schema.ts Implementation). It is meant
// for display and logs; no decision may depend on it.
type Implementation struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// An Icon is a picture for a server, tool, resource or prompt (basic/index, icons). Src is an
// https: or data: URI. Fetch it without credentials.
type Icon struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"` // "light" or "dark"
}

// ClientCapabilities lists the requests that a client supports (schema.ts ClientCapabilities). Nil
// fields were not declared.
type ClientCapabilities struct {
	Roots        *RootsCapability           `json:"roots,omitempty"`
	Sampling     *SamplingCapability        `json:"sampling,omitempty"`
	Elicitation  *ElicitationCapability     `json:"elicitation,omitempty"`
	Experimental map[string]json.RawMessage `json:"experimental,omitempty"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"`
}

// RootsCapability declares that the client supports roots/list.
type RootsCapability struct {
	ListChanged bool `json:"listChanged,omitempty"` // legacy revisions only
}

// SamplingCapability declares that the client supports sampling/createMessage.
type SamplingCapability struct {
	Context *struct{} `json:"context,omitempty"` // includeContext with other values than "none"
	Tools   *struct{} `json:"tools,omitempty"`   // tools and toolChoice
}

// ElicitationCapability declares that the client supports elicitation/create. If both fields are
// nil, the client supports forms.
type ElicitationCapability struct {
	Form *struct{} `json:"form,omitempty"`
	URL  *struct{} `json:"url,omitempty"`
}

// ServerCapabilities lists the features of a server (schema.ts ServerCapabilities). The server does
// not offer a feature whose field is nil.
type ServerCapabilities struct {
	Tools        *ListCapability            `json:"tools,omitempty"`
	Resources    *ResourcesCapability       `json:"resources,omitempty"`
	Prompts      *ListCapability            `json:"prompts,omitempty"`
	Completions  *struct{}                  `json:"completions,omitempty"`
	Logging      *struct{}                  `json:"logging,omitempty"`
	Experimental map[string]json.RawMessage `json:"experimental,omitempty"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"`
}

// ListCapability declares a list. ListChanged declares notifications of its changes.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

// ResourcesCapability declares resources. Its fields declare notifications of their changes.
type ResourcesCapability struct {
	Subscribe   bool `json:"subscribe,omitempty"`
	ListChanged bool `json:"listChanged,omitempty"`
}

// List returns the declared lists of a capability such as "tools", or nil if the capability is not
// declared.
func (c *ServerCapabilities) List(name string) *ListCapability {
	at := memberOf(c, name)
	if at.Kind() != reflect.Pointer || at.IsNil() {
		return nil
	}
	list := new(ListCapability)
	if changed := at.Elem().FieldByName("ListChanged"); changed.IsValid() {
		list.ListChanged = changed.Bool()
	}
	return list
}

// Declare declares the lists of a capability such as "tools", with all notifications of their
// changes.
func (c *ServerCapabilities) Declare(name string) {
	all := reflect.New(memberOf(c, name).Type().Elem())
	for i := range all.Elem().NumField() {
		all.Elem().Field(i).SetBool(true)
	}
	memberOf(c, name).Set(all)
}

// A SubscriptionFilter selects the changes that a client wants notifications of
// (basic/patterns/subscriptions).
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
}

// AllLists returns a filter that selects the changes of every list.
func AllLists() (f SubscriptionFilter) {
	for _, list := range revision.Changes() {
		memberOf(&f, list.Filter).SetBool(true)
	}
	return f
}

// Lists returns the methods of the list_changed notifications that the filter selects.
func (f SubscriptionFilter) Lists() (notifications []string) {
	for _, list := range revision.Changes() {
		if memberOf(&f, list.Filter).Bool() {
			notifications = append(notifications, list.Notification)
		}
	}
	return notifications
}

// OfferedBy returns the part of the filter for which a server with these capabilities sends
// notifications.
func (f SubscriptionFilter) OfferedBy(c *ServerCapabilities) SubscriptionFilter {
	for _, list := range revision.Changes() {
		if declared := c.List(list.Capability); declared == nil || !declared.ListChanged {
			memberOf(&f, list.Filter).SetBool(false)
		}
	}
	if c.Resources == nil || !c.Resources.Subscribe {
		f.ResourceSubscriptions = nil
	}
	return f
}

// memberOf returns the field with the given JSON name in a struct, or the zero Value. of is a
// pointer to the struct.
func memberOf(of any, name string) reflect.Value {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// Allow returns the protocol error for a request of the server that needs a capability which the
// client did not declare, or nil. A nil receiver declares no capability. Every [Peer] calls Allow
// before it sends the request.
func (c *ClientCapabilities) Allow(q ServerRequest) error {
	if c == nil {
		c = &ClientCapabilities{}
	}
	switch q.Method {
	case methodRootsList:
		if c.Roots == nil {
			return missingCapability(&ClientCapabilities{Roots: &RootsCapability{}})
		}
	case methodSample:
		if c.Sampling == nil {
			return missingCapability(&ClientCapabilities{Sampling: &SamplingCapability{}})
		}
		if c.Sampling.Tools == nil && (jsonrpc.Get(q.Params, "tools") != nil || jsonrpc.Get(q.Params, "toolChoice") != nil) {
			return missingCapability(&ClientCapabilities{Sampling: &SamplingCapability{Tools: &struct{}{}}})
		}
		return nil
	case methodElicit:
		mode := string(jsonrpc.Get(q.Params, "mode"))
		if !slices.Contains([]string{"", "null", `""`, `"` + ElicitForm + `"`, `"` + ElicitURL + `"`}, mode) {
			return Errorf(CodeInvalidParams, "%s: mode: expected form or url, got %.40s", q.Method, mode)
		}
		url := mode == `"`+ElicitURL+`"`
		e := c.Elicitation
		switch {
		case e != nil && url && e.URL != nil, e != nil && !url && (e.Form != nil || e.URL == nil):
			return nil
		case url:
			return missingCapability(&ClientCapabilities{Elicitation: &ElicitationCapability{URL: &struct{}{}}})
		}
		return missingCapability(&ClientCapabilities{Elicitation: &ElicitationCapability{Form: &struct{}{}}})
	}
	return nil
}
