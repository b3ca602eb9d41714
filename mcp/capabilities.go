package mcp

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// An Implementation describes a program that speaks MCP (schema.ts
// Implementation). It is for display and logs; nothing may depend on it.
type Implementation struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// An Icon is a picture for a server, tool, resource or prompt (basic/index,
// icons). Src is an https: or data: URI; show it without credentials.
type Icon struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"` // "light" or "dark"
}

// ClientCapabilities are what a client can be asked for (schema.ts
// ClientCapabilities). A nil member was not declared.
type ClientCapabilities struct {
	Roots        *RootsCapability           `json:"roots,omitempty"`
	Sampling     *SamplingCapability        `json:"sampling,omitempty"`
	Elicitation  *ElicitationCapability     `json:"elicitation,omitempty"`
	Experimental map[string]json.RawMessage `json:"experimental,omitempty"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"`
}

// RootsCapability: the client answers roots/list.
type RootsCapability struct {
	ListChanged bool `json:"listChanged,omitempty"` // legacy revisions only
}

// SamplingCapability: the client answers sampling/createMessage.
type SamplingCapability struct {
	Context *struct{} `json:"context,omitempty"` // includeContext other than "none"
	Tools   *struct{} `json:"tools,omitempty"`   // tools and toolChoice
}

// ElicitationCapability: the client answers elicitation/create. With neither
// member set the client can do forms.
type ElicitationCapability struct {
	Form *struct{} `json:"form,omitempty"`
	URL  *struct{} `json:"url,omitempty"`
}

// ServerCapabilities are what a server offers (schema.ts ServerCapabilities).
// A nil member is not offered.
type ServerCapabilities struct {
	Tools        *ListCapability            `json:"tools,omitempty"`
	Resources    *ResourcesCapability       `json:"resources,omitempty"`
	Prompts      *ListCapability            `json:"prompts,omitempty"`
	Completions  *struct{}                  `json:"completions,omitempty"`
	Logging      *struct{}                  `json:"logging,omitempty"`
	Experimental map[string]json.RawMessage `json:"experimental,omitempty"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"`
}

// ListCapability: there is a list, and perhaps notifications of its changes.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

// ResourcesCapability: there are resources, and perhaps notifications of them.
type ResourcesCapability struct {
	Subscribe   bool `json:"subscribe,omitempty"`
	ListChanged bool `json:"listChanged,omitempty"`
}

// List returns what is declared of the lists of a capability, by its name, such as "tools"; nil if nothing is.
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

// Declare declares the lists of a capability, by its name, and every notification of their changes.
func (c *ServerCapabilities) Declare(name string) {
	all := reflect.New(memberOf(c, name).Type().Elem())
	for i := range all.Elem().NumField() {
		all.Elem().Field(i).SetBool(true)
	}
	memberOf(c, name).Set(all)
}

// A SubscriptionFilter says of which changes a client wants to be notified
// (basic/patterns/subscriptions).
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
}

// AllLists returns a filter for changes of every list.
func AllLists() (f SubscriptionFilter) {
	for _, list := range revision.Changes() {
		memberOf(&f, list.Filter).SetBool(true)
	}
	return f
}

// Lists returns the notifications of the lists that the filter names.
func (f SubscriptionFilter) Lists() (notifications []string) {
	for _, list := range revision.Changes() {
		if memberOf(&f, list.Filter).Bool() {
			notifications = append(notifications, list.Notification)
		}
	}
	return notifications
}

// OfferedBy returns the part of the filter that a server with these capabilities notifies of.
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

// memberOf returns the field of a struct that has a name in JSON.
func memberOf(of any, name string) reflect.Value {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// Allow reports, as the protocol error to answer with, that the client did not
// declare what the request needs. A nil receiver declared nothing. Every [Peer]
// calls it before it asks.
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
		url := string(jsonrpc.Get(q.Params, "mode")) == `"url"`
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
