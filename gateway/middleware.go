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

// bottom is what the member's middleware is around: its lists are those that are known, which are
// waited for where the server was never connected, and everything else goes to the server, which is started if need be. What the server says of itself is no business of
// middleware, which may ask before it is connected.
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
		return mcp.Result{}, err // an empty list would say that there is nothing
	}
	w := jsonrpc.NewObject(nil)
	w.Array(k.Member)
	for _, raw := range known.List(k.Name) {
		w.Element(raw)
	}
	return mcp.Result{JSON: w.Bytes()}, nil
}

// edited is a list of the member as middleware leaves it.
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

// Reread gives the lists of a member to its middleware again, whose rules changed; clients get
// list_changed where that changes what is offered. The error says that there is no such member.
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

// Definitions are what a server lists itself, before its middleware, or what is remembered of that; nil while it is not
// known. They are not to be changed. tools and prompts are the names that clients see now, with the server's own.
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

// A Tool is what a name stands for that clients see.
type Tool struct {
	Server     string          // the member that has it
	Name       string          // the one that the member gives it
	Definition json.RawMessage // as clients see it, but for the name; not to be changed
}

// Tool says what the name of a tool stands for now; false if no member lists it.
func (g *Gateway) Tool(exposed string) (Tool, bool) {
	f, ok := g.current().found[toolKind.Name][exposed]
	if !ok {
		return Tool{}, false
	}
	return Tool{f.member.name, f.original, f.raw}, true
}

// Destination says which member a call of a tool goes to, and by which name of its own, whether or not clients see that tool; empty
// where it goes to none.
func (g *Gateway) Destination(exposed string) (server, tool string) {
	m, own := g.current().find(toolKind, exposed)
	if m == nil {
		return "", ""
	}
	return m.name, own
}

// ServerOf returns the name of the server that a request of a client goes to, as far as what is offered says so before it is sent; empty
// for requests that go to all, and to none.
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

// Unavailable says why nothing is known of a tool: the member whose prefix its name begins with was never connected.
// The error is nil where its lists are known, or the name begins with no member's.
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

// ToolList is the list of tools as clients see it now, the result of tools/list; nobody is waited for. It is not to be
// changed.
func (g *Gateway) ToolList() json.RawMessage { return g.current().lists[toolKind.Name] }
