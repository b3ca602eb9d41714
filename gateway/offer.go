package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/mirror"
	"github.com/junction-mcp/junction/internal/uritemplate"
	"github.com/junction-mcp/junction/mcp"
)

// A kind is one of the lists that servers offer.
type kind struct {
	bit    kinds
	method string // that lists it
	list   string // the array in the result
	key    string // the member that identifies an entry
	noun   string
	named  bool // entries get the member's name as prefix
}

// kinds is a set of kinds.
type kinds uint8

const (
	tools kinds = 1 << iota
	prompts
	resources
)

var (
	toolKind     = kind{tools, "tools/list", "tools", "name", "tool", true}
	promptKind   = kind{prompts, "prompts/list", "prompts", "name", "prompt", true}
	resourceKind = kind{resources, "resources/list", "resources", "uri", "resource", false}
	templateKind = kind{resources, "resources/templates/list", "resourceTemplates", "uriTemplate", "resource template", false}
)

// A listing is one list of one member, as it is offered.
type listing struct {
	entries []listed
}

type listed struct {
	exposed  string // the name or URI under which it is offered
	original string
	raw      json.RawMessage
	template *uritemplate.Template // of a resource template
	mirrors  []mirror.Field        // arguments of a tool that headers repeat
}

// An offer is what all members offer together at one moment; it is not changed.
type offer struct {
	members []*member
	lists   map[string]json.RawMessage  // by method: the whole result
	found   map[string]map[string]owned // by method and exposed name
	matches []match                     // templates, in order
}

type owned struct {
	member   *member
	original string
	mirrors  []mirror.Field
}

type match struct {
	member   *member
	template *uritemplate.Template
}

// current returns the present offer, making it if need be.
func (g *Gateway) current() *offer {
	g.mu.RLock()
	o := g.offer
	g.mu.RUnlock()
	if o != nil {
		return o
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.offer == nil {
		g.offer = makeOffer(g.members)
	}
	return g.offer
}

func makeOffer(members []*member) *offer {
	o := &offer{members: append([]*member(nil), members...), lists: map[string]json.RawMessage{}, found: map[string]map[string]owned{}}
	for _, k := range []kind{toolKind, promptKind, resourceKind, templateKind} {
		found := map[string]owned{}
		out := append(append([]byte(`{"`), k.list...), `":[`...)
		first := true
		for _, m := range members {
			for _, e := range m.listing(k).entries {
				if _, twice := found[e.exposed]; twice {
					continue // the server that was added first offers it
				}
				found[e.exposed] = owned{m, e.original, e.mirrors}
				if e.template != nil {
					o.matches = append(o.matches, match{m, e.template})
				}
				if !first {
					out = append(out, ',')
				}
				first = false
				out = append(out, e.raw...)
			}
		}
		o.found[k.method] = found
		o.lists[k.method] = append(out, ']', '}')
	}
	return o
}

// find returns the member that offers something under a name, and its own name
// for it. Where none is known, it may be of one that is still connecting.
func (g *Gateway) find(ctx context.Context, k kind, exposed string) (*member, string, error) {
	if m, name := g.current().find(k, exposed); m != nil {
		return m, name, nil
	}
	if err := g.await(ctx); err != nil {
		return nil, "", err
	}
	m, name := g.current().find(k, exposed)
	return m, name, nil
}

// find is [Gateway.find] among what is offered now. What is not listed may still
// be there: servers hide tools.
func (o *offer) find(k kind, exposed string) (*member, string) {
	if f, ok := o.found[k.method][exposed]; ok {
		return f.member, f.original
	}
	var found *member
	for _, m := range o.members {
		begins := len(exposed) > len(m.prefix) && strings.HasPrefix(exposed, m.prefix)
		if begins && (m.prefix != "" || len(o.members) == 1) && (found == nil || len(m.prefix) > len(found.prefix)) {
			found = m
		}
	}
	if found == nil {
		return nil, ""
	}
	return found, exposed[len(found.prefix):]
}

// owners returns the members that may have a resource: the one that lists it,
// or those with a matching template; or else, unsure, all that have resources.
func (o *offer) owners(uri string) (owners []*member, sure bool) {
	if f, ok := o.found[resourceKind.method][uri]; ok {
		return []*member{f.member}, true
	}
	for _, t := range o.matches {
		if _, ok := t.template.Match(uri); ok {
			owners = append(owners, t.member)
		}
	}
	if len(owners) > 0 {
		return owners, true
	}
	for _, m := range o.members {
		if m.has(resources) {
			owners = append(owners, m)
		}
	}
	return owners, false
}

// checkMirrors compares the headers of a call with the arguments that they repeat
// (2026-07-28 basic/transports/streamable-http): it is here that they end, as the
// member hears of the call in another way.
func (o *offer) checkMirrors(req *mcp.Request) error {
	fields := o.found[toolKind.method][req.Name].mirrors
	if req.Mirrored == nil || len(fields) == 0 {
		return nil
	}
	if err := mirror.Check(fields, req.Arguments, req.Mirrored); err != nil {
		return mcp.Errorf(mcp.CodeHeaderMismatch, "tool %q: %v", req.Name, err)
	}
	return nil
}

// list answers a list request from what is kept ready. The first waits for the
// members to connect, as clients seldom ask a second time.
func (g *Gateway) list(ctx context.Context, req *mcp.Request, k kind) (mcp.Result, error) {
	if cursor := jsonrpc.Get(req.Params, "cursor"); cursor != nil {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "cursor: this list has one page")
	}
	if err := g.await(ctx); err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{JSON: g.current().lists[k.method]}, nil
}

// readList reads one list of a member.
func (m *member) readList(ctx context.Context, c *mcp.Client, k kind) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var l listing
	for raw, err := range c.List(ctx, k.method, k.list) {
		if err != nil {
			return l, err
		}
		if len(l.entries) >= maxListed {
			m.gateway.log.Warn("gateway: a list is cut off", "server", m.name, "method", k.method, "entries", maxListed)
			break
		}
		if e, ok := m.expose(k, raw); ok {
			l.entries = append(l.entries, e)
		}
	}
	return l, nil
}

// expose makes an entry of a member's list one of the gateway's.
func (m *member) expose(k kind, raw json.RawMessage) (listed, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return listed{}, false
	}
	original, ok := jsonrpc.Unquote(jsonrpc.Get(raw, k.key))
	if !ok || original == "" {
		m.gateway.log.Debug("gateway: an entry without a name is left out", "server", m.name, "method", k.method)
		return listed{}, false
	}
	if !k.named {
		e := listed{exposed: original, original: original, raw: raw}
		if k.method == templateKind.method {
			e.template, _ = uritemplate.Parse(original) // nil: offered, but nothing is routed by it
		}
		return e, true
	}
	exposed := m.prefix + original
	out, any := jsonrpc.AppendEdited([]byte{}, raw, k.key)
	named := jsonrpc.AppendString(append(append([]byte(`{"`), k.key...), `":`...), exposed)
	if any {
		named = append(append(named, ','), out[1:]...)
	}
	e := listed{exposed: exposed, original: original, raw: append(named, '}')}
	if k.bit == tools && mirror.Mentions(raw) {
		var err error
		if e.mirrors, err = mirror.Fields(jsonrpc.Get(raw, "inputSchema")); err != nil {
			m.gateway.log.Warn("gateway: headers of a tool are not checked", "server", m.name, "tool", original, "error", err)
		}
	}
	return e, true
}
