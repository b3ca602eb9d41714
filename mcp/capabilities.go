package mcp

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
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
		return c.allowSampling(q.Params)
	case methodElicit:
		return c.allowElicitation(q.Params)
	}
	return nil
}

func (c *ClientCapabilities) allowSampling(params json.RawMessage) error {
	if c.Sampling == nil {
		return missingCapability(&ClientCapabilities{Sampling: &SamplingCapability{}})
	}
	if c.Sampling.Tools == nil && (jsonrpc.Get(params, "tools") != nil || jsonrpc.Get(params, "toolChoice") != nil) {
		return missingCapability(&ClientCapabilities{Sampling: &SamplingCapability{Tools: &struct{}{}}})
	}
	return nil
}

func (c *ClientCapabilities) allowElicitation(params json.RawMessage) error {
	url := string(jsonrpc.Get(params, "mode")) == `"url"`
	e := c.Elicitation
	switch {
	case e != nil && url && e.URL != nil, e != nil && !url && (e.Form != nil || e.URL == nil):
		return nil
	case url:
		return missingCapability(&ClientCapabilities{Elicitation: &ElicitationCapability{URL: &struct{}{}}})
	}
	return missingCapability(&ClientCapabilities{Elicitation: &ElicitationCapability{Form: &struct{}{}}})
}
