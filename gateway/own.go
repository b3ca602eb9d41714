package gateway

import (
	"context"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Own returns a Handler that passes requests on to next, which must lead to this gateway. Through
// it, the tools, prompts, resources and templates of one member have the member's own names.
// Results still contain the gateway's URIs.
func (g *Gateway) Own(server string, next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		o := g.current()
		m := o.member(server)
		if m == nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidRequest, "the server %q no longer exists", server)
		}
		if k, used := usedBy(req.Method); used {
			return next.Handle(ctx, req.Renamed(o.exposed(m, k, req.Name)))
		}
		switch req.Method {
		case "resources/read":
			return next.Handle(ctx, req.Renamed(o.exposed(m, resourceKind, req.Name)))
		case "completion/complete":
			return next.Handle(ctx, req.WithParams(jsonrpc.With(req.Params, "ref", o.exposedRef(m, jsonrpc.Get(req.Params, "ref")))))
		}
		result, err := next.Handle(ctx, req)
		if k, listed := listedBy(req.Method); listed && err == nil {
			return own(k, result, o, g.current()) // the list was made from one of the two offers
		}
		return result, err
	})
}

// member returns the member of a name, or nil.
func (o *offer) member(name string) *member {
	i := slices.IndexFunc(o.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return o.members[i]
}

// exposed returns the name by which clients of the gateway know an entry of a member.
func (o *offer) exposed(m *member, k kind, own string) string {
	for _, all := range []map[string]owned{o.found[k.Name], o.hidden[k.Name]} {
		for name, f := range all {
			if f.member == m && f.original == own {
				return name
			}
		}
	}
	if k.prefixed() {
		return m.publicName(k, own)
	}
	return o.clientURI(m, own, newMatching())
}

// exposedRef returns the ref of a completion with the name or URI that clients of the gateway use.
func (o *offer) exposedRef(m *member, ref []byte) []byte {
	kinds := map[string]kind{mcp.RefPrompt: promptKind, mcp.RefResource: templateKind}
	refType, _ := jsonrpc.Unquote(jsonrpc.Get(ref, "type"))
	k, known := kinds[refType]
	if !known {
		return ref
	}
	key := "name"
	if refType == mcp.RefResource {
		key = "uri"
	}
	own, _ := jsonrpc.Unquote(jsonrpc.Get(ref, key))
	return jsonrpc.With(ref, key, jsonrpc.AppendString(nil, o.exposed(m, k, own)))
}

// own returns a list with the members' own names of its entries. The list must have been made from
// one of the offers.
func own(k kind, result mcp.Result, offers ...*offer) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	w := jsonrpc.NewObject(nil)
	w.Array(k.Member)
	jsonrpc.EachElement(jsonrpc.Get(body, k.Member), func(raw []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, k.Key))
		for _, o := range offers {
			if f, found := o.found[k.Name][name]; found {
				name = f.original
				break
			}
		}
		w.ObjectElement()
		w.String(k.Key, name)
		w.Members(raw, k.Key)
		w.End()
		return true
	})
	w.End()
	return result.WithJSON(w.Bytes()), nil
}
