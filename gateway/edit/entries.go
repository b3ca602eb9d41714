package edit

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// A Kind is the kind of an entry in a list.
type Kind string

// The kinds. The name of a resource is its URI, or the URI template. Skills count as resources.
const (
	ToolKind     Kind = "tool"
	PromptKind   Kind = "prompt"
	ResourceKind Kind = "resource"
)

// tagsKey is the member of _meta that holds the tags of an entry.
const tagsKey = "io.github.junction-mcp/tags"

// An Entry holds the changes to a tool, prompt, resource or resource template. Empty fields change
// nothing.
type Entry struct {
	Title, Description string // replace the server's title and description
	// Name replaces the name of a resource or template, which keeps its URI. The gateway changes
	// names of tools and prompts.
	Name string
}

// withheld returns an error if the entry of a request is not offered, and nil otherwise.
func (o *Options) withheld(req *mcp.Request) error {
	if o.Keep == nil {
		return nil
	}
	switch m := revision.MethodNamed(req.Method); req.Method {
	default:
		l := revision.ListOf(m.Kind)
		if m.Used && l.Key == m.Subject && !o.Keep(Kind(l.Kind), req.Name) {
			return mcp.Errorf(mcp.CodeInvalidParams, "unknown %s %q; %s names those that exist", l.Noun, req.SentName(), l.Name)
		}
	case "resources/read", skills.MethodGet, skills.MethodDirectory:
		if uri, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri")); !o.Keep(ResourceKind, uri) {
			e := mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s", uri)
			e.Data, _ = json.Marshal(map[string]string{"uri": uri}) // encoding a string never fails
			return e
		}
	case "completion/complete":
		ref := jsonrpc.Get(req.Params, "ref")
		name, isPrompt := jsonrpc.Unquote(jsonrpc.Get(ref, "name"))
		uri, isTemplate := jsonrpc.Unquote(jsonrpc.Get(ref, "uri"))
		if isPrompt && !o.Keep(PromptKind, name) || isTemplate && !o.Keep(ResourceKind, uri) {
			return mcp.Errorf(mcp.CodeInvalidParams, "ref: unknown %s", name+uri)
		}
	}
	return nil
}

// subscribable returns a listen request without the resources that clients do not get.
func (o *Options) subscribable(req *mcp.Request) *mcp.Request {
	filter := jsonrpc.Get(req.Params, "notifications")
	uris := jsonrpc.Get(filter, "resourceSubscriptions")
	if o.Keep == nil || len(uris) == 0 || uris[0] != '[' {
		return req
	}
	w := jsonrpc.NewArray(nil)
	jsonrpc.EachElement(uris, func(quoted []byte) bool {
		if uri, ok := jsonrpc.Unquote(quoted); !ok || o.Keep(ResourceKind, uri) {
			w.Element(quoted)
		}
		return true
	})
	return req.WithParams(jsonrpc.With(req.Params, "notifications", jsonrpc.With(filter, "resourceSubscriptions", w.Bytes())))
}

// list edits one of the lists.
func (o *Options) list(result mcp.Result, l *revision.Method) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	w.Members(body, l.Member)
	w.Array(l.Member)
	jsonrpc.EachElement(jsonrpc.Get(body, l.Member), func(raw []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, l.Key))
		if kind := Kind(l.Kind); o.Keep == nil || o.Keep(kind, name) {
			w.Element(o.edited(kind, name, raw))
		}
		return true
	})
	return result.WithJSON(w.Bytes()), nil
}

// edited returns a definition with its changes.
func (o *Options) edited(kind Kind, name string, raw json.RawMessage) json.RawMessage {
	var e Entry
	t := Tool{}
	switch kind {
	case ToolKind:
		t = o.Tools[name]
		e = Entry{Title: t.Title, Description: t.Description}
	case PromptKind:
		e = o.Prompts[name]
		e.Name = ""
	case ResourceKind:
		e = o.Resources[name]
	}
	var tags []string
	if o.Tags != nil {
		tags = o.Tags(kind, name)
	}
	if e == (Entry{}) && len(t.Fixed)+len(t.Defaults)+len(tags) == 0 {
		return raw
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(raw)+len(e.Title)+len(e.Description)))
	var replaced []string
	set := func(member, text string) {
		if text != "" {
			replaced = append(replaced, member)
			w.String(member, text)
		}
	}
	set("name", e.Name)
	set("title", e.Title)
	set("description", e.Description)
	if in := jsonrpc.Get(raw, "inputSchema"); len(t.Fixed)+len(t.Defaults) > 0 && len(in) > 0 && in[0] == '{' {
		replaced = append(replaced, "inputSchema")
		w.Raw("inputSchema", t.schema(in))
	}
	if len(tags) > 0 {
		replaced = append(replaced, "_meta")
		w.Object("_meta")
		if meta := jsonrpc.Get(raw, "_meta"); len(meta) > 0 && meta[0] == '{' {
			w.Members(meta, tagsKey)
		}
		w.Array(tagsKey)
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(tags))) {
			w.StringElement(tag)
		}
		w.End()
		w.End()
	}
	w.Members(raw, replaced...)
	return w.Bytes()
}
