package redact

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Places are what is hidden of the calls of one tool.
type Places struct {
	// Arguments are what the server does not get.
	Arguments Paths
	// Results are what the client does not get: of structuredContent, and of each text that is itself a JSON
	// object or array. In other text nothing is found.
	Results Paths
}

// None reports whether nothing is hidden.
func (p Places) None() bool { return p.Arguments.None() && p.Results.None() }

// And is what is hidden by p, and by more.
func (p Places) And(more Places) Places {
	return Places{p.Arguments.and(more.Arguments), p.Results.and(more.Results)}
}

// Options say what is hidden.
type Options struct {
	All   Places            // of all tools; its Results also of resources that are JSON
	Tools map[string]Places // in addition, of single tools, by name
}

// Middleware returns middleware that hides places. A tool of which results are hidden has no outputSchema, as
// its results need not fit it any more.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			hidden := o.All
			switch req.Method {
			case "tools/list":
				return o.list(next.Handle(ctx, req))
			case "tools/call":
				hidden = o.Of(req.Name)
			case "resources/read":
			default:
				return next.Handle(ctx, req)
			}
			return hidden.Handle(ctx, req, next)
		})
	}
}

// Of is what is hidden of a tool, by the server's name for it.
func (o *Options) Of(tool string) Places {
	return o.All.And(o.Tools[tool])
}

// Any is what is hidden of any of the tools.
func (o *Options) Any() Places {
	all := o.All
	for _, name := range slices.Sorted(maps.Keys(o.Tools)) {
		all = all.And(o.Tools[name])
	}
	return all
}

// Handle passes a request on to next without what is hidden of its arguments, and returns its result without what is
// hidden of that.
func (p Places) Handle(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	if kept := p.Arguments.Hide(req.Arguments); len(kept) > 0 && !p.Arguments.None() {
		req = req.WithParams(jsonrpc.With(req.Params, "arguments", kept))
	}
	result, err := next.Handle(ctx, req)
	if err != nil || p.Results.None() {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	return result.WithJSON(p.Results.result(body)), nil
}

func (p Paths) and(more Paths) Paths {
	return Paths{append(p.parts[:len(p.parts):len(p.parts)], more.parts...)}
}

// list takes the schemas out that results need not fit any more.
func (o *Options) list(result mcp.Result, err error) (mcp.Result, error) {
	if err != nil {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	w.Members(body, "tools")
	w.Array("tools")
	jsonrpc.EachElement(jsonrpc.Get(body, "tools"), func(tool []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(tool, "name"))
		if !o.All.Results.and(o.Tools[name].Results).None() {
			tool = jsonrpc.Without(tool, "outputSchema")
		}
		w.Element(tool)
		return true
	})
	return result.WithJSON(w.Bytes()), nil
}

// HideResult returns a result of a tool, or of resources/read, with the text *** in every place: of structuredContent, and of
// each text that is JSON. It does not change body.
func (p Paths) HideResult(body json.RawMessage) json.RawMessage {
	if p.None() || len(body) == 0 || body[0] != '{' {
		return body
	}
	return p.result(body)
}

// result is a result of a tool, or of resources/read, without what is hidden.
func (p Paths) result(body json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	jsonrpc.EachMember(body, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		switch name {
		case "structuredContent":
			value = p.Hide(value)
		case "content", "contents":
			value = p.texts(value)
		}
		w.Raw(name, value)
		return true
	})
	return w.Bytes()
}

// texts are items whose texts are looked at where they are JSON.
func (p Paths) texts(items json.RawMessage) json.RawMessage {
	if len(items) == 0 || items[0] != '[' {
		return items
	}
	w := jsonrpc.NewArray(make([]byte, 0, len(items)))
	jsonrpc.EachElement(items, func(item []byte) bool {
		item = p.text(item)
		if embedded := jsonrpc.Get(item, "resource"); len(embedded) > 0 && embedded[0] == '{' {
			item = jsonrpc.With(item, "resource", p.text(embedded))
		}
		w.Element(item)
		return true
	})
	return w.Bytes()
}

func (p Paths) text(item json.RawMessage) json.RawMessage {
	text, ok := jsonrpc.Unquote(jsonrpc.Get(item, "text"))
	if !ok {
		return item
	}
	at := jsonrpc.SkipSpace([]byte(text), 0)
	if at == len(text) || text[at] != '{' && text[at] != '[' || jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) != nil {
		return item
	}
	hidden, changed := hide([]byte(text)[at:], p.parts)
	if !changed {
		return item
	}
	return jsonrpc.With(item, "text", jsonrpc.AppendStringBytes(nil, hidden))
}
