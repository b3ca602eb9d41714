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

// A Tool says what is different about a tool. Empty fields change nothing.
type Tool struct {
	Title, Description string // in place of the server's
	// Fixed are arguments that always have these values, JSON. Clients do not see them in the schema, and
	// what they send in their place is not used.
	Fixed map[string]json.RawMessage
	// Defaults are arguments that have these values where a call gives none. The schema says so.
	Defaults map[string]json.RawMessage
}

// Options say what is different about what a server offers.
type Options struct {
	// Keep, if not nil, says whether a tool, prompt, resource or resource template is offered, by name or URI. One that
	// is not can be neither called nor read. It must be safe for concurrent use, and always say the same of one name.
	Keep func(kind Kind, name string) bool
	// Tags, if not nil, are words for an entry, which clients find in its _meta as io.github.junction-mcp/tags. What
	// holds for Keep holds for it.
	Tags func(kind Kind, name string) []string
	// Tools, Prompts and Resources are those that are changed, by name; resources and templates by URI.
	Tools     map[string]Tool
	Prompts   map[string]Entry
	Resources map[string]Entry
}

// Middleware returns middleware that changes what a server offers.
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

// schema is the input schema as clients are to fill it in.
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

// arguments returns those of a call with what is fixed, and what it does not give, and the names of these.
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
