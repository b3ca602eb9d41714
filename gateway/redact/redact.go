package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/mcp"
)

// Places are the places to hide in calls of one tool.
type Places struct {
	// Arguments are hidden from the server.
	Arguments Paths
	// Results are hidden from the client in structuredContent, in _meta, and in each text that is
	// JSON as a whole or in whole lines. A string inside these may be JSON, too. Nothing is hidden
	// in other text.
	Results Paths
}

// None reports whether nothing is hidden.
func (p Places) None() bool { return p.Arguments.None() && p.Results.None() }

// And returns the places of p and more together.
func (p Places) And(more Places) Places {
	return Places{p.Arguments.and(more.Arguments), p.Results.and(more.Results)}
}

// Options hold the places to hide for a server.
type Options struct {
	All   Places            // for all tools; Results also for resources that are JSON
	Tools map[string]Places // further places for single tools, by name
}

// Middleware returns middleware that hides places. It removes the outputSchema of a tool with
// hidden results, as the changed results need not conform to it.
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

// Of returns the places to hide for a tool, by the server's name for the tool.
func (o *Options) Of(tool string) Places {
	return o.All.And(o.Tools[tool])
}

// Any returns the places to hide for any tool.
func (o *Options) Any() Places {
	all := o.All
	for _, name := range slices.Sorted(maps.Keys(o.Tools)) {
		all = all.And(o.Tools[name])
	}
	return all
}

// Handle passes a request on to next without the hidden arguments. It returns the result of next
// without the hidden places.
func (p Places) Handle(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	if kept := p.Arguments.Hide(req.Arguments); len(kept) > 0 && !p.Arguments.None() {
		if !bytes.Equal(kept, req.Arguments) {
			note.Rewrite(ctx, note.Arguments, "redact")
		}
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
	result.Meta = p.Results.meta(result.Meta)
	hidden := p.Results.HideResult(body)
	if !bytes.Equal(hidden, body) {
		note.Rewrite(ctx, note.Result, "redact")
	}
	return result.WithJSON(hidden), nil
}

func (p Paths) and(more Paths) Paths {
	return Paths{append(p.parts[:len(p.parts):len(p.parts)], more.parts...)}
}

// list removes the output schemas of tools with hidden results.
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

// HideResult returns a copy of a result of a tool, or of resources/read, with the text *** in each
// place. It hides places in structuredContent, in _meta, and in each text that is JSON.
func (p Paths) HideResult(body json.RawMessage) json.RawMessage {
	if p.None() || len(body) == 0 || body[0] != '{' {
		return body
	}
	return p.object(body)
}

// object hides places in an object: a result of a tool or of resources/read, a content block, or
// the contents of a resource.
func (p Paths) object(body json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	jsonrpc.EachMember(body, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		switch name {
		case "structuredContent":
			value = p.parts.Hide(value, p.parts)
		case "_meta":
			value = p.meta(value)
		case "text":
			value = redact.Paths(nil).Hide(value, p.parts)
		case "content", "contents":
			value = p.each(value)
		case "resource":
			if len(value) > 0 && value[0] == '{' {
				value = p.object(value)
			}
		}
		w.Raw(name, value)
		return true
	})
	return w.Bytes()
}

// each hides places in each element of an array of content blocks or resource contents.
func (p Paths) each(items json.RawMessage) json.RawMessage {
	if len(items) == 0 || items[0] != '[' {
		return items
	}
	w := jsonrpc.NewArray(make([]byte, 0, len(items)))
	jsonrpc.EachElement(items, func(item []byte) bool {
		if len(item) > 0 && item[0] == '{' {
			item = p.object(item)
		}
		w.Element(item)
		return true
	})
	return w.Bytes()
}

// meta hides places in a _meta. It leaves members of the protocol and of Junction unchanged, as
// they do not come from a server.
func (p Paths) meta(meta json.RawMessage) json.RawMessage {
	if len(meta) == 0 || meta[0] != '{' {
		return meta
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(meta)))
	jsonrpc.EachMember(meta, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		if !strings.HasPrefix(name, "io.modelcontextprotocol/") && !strings.HasPrefix(name, "io.github.junction-mcp/") {
			value = p.parts.HideMember(name, value)
		}
		w.Raw(name, value)
		return true
	})
	return w.Bytes()
}
