// Package apps has what servers and clients say to each other of views: HTML documents of a server that a host shows in
// place of, or next to, a tool's result (MCP Apps, extension io.modelcontextprotocol/ui, SEP-1865, 2026-01-26). A tool
// names its view by the URI of a resource ([Link]), and [AddView] serves it. A host that shows views declares
// [Capabilities], reads them with [Read], and shows them in a sandbox; that is not here.
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
	// MIMEType is that of a view.
	MIMEType = "text/html;profile=mcp-app"
	// Scheme is what the URIs of views begin with.
	Scheme = "ui://"
)

// MaxView is how many bytes of HTML a view may have that [Read] returns.
const MaxView = 4 << 20

// Who may call a tool.
const (
	Model = "model" // the model, to which the host offers the tool
	App   = "app"   // views of the same server
)

// Capabilities are what the client of a host declares that shows views; see [mcp.ClientOptions].
func Capabilities() mcp.ClientCapabilities {
	w := jsonrpc.NewObject(nil)
	w.Array("mimeTypes")
	w.StringElement(MIMEType)
	return mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{Extension: w.Bytes()}}
}

// Shown reports whether a client shows views. Where it does not, tools give their results as text, as they
// should in any case.
func Shown(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	var settings struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	return schema.DecodeLoose(c.Extensions[Extension], &settings) == nil && slices.Contains(settings.MIMETypes, MIMEType)
}

// A Link is what a tool says of views.
type Link struct {
	URI        string   `json:"resourceUri,omitempty"` // of the view that its results are shown in; may be empty
	Visibility []string `json:"visibility,omitempty"`  // who may call it, [Model] or [App]; nil: both
}

// Of reads the Link in the _meta of a tool. A member of the form before 2026-01-26 is read, too. What cannot be
// read says nothing.
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

// formerLink is the member of a tool's _meta that named its view before 2026-01-26. It is read, and written where it is.
const formerLink = "ui/resourceUri"

// For reports whether a tool is for who is [Model] or [App].
func (l Link) For(who string) bool { return l.Visibility == nil || slices.Contains(l.Visibility, who) }

// In returns the _meta of a tool with the link in it; all else of it stays.
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

// A View is a document that a host shows, and what it needs there. A host gives it nothing that it does not name here.
type View struct {
	HTML string `json:"-"`

	CSP         *CSP                `json:"csp,omitempty"`
	Permissions map[string]struct{} `json:"permissions,omitempty"` // camera, microphone, geolocation, clipboardWrite
	Domain      string              `json:"domain,omitempty"`      // of the sandbox, in the host's form
	Border      *bool               `json:"prefersBorder,omitempty"`
}

// CSP are the origins that a view may reach; none where there are none.
type CSP struct {
	Connect  []string `json:"connectDomains,omitempty"`  // for requests
	Resource []string `json:"resourceDomains,omitempty"` // for scripts, pictures, styles, fonts, media
	Frame    []string `json:"frameDomains,omitempty"`    // for frames within it
	BaseURI  []string `json:"baseUriDomains,omitempty"`
}

// AddView has a server serve a view under r.URI, which begins with ui://. It panics at a mistake, as
// [mcp.Server.AddResource] does.
func AddView(s *mcp.Server, r mcp.Resource, v View) {
	if !strings.HasPrefix(r.URI, Scheme) {
		panic(fmt.Sprintf("apps: the view %q: the URI has to begin with %s", r.URI, Scheme))
	}
	r.MIMEType = MIMEType
	contents := mcp.TextContents(r.URI, MIMEType, v.HTML)
	ui, err := schema.Encode(nil, v)
	if err != nil {
		panic(fmt.Sprintf("apps: the view %q: %v", r.URI, err)) // strings only: cannot be
	}
	if string(ui) != "{}" {
		contents.Meta = jsonrpc.With(json.RawMessage(`{}`), "ui", ui)
	}
	result := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}
	s.AddResource(r, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) { return result, nil })
}

// Read reads a view. The error says what was expected of it and what came.
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
