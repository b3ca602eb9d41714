// Package apps implements views: HTML documents of a server that a host shows in place of, or next
// to, a tool's result (MCP Apps, extension io.modelcontextprotocol/ui, SEP-1865, 2026-01-26). A
// tool names its view by the URI of a resource ([Link]), and [AddView] serves that resource. The
// client of a host that shows views declares [Capabilities] and reads views with [Read]. The host
// must show views in a sandbox, which this package does not provide.
package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// Extension is the name of the extension in the capabilities of clients.
	Extension = "io.modelcontextprotocol/ui"
	// MIMEType is the MIME type of a view.
	MIMEType = "text/html;profile=mcp-app"
	// Scheme is the prefix of the URIs of views.
	Scheme = "ui://"
)

// MaxView is the maximum size of a view that [Read] returns, in bytes of HTML.
const MaxView = 4 << 20

// The callers of a tool.
const (
	Model = "model" // the model, to which the host offers the tool
	App   = "app"   // views of the same server
)

// Capabilities returns the capabilities to declare by the client of a host that shows views; see
// [mcp.ClientOptions].
func Capabilities() mcp.ClientCapabilities {
	w := jsonrpc.NewObject(nil)
	w.Array("mimeTypes")
	w.StringElement(MIMEType)
	return mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{Extension: w.Bytes()}}
}

// Shown reports whether a client shows views. A tool should return its result as text in any case,
// as other clients show only the text.
func Shown(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	var settings struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	return schema.DecodeLoose(c.Extensions[Extension], &settings) == nil && slices.Contains(settings.MIMETypes, MIMEType)
}

// A Link is a tool's reference to its view.
type Link struct {
	URI        string   `json:"resourceUri,omitempty"` // URI of the view that shows the tool's results; may be empty
	Visibility []string `json:"visibility,omitempty"`  // allowed callers, [Model] or [App]; nil means both
}

// Of returns the Link in the _meta of a tool. It also reads the form from before 2026-01-26. It
// ignores malformed members.
func Of(meta json.RawMessage) Link {
	var l Link
	if ui := jsonrpc.Get(meta, "ui"); len(ui) == 0 || schema.DecodeLoose(ui, &l) != nil {
		l = Link{}
	}
	if l.URI == "" {
		l.URI, _ = jsonrpc.Unquote(jsonrpc.Get(meta, formerLink))
	}
	if !strings.HasPrefix(l.URI, Scheme) {
		l.URI = ""
	}
	return l
}

// formerLink is the member of a tool's _meta that named the view before 2026-01-26. Of reads it,
// and In updates it if the tool has it.
const formerLink = "ui/resourceUri"

// For reports whether who, [Model] or [App], may call the tool.
func (l Link) For(who string) bool { return l.Visibility == nil || slices.Contains(l.Visibility, who) }

// In returns the _meta of a tool with the link added. It keeps all other members.
func (l Link) In(meta json.RawMessage) json.RawMessage {
	if meta == nil {
		meta = json.RawMessage(`{}`)
	}
	ui := jsonrpc.Get(meta, "ui")
	if len(ui) == 0 || ui[0] != '{' {
		ui = json.RawMessage(`{}`)
	}
	if l.URI != "" {
		uri := jsonrpc.AppendString(nil, l.URI)
		ui = jsonrpc.With(ui, "resourceUri", uri)
		if jsonrpc.Get(meta, formerLink) != nil {
			meta = jsonrpc.With(meta, formerLink, uri)
		}
	}
	if l.Visibility != nil {
		w := jsonrpc.NewArray(nil)
		for _, who := range l.Visibility {
			w.StringElement(who)
		}
		ui = jsonrpc.With(ui, "visibility", w.Bytes())
	}
	return jsonrpc.With(meta, "ui", ui)
}

// A View is a document that a host shows, and the permissions that the document needs. A host
// grants only the permissions that are listed here.
type View struct {
	HTML string `json:"-"`

	CSP         *CSP                `json:"csp,omitempty"`
	Permissions map[string]struct{} `json:"permissions,omitempty"` // camera, microphone, geolocation, clipboardWrite
	Domain      string              `json:"domain,omitempty"`      // origin of the sandbox; each host defines the form
	Border      *bool               `json:"prefersBorder,omitempty"`
}

// CSP lists the origins that a view may reach. An empty list allows none.
type CSP struct {
	Connect  []string `json:"connectDomains,omitempty"`  // for requests
	Resource []string `json:"resourceDomains,omitempty"` // for scripts, pictures, styles, fonts, media
	Frame    []string `json:"frameDomains,omitempty"`    // for frames within it
	BaseURI  []string `json:"baseUriDomains,omitempty"`
}

// AddView serves a view at r.URI, which must begin with ui://. Like [mcp.Server.AddResource], it
// panics if an argument is invalid.
func AddView(s *mcp.Server, r mcp.Resource, v View) {
	if !strings.HasPrefix(r.URI, Scheme) {
		panic(fmt.Sprintf("apps: the view %q: the URI has to begin with %s", r.URI, Scheme))
	}
	r.MIMEType = MIMEType
	contents := mcp.TextContents(r.URI, MIMEType, v.HTML)
	ui, err := schema.Encode(nil, v)
	if err != nil {
		panic(fmt.Sprintf("apps: the view %q: %v", r.URI, err)) // strings only: cannot fail
	}
	if string(ui) != "{}" {
		contents.Meta = jsonrpc.With(json.RawMessage(`{}`), "ui", ui)
	}
	result := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}
	s.AddResource(r, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) { return result, nil })
}

// Read reads a view with resources/read. The error names the expected and the received contents.
func Read(ctx context.Context, c *mcp.Client, uri string) (*View, error) {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("server %q: view %.200q: %s", c.Name(), uri, fmt.Sprintf(format, args...))
	}
	if !strings.HasPrefix(uri, Scheme) {
		return nil, fail("expected a URI that begins with %s", Scheme)
	}
	result, err := c.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	if len(result.Contents) != 1 {
		return nil, fail("expected one document, got %d", len(result.Contents))
	}
	contents := &result.Contents[0]
	v := &View{HTML: contents.Text}
	if contents.Blob != nil {
		v.HTML = string(contents.Blob)
	}
	switch {
	case contents.MIMEType != MIMEType:
		return nil, fail("expected %s, got %.100q", MIMEType, contents.MIMEType)
	case len(v.HTML) > MaxView:
		return nil, fail("%d bytes are more than %d MiB", len(v.HTML), MaxView>>20)
	}
	if ui := jsonrpc.Get(contents.Meta, "ui"); ui != nil {
		if err := schema.DecodeLoose(ui, v); err != nil {
			return nil, fail("its _meta.ui: %v", err)
		}
	}
	return v, nil
}
