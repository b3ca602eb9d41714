package edit

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
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

// Options say what is different about the tools of a server.
type Options struct {
	// Keep, if not nil, says whether a tool is offered. One that is not cannot be called. It must be safe for
	// concurrent use, and always say the same of one name.
	Keep func(tool string) bool
	// Tools are those that are changed, by name.
	Tools map[string]Tool
}

// Middleware returns middleware that changes the tools of a server.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Method {
			case "tools/list":
				result, err := next.Handle(ctx, req)
				if err != nil {
					return result, err
				}
				return o.list(result)
			case "tools/call":
				if o.Keep != nil && !o.Keep(req.Name) {
					return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "unknown tool %q", req.Name)
				}
				if t := o.Tools[req.Name]; len(t.Fixed)+len(t.Defaults) > 0 {
					req = req.WithParams(jsonrpc.With(req.Params, "arguments", t.arguments(req.Arguments)))
				}
			}
			return next.Handle(ctx, req)
		})
	}
}

// list edits a list of tools.
func (o *Options) list(result mcp.Result) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	w.Members(body, "tools")
	w.Array("tools")
	jsonrpc.EachElement(jsonrpc.Get(body, "tools"), func(raw []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
		if o.Keep != nil && !o.Keep(name) {
			return true
		}
		if t, changed := o.Tools[name]; changed {
			raw = t.edited(raw)
		}
		w.Element(raw)
		return true
	})
	return result.WithJSON(w.Bytes()), nil
}

// edited is the definition of a tool with its changes.
func (t *Tool) edited(raw json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(raw)+len(t.Title)+len(t.Description)))
	var replaced []string
	set := func(member, text string) {
		if text != "" {
			replaced = append(replaced, member)
			w.String(member, text)
		}
	}
	set("title", t.Title)
	set("description", t.Description)
	if in := jsonrpc.Get(raw, "inputSchema"); len(t.Fixed)+len(t.Defaults) > 0 && len(in) > 0 && in[0] == '{' {
		replaced = append(replaced, "inputSchema")
		w.Raw("inputSchema", t.schema(in))
	}
	w.Members(raw, replaced...)
	return w.Bytes()
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

// arguments are those of a call with what is fixed, and what it does not give.
func (t *Tool) arguments(given json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(given)+64))
	for _, name := range slices.Sorted(maps.Keys(t.Defaults)) {
		if _, fixed := t.Fixed[name]; !fixed && jsonrpc.Get(given, name) == nil {
			w.Raw(name, t.Defaults[name])
		}
	}
	w.Members(given, slices.Sorted(maps.Keys(t.Fixed))...)
	for _, name := range slices.Sorted(maps.Keys(t.Fixed)) {
		w.Raw(name, t.Fixed[name])
	}
	return w.Bytes()
}
