package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	Size        *int64          `json:"size,omitempty"` // bytes, before any encoding
	Icons       []Icon          `json:"icons,omitempty"`
	Annotations *Annotations    `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// A ResourceTemplate describes many resources by a URI template (RFC 6570).
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

// A ReadResourceResult is the contents of a resource, perhaps with its parts.
type ReadResourceResult struct {
	Contents []ResourceContents `json:"contents"`
	Meta     json.RawMessage    `json:"_meta,omitzero"`
}

// AppendJSON appends the result as JSON, without Meta.
func (r *ReadResourceResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"contents":[`...)
	for i := range r.Contents {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.Contents[i].appendJSON(dst)
	}
	return append(dst, ']', '}'), nil
}

// A ResourceHandler reads the resource with the given URI. variables are the
// values of the template's variables that the URI has, percent-decoded, those of
// a list joined with commas; or nil for a resource without template. They are
// what the client sent: check them before they become a path or a query.
// An error that is no [*Error] is answered as an internal error; return
// [ErrResourceNotFound] where there is nothing under this URI.
type ResourceHandler func(ctx context.Context, uri string, variables map[string]string) (*ReadResourceResult, error)

// ErrResourceNotFound is answered with the code that the client's revision has
// for a resource that does not exist.
var ErrResourceNotFound = &Error{Code: CodeInvalidParams, Message: "resource not found"}

// A template is a registered resource template.
type template struct {
	match *uritemplate.Template
	read  ResourceHandler
}

// AddResource registers a resource and what reads it. The error says what is
// wrong with the URI or the name.
func (s *Server) AddResource(r Resource, read ResourceHandler) error {
	if r.URI == "" || r.Name == "" {
		return fmt.Errorf("resource %q: URI and name must not be empty", r.URI+r.Name)
	}
	listed, err := schema.Encode(nil, r)
	if err != nil {
		return fmt.Errorf("resource %q: %w", r.URI, err)
	}
	s.resources.set(&entry[ResourceHandler]{name: r.URI, listed: listed, feature: read})
	s.news.listChanged(newsResources)
	return nil
}

// AddText registers a resource whose text never changes.
func (s *Server) AddText(r Resource, text string) error {
	contents := &ReadResourceResult{Contents: []ResourceContents{TextContents(r.URI, r.MIMEType, text)}}
	return s.AddResource(r, func(context.Context, string, map[string]string) (*ReadResourceResult, error) {
		return contents, nil
	})
}

// RemoveResource takes resources out by URI; unknown ones are ignored.
func (s *Server) RemoveResource(uris ...string) {
	if s.resources.remove(uris...) {
		s.news.listChanged(newsResources)
	}
}

// AddResourceTemplate registers a template and what reads the resources it
// describes. Where two templates match a URI, the one that sorts first reads it.
// A template may have up to 2 KiB, 32 variables and prefixes of 256 characters
// in all; URIs above 8 KiB match none.
func (s *Server) AddResourceTemplate(t ResourceTemplate, read ResourceHandler) error {
	match, err := uritemplate.Parse(t.URITemplate)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", t.URITemplate, err)
	}
	if t.Name == "" {
		return fmt.Errorf("resource template %q: name must not be empty", t.URITemplate)
	}
	listed, err := schema.Encode(nil, t)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", t.URITemplate, err)
	}
	s.templates.set(&entry[template]{name: t.URITemplate, listed: listed, feature: template{match, read}})
	s.news.listChanged(newsResources)
	return nil
}

// RemoveResourceTemplate takes templates out; unknown ones are ignored.
func (s *Server) RemoveResourceTemplate(templates ...string) {
	if s.templates.remove(templates...) {
		s.news.listChanged(newsResources)
	}
}

// ResourceUpdated tells clients that listen for it that the resource changed.
func (s *Server) ResourceUpdated(uri string) { s.news.updated(uri) }

// readResource answers resources/read.
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
	if e := s.resources.read("resources", s.pageSize).byName[uri]; e != nil {
		return e.feature, nil
	}
	if uri == "" {
		return nil, nil // a template of nothing but variables would match
	}
	for _, e := range s.templates.read("resourceTemplates", s.pageSize).sorted {
		if variables, ok := e.feature.match.Match(uri); ok {
			return e.feature.read, variables
		}
	}
	return nil, nil
}
