package edit

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// A Tool holds the changes to a tool. Empty fields change nothing.
type Tool struct {
	Title, Description string // replace the server's title and description
	// Fixed holds arguments with fixed JSON values. The schema for clients omits them, and values
	// that clients send are ignored.
	Fixed map[string]json.RawMessage
	// Defaults holds the values of arguments that a call may omit. The schema contains them as
	// defaults.
	Defaults map[string]json.RawMessage
}

// Options hold the changes to a server's lists.
type Options struct {
	// Keep, if not nil, reports whether clients get a tool, prompt, resource or resource template,
	// by name or URI. Clients can neither call nor read other entries. Keep must be safe for
	// concurrent use and always report the same for one name.
	Keep func(kind Kind, name string) bool
	// Tags, if not nil, returns the tags of an entry. Clients get them in its _meta as
	// io.github.junction-mcp/tags. Tags must be safe for concurrent use and always return the same
	// for one name.
	Tags func(kind Kind, name string) []string
	// Tools and Prompts hold changes by name. Resources holds changes of resources by URI, and of
	// resource templates by template.
	Tools     map[string]Tool
	Prompts   map[string]Entry
	Resources map[string]Entry
}

// Middleware returns middleware that changes the lists of a server.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if l := revision.MethodNamed(req.Method); l.Key != "" {
				result, err := next.Handle(ctx, req)
				if err != nil {
					return result, err
				}
				return o.list(result, l)
			}
			if err := o.withheld(req); err != nil {
				return mcp.Result{}, err
			}
			switch req.Method {
			case "tools/call":
				if t := o.Tools[req.Name]; len(t.Fixed)+len(t.Defaults) > 0 {
					arguments, given := t.arguments(req.Arguments)
					req = req.WithParams(jsonrpc.With(req.Params, "arguments", arguments))
					if len(given) > 0 {
						note.Rewrite(ctx, note.Arguments, "edit", given...)
					}
				}
			case "subscriptions/listen":
				req = o.subscribable(req)
			}
			return next.Handle(ctx, req)
		})
	}
}

// schema returns the input schema for clients, without fixed arguments and with defaults.
func (t *Tool) schema(in json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(in)))
	w.Members(in, "properties", "required")
	w.Object("properties")
	jsonrpc.EachMember(jsonrpc.Get(in, "properties"), func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		if _, fixed := t.Fixed[name]; fixed {
			return true
		}
		if preset, ok := t.Defaults[name]; ok && len(value) > 0 && value[0] == '{' {
			value = jsonrpc.With(value, "default", preset)
		}
		w.Raw(name, value)
		return true
	})
	w.End()
	w.Array("required")
	jsonrpc.EachElement(jsonrpc.Get(in, "required"), func(quoted []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		_, fixed := t.Fixed[name]
		_, preset := t.Defaults[name]
		if !fixed && !preset {
			w.StringElement(name)
		}
		return true
	})
	w.End()
	return w.Bytes()
}

// arguments returns the arguments of a call together with the fixed arguments and the defaults that
// the call omits. The names of these are in added.
func (t *Tool) arguments(given json.RawMessage) (all json.RawMessage, added []string) {
	w := jsonrpc.NewObject(make([]byte, 0, len(given)+64))
	for _, name := range slices.Sorted(maps.Keys(t.Defaults)) {
		if _, fixed := t.Fixed[name]; !fixed && jsonrpc.Get(given, name) == nil {
			w.Raw(name, t.Defaults[name])
			added = append(added, name)
		}
	}
	fixed := slices.Sorted(maps.Keys(t.Fixed))
	w.Members(given, fixed...)
	for _, name := range fixed {
		w.Raw(name, t.Fixed[name])
	}
	return w.Bytes(), append(added, fixed...)
}
