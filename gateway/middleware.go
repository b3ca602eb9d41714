package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// bottom is the handler inside the member's middleware. It responds to list requests from the known
// lists, and waits for them if they are not known yet. It passes other requests on to the server,
// which it starts if needed. Middleware gets an empty description of the server, as it may request
// the description before the server is connected.
func (m *member) bottom(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "server/discover" {
		return mcp.Result{Value: mcp.DiscoverResult{SupportedVersions: revision.Modern()}}, nil
	}
	k, listed := listedBy(req.Method)
	if !listed {
		return m.waiting.Handle(ctx, req)
	}
	var known *definitions.Definitions
	if err := m.await(ctx, req, func() bool { known = m.own(); return known != nil }); err != nil {
		return mcp.Result{}, err // an empty list would be wrong
	}
	w := jsonrpc.NewObject(nil)
	w.Array(k.Member)
	for _, raw := range known.List(k.Name) {
		w.Element(raw)
	}
	return mcp.Result{JSON: w.Bytes()}, nil
}

// edited returns a list of the member after its middleware.
func (m *member) edited(around *surroundings, k kind, entries []json.RawMessage) ([]json.RawMessage, error) {
	if len(around.Middleware) == 0 {
		return entries, nil
	}
	client := mcp.NewClientWith(around.chain, mcp.ClientOptions{Name: m.name, Logger: m.gateway.log})
	var edited []json.RawMessage
	for raw, err := range client.List(m.ctx, k.Name, k.Member) {
		if err != nil {
			return nil, err
		}
		edited = append(edited, slices.Clone(raw))
	}
	return edited, nil
}

// Reread passes the lists of a member through its middleware again, after the rules of the
// middleware changed. Clients get list_changed if the offer changes. Reread fails if the gateway
// has no member with that name.
func (g *Gateway) Reread(name string) error {
	m := g.member(name)
	if m == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	m.instances.wake(func(i *instance) chan struct{} { return i.again })
	if changed := m.show(nil); changed != 0 {
		g.changedOffer(changed)
	}
	return nil
}

// member returns the member with a name, or nil.
func (g *Gateway) member(name string) *member {
	g.mu.RLock()
	defer g.mu.RUnlock()
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return g.members[i]
}

// Definitions returns the lists of a server before its middleware, or the remembered lists. It
// returns nil while they are not known. Callers must not change them. The maps tools and prompts
// contain the server's own names, with the names that clients see now as keys.
func (g *Gateway) Definitions(server string) (d *definitions.Definitions, tools, prompts map[string]string) {
	m := g.member(server)
	if m == nil {
		return nil, nil, nil
	}
	m.mu.RLock()
	d = m.known
	m.mu.RUnlock()
	of := func(k kind) map[string]string {
		names := map[string]string{}
		for name, f := range g.current().found[k.Name] {
			if f.member == m {
				names[name] = f.original
			}
		}
		return names
	}
	return d, of(toolKind), of(promptKind)
}

// A Tool is the tool that clients know under one name.
type Tool struct {
	Server     string          // the member that has the tool
	Name       string          // the member's own name for the tool
	Definition json.RawMessage // the definition that clients see, but with the member's own name; must not be changed
}

// Tool returns the tool with a name that clients see. It returns false if no member lists the tool
// now.
func (g *Gateway) Tool(exposed string) (Tool, bool) {
	f, ok := g.current().found[toolKind.Name][exposed]
	if !ok {
		return Tool{}, false
	}
	return Tool{f.member.name, f.original, f.raw}, true
}

// Destination returns the member that a call of a tool goes to, and the member's own name for the
// tool. It also finds tools in no list. The server is empty if the call goes to no member.
func (g *Gateway) Destination(exposed string) (server, tool string) {
	m, own := g.current().find(toolKind, exposed)
	if m == nil {
		return "", ""
	}
	return m.name, own
}

// ServerOf returns the name of the server that a client's request goes to, as far as the offer
// shows that in advance. It returns an empty string for requests that go to all members or to none.
func (g *Gateway) ServerOf(req *mcp.Request) string {
	var m *member
	if k, used := usedBy(req.Method); used {
		m, _ = g.current().find(k, req.Name)
	} else if req.Method == "resources/read" {
		if owners, _ := g.current().owners(req.Name, newMatching()); len(owners) > 0 {
			m = owners[0].member
		}
	}
	if m == nil {
		return ""
	}
	return m.name
}

// Unavailable returns the reason why a tool is not known: the member with the prefix of its name
// was never connected. It returns a nil error if that member's lists are known, or if no member has
// the prefix.
func (g *Gateway) Unavailable(exposed string) (server string, err error) {
	m, _ := g.current().find(toolKind, exposed)
	if m == nil {
		return "", nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.known == nil {
		err = m.gateway.shown(m.unavailable())
	}
	return m.name, err
}

// ToolList returns the result of tools/list that clients get now, without waiting for members.
// Callers must not change it.
func (g *Gateway) ToolList() json.RawMessage { return g.current().lists[toolKind.Name].JSON }
