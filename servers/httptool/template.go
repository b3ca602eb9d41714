package httptool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// A Template describes a tool that sends one request. In URL, Header, Body and Text, {name} stands
// for the argument with that name; {{ and }} stand for braces.
//
// A member of the body, a query parameter or a header that consists only of {name} is omitted if
// the argument is missing or null. In a body it keeps the argument's type. In a query or a header a
// list becomes one value for each element. Everywhere else an argument must be text, a number or a
// boolean.
type Template struct {
	// Tool holds the name and the description of the tool. Without an InputSchema every argument is
	// a required string. The default Annotations follow from the method (see [AnnotationsFor]).
	Tool mcp.Tool
	// Method defaults to GET, or to POST if there is a body.
	Method string
	// URL is absolute, or a path below Options.Base. Arguments are allowed in the path and in
	// values of the query.
	URL string
	// Header maps names to values of headers.
	Header map[string]string
	// Body is a JSON body; nil means none.
	Body json.RawMessage
	// Text is a request body that is not JSON; Header must name its type. Its arguments are not
	// escaped. Empty means none.
	Text string
}

// A Server is a server whose tools are requests. The caller must close it.
type Server struct {
	*mcp.Server
	client *Client
}

// New returns a server with a tool for each template. Without Options.Base, the common origin of
// all URLs gets the credentials; if origins differ, credentials need a Base. The error names the
// template and the mistake.
func New(name string, o Options, templates ...Template) (*Server, error) {
	prepared := make([]*filling, len(templates))
	for i, t := range templates {
		f, err := prepare(t)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Tool.Name, err)
		}
		prepared[i] = f
	}
	o.Base = cmp.Or(o.Base, commonOrigin(prepared))
	client, err := NewClient(name, o)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", name, err)
	}
	s := &Server{mcp.NewServerWith(name, "1.0.0", mcp.ServerOptions{NoLogging: true, Logger: o.Logger}), client}
	client.Offer(s.Server)
	for _, f := range prepared {
		if !f.absolute && o.Base == "" {
			return nil, fmt.Errorf("tool %q: %q is a path, and there is no base URL", f.tool.Name, f.template.URL)
		}
		if err := s.SetTool(f.tool, func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			return f.call(ctx, client, arguments)
		}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close closes idle connections and drops the stored responses.
func (s *Server) Close() error { return s.client.Close() }

// AnnotationsFor returns the annotations that follow from a method (RFC 9110, section 9.2). GET,
// HEAD, OPTIONS and TRACE are read-only, PUT and DELETE are idempotent, DELETE is destructive. All
// have an open world.
func AnnotationsFor(method string) *mcp.ToolAnnotations {
	a := &mcp.ToolAnnotations{OpenWorldHint: new(true)}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint = new(true), new(true), new(false)
	case http.MethodPut:
		a.ReadOnlyHint, a.IdempotentHint = new(false), new(true)
	case http.MethodDelete:
		a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint = new(false), new(true), new(true)
	default:
		a.ReadOnlyHint = new(false)
	}
	return a
}

// commonOrigin returns the origin of all URLs, or "" if they differ.
func commonOrigin(all []*filling) string {
	origin := ""
	for _, f := range all {
		switch {
		case !f.absolute:
			return ""
		case origin == "":
			origin = f.origin
		case origin != f.origin:
			return ""
		}
	}
	return origin
}

// A filling is a parsed template.
type filling struct {
	template Template
	tool     mcp.Tool
	method   string
	absolute bool
	origin   string // empty if the URL is a path
	path     []pieces
	query    []pair
	header   []pair
	body     any // nil means no body
	hasBody  bool
	text     pieces
}

// A pair is a query parameter or a header.
type pair struct {
	name  string
	value pieces
}

// prepare parses a template.
func prepare(t Template) (*filling, error) {
	f := &filling{template: t, tool: t.Tool, method: strings.ToUpper(t.Method)}
	if f.method == "" {
		f.method = http.MethodGet
		if t.Body != nil || t.Text != "" {
			f.method = http.MethodPost
		}
	}
	if !isToken(f.method) {
		return nil, fmt.Errorf("%q is not an HTTP method", t.Method)
	}
	for _, step := range []func() error{f.readURL, f.readHeader, f.readBody, f.describe} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// readURL splits the URL before arguments are filled in, so that no argument can change the
// structure.
func (f *filling) readURL() error {
	rest, query, _ := strings.Cut(f.template.URL, "?")
	if strings.Contains(f.template.URL, "#") {
		return errors.New("the URL has a fragment, which is not sent")
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		host, path, _ := strings.Cut(after, "/")
		if _, err := parseBase(scheme + "://" + host); err != nil || strings.ContainsAny(scheme+host, "{}") {
			return fmt.Errorf("URL %q: expected http or https and a host without arguments", f.template.URL)
		}
		f.absolute, f.origin, rest = true, scheme+"://"+host, path
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		p, err := parsePieces(segment)
		if err != nil {
			return fmt.Errorf("URL: %w", err)
		}
		if _, err := url.PathUnescape(segment); err != nil {
			return fmt.Errorf("URL: %w", err)
		}
		f.path = append(f.path, p)
	}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil || strings.ContainsAny(name, "{}") {
			return fmt.Errorf("URL: %q is not a valid name of a parameter", name)
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return fmt.Errorf("URL: the value of %s cannot be read", plain)
		}
		p, err := parsePieces(value)
		if err != nil {
			return fmt.Errorf("URL: %s: %w", plain, err)
		}
		f.query = append(f.query, pair{plain, p})
	}
	return nil
}

func (f *filling) readHeader() error {
	for name, value := range f.template.Header {
		p, err := parsePieces(value)
		switch {
		case err != nil:
			return fmt.Errorf("header %s: %w", name, err)
		case !isToken(name) || slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer"}, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("header %q cannot be set", name)
		}
		f.header = append(f.header, pair{http.CanonicalHeaderKey(name), p})
	}
	slices.SortFunc(f.header, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (f *filling) readBody() (err error) {
	switch {
	case f.template.Body != nil && f.template.Text != "":
		return errors.New("it has a Body and a Text: expected one")
	case f.template.Body != nil:
		f.hasBody = true
		if f.body, err = tree.ParseJSON(f.template.Body); err == nil {
			f.body, err = parseBody(f.body)
		}
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
	default:
		if f.text, err = parsePieces(f.template.Text); err != nil {
			return fmt.Errorf("text: %w", err)
		}
	}
	return nil
}

// describe completes the tool. It returns an error if the schema lacks an argument of the template.
func (f *filling) describe() error {
	used := f.arguments()
	f.tool.Annotations = cmp.Or(f.tool.Annotations, AnnotationsFor(f.method))
	if f.tool.InputSchema == nil {
		properties, required := tree.NewObject(), []any{}
		for _, name := range used {
			properties.Set(name, tree.NewObject("type", "string"))
			required = append(required, name)
		}
		f.tool.InputSchema = tree.Append(nil, tree.NewObject("type", "object", "properties", properties, "required", required, "additionalProperties", false))
		return nil
	}
	schema, err := tree.ParseJSON(f.tool.InputSchema)
	if err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	object, _ := schema.(*tree.Object)
	for _, name := range used {
		if !object.Object("properties").Has(name) {
			return fmt.Errorf("{%s} is not among the properties of the input schema; for a literal brace, write it twice", name)
		}
	}
	return nil
}
