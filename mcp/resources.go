package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/uritemplate"
)

const (
	methodResourcesList = "resources/list"
	methodTemplatesList = "resources/templates/list"
	methodResourcesRead = "resources/read"
	notificationUpdated = "notifications/resources/updated"
)

// A Resource is data that a server offers under a URI (server/resources).
type Resource struct {
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Size        *int64          `json:"size,omitempty"` // in bytes, before any encoding
	Icons       []Icon          `json:"icons,omitempty"`
	Annotations *Annotations    `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// A ResourceTemplate describes several resources by a URI template (RFC 6570).
type ResourceTemplate struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Icons       []Icon          `json:"icons,omitempty"`
	Annotations *Annotations    `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// A ReadResourceResult holds the contents of a resource, possibly in several parts.
type ReadResourceResult struct {
	Contents []ResourceContents `json:"contents"`
	Meta     json.RawMessage    `json:"_meta,omitzero"`
}

// AppendJSON appends the result as JSON, without Meta.
func (r *ReadResourceResult) AppendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.Array("contents")
	for i := range r.Contents {
		_ = w.EncodedElement(r.Contents[i].appendJSON) // cannot fail
	}
	return w.Bytes(), nil
}

// A ResourceHandler reads the resource with the given URI. For a resource of a template, variables
// contains the percent-decoded values of the template's variables. The values of a list are joined
// with commas. For other resources, variables is nil. The values come from the client: check them
// before you use them in a path or a query. The error should be [ErrResourceNotFound] if the
// resource does not exist. An error that is not an [*Error] becomes an internal error.
type ResourceHandler func(ctx context.Context, uri string, variables map[string]string) (*ReadResourceResult, error)

// ErrResourceNotFound reports that a resource does not exist. It is sent with the error code that
// the client's revision defines for this.
var ErrResourceNotFound = &Error{Code: CodeInvalidParams, Message: "resource not found"}

// A template is a registered resource template.
type template struct {
	match *uritemplate.Template
	read  ResourceHandler
}

// AddResource registers a resource and its handler. It panics if the resource is invalid, for
// example if its URI has no scheme, and if the URI is in use.
func (s *Server) AddResource(r Resource, read ResourceHandler) {
	must(s.registerResource(r, read, adding))
}

// SetResource registers a resource from data, and replaces a resource with the same URI. It returns
// an error if the resource is invalid.
func (s *Server) SetResource(r Resource, read ResourceHandler) error {
	return s.registerResource(r, read, setting)
}

func (s *Server) registerResource(r Resource, read ResourceHandler, how registration) error {
	switch u, err := url.Parse(r.URI); {
	case err != nil:
		return fmt.Errorf("resource %q: %w", r.URI, err)
	case u.Scheme == "":
		return fmt.Errorf("resource %q: the URI has no scheme: write one such as notes://%s", r.URI, strings.TrimPrefix(r.URI, "/"))
	case r.Name == "":
		return fmt.Errorf("resource %q: the name is empty", r.URI)
	case read == nil:
		return fmt.Errorf("resource %q: the handler is nil", r.URI)
	}
	listed, err := schema.Encode(nil, r)
	if err != nil {
		return fmt.Errorf("resource %q: %w", r.URI, err)
	}
	if !s.resources.put(&entry{name: r.URI, listed: listed, feature: read}, how) {
		return taken("resource", r.URI, "SetResource")
	}
	return nil
}

// AddText is like [Server.AddResource], for a resource with constant text.
func (s *Server) AddText(r Resource, text string) {
	contents := &ReadResourceResult{Contents: []ResourceContents{TextContents(r.URI, r.MIMEType, text)}}
	s.AddResource(r, func(context.Context, string, map[string]string) (*ReadResourceResult, error) {
		return contents, nil
	})
}

// RemoveResource removes resources by URI. It ignores unknown URIs.
func (s *Server) RemoveResource(uris ...string) {
	s.resources.remove(uris...)
}

// AddResourceTemplate registers a template and the handler of its resources. If several templates
// match a URI, the first one in the order of the list is used. A template may have up to 2 KiB, 32
// variables, and prefixes of 256 characters in total. URIs of more than 8 KiB match no template.
// AddResourceTemplate panics if the template is invalid or already registered.
func (s *Server) AddResourceTemplate(t ResourceTemplate, read ResourceHandler) {
	must(s.registerTemplate(t, read, adding))
}

// SetResourceTemplate registers a template from data, and replaces the registration of the same
// template. It returns an error if the template is invalid.
func (s *Server) SetResourceTemplate(t ResourceTemplate, read ResourceHandler) error {
	return s.registerTemplate(t, read, setting)
}

func (s *Server) registerTemplate(t ResourceTemplate, read ResourceHandler, how registration) error {
	match, err := uritemplate.Parse(t.URITemplate)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", t.URITemplate, err)
	}
	if t.Name == "" {
		return fmt.Errorf("resource template %q: the name is empty", t.URITemplate)
	}
	if read == nil {
		return fmt.Errorf("resource template %q: the handler is nil", t.URITemplate)
	}
	listed, err := schema.Encode(nil, t)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", t.URITemplate, err)
	}
	if !s.templates.put(&entry{name: t.URITemplate, listed: listed, feature: &template{match, read}}, how) {
		return taken("resource template", t.URITemplate, "SetResourceTemplate")
	}
	return nil
}

// RemoveResourceTemplate removes templates. It ignores unknown ones.
func (s *Server) RemoveResourceTemplate(templates ...string) {
	s.templates.remove(templates...)
}

// ResourceUpdated notifies clients of a change of a resource that they subscribed to. It does not
// wait for the clients.
func (s *Server) ResourceUpdated(uri string) {
	s.changes.Add(changes.Change{Method: notificationUpdated, URI: uri})
}

// readResource handles resources/read.
func (s *Server) readResource(ctx context.Context, req *Request) (Result, error) {
	read, variables := s.findResource(req.Name)
	if read == nil {
		return Result{}, notFound(req.Name)
	}
	contents, err := read(ctx, req.Name, variables)
	if errors.Is(err, ErrResourceNotFound) {
		return Result{}, notFound(req.Name)
	}
	if err != nil {
		return Result{}, err
	}
	if contents == nil || len(contents.Contents) == 0 {
		return Result{}, notFound(req.Name)
	}
	for i := range contents.Contents {
		if contents.Contents[i].URI == "" {
			return Result{}, fmt.Errorf("resource %s: contents %d have no URI", req.Name, i)
		}
	}
	return Result{Value: contents, Meta: contents.Meta}, nil
}

func (s *Server) findResource(uri string) (ResourceHandler, map[string]string) {
	if read, ok := find[ResourceHandler](&s.resources, uri); ok {
		return read, nil
	}
	if uri == "" {
		return nil, nil // a template with nothing but variables would match
	}
	for _, e := range s.templates.read().sorted {
		t := e.feature.(*template)
		if variables, ok := t.match.Match(uri); ok {
			return t.read, variables
		}
	}
	return nil, nil
}
