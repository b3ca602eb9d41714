package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// Server returns a Handler that is one server of the gateway as a client of that server alone has it: with the names, the
// introduction and the tasks that are the server's own. What the server asks outside of calls is asked of the client that
// listens on it; with [Options.OneClient] the server is connected when that client listens, or asks for something.
func (g *Gateway) Server(name string) mcp.Handler {
	if m := g.member(name); m != nil {
		m.waitsForClient.Store(true)
	}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		g.meet(req)
		return g.routed(req, func() (mcp.Result, error) {
			m := g.member(name)
			if m == nil {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidRequest, "there is no server %q", name)
			}
			return m.handleOwn(ctx, req)
		})
	})
}

// handleOwn answers a request of a client that knows this server only.
func (m *member) handleOwn(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	is := func(other *member) bool { return other.name == m.name } // also the one that replaces it
	if req.Method != "subscriptions/listen" {
		m.meetClient()
	}
	if k, listed := listedBy(req.Method); listed {
		return m.listOwn(ctx, k)
	}
	switch req.Method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", skills.MethodGet, skills.MethodDirectory, "tasks/get", "tasks/update", "tasks/cancel":
		if err := m.takesRound(req); err != nil {
			return mcp.Result{}, err
		}
		return m.ask(context.WithValue(ctx, ownTasksKey{}, true), req, req)
	case "subscriptions/listen":
		return m.gateway.listen(ctx, req, is, m.watchOwn)
	case "server/discover":
		known, err := m.awaitKnown(ctx)
		if err != nil {
			return mcp.Result{}, err
		}
		return m.gateway.introduction(known.Server, known.Instructions)
	}
	return mcp.Result{}, unknownMethod(req)
}

// listOwn is a list of the member, as what is around it leaves it.
func (m *member) listOwn(ctx context.Context, k kind) (mcp.Result, error) {
	if _, err := m.awaitKnown(ctx); err != nil {
		return mcp.Result{}, err
	}
	m.gateway.freshOf(ctx, k.bit, []*member{m})
	w := jsonrpc.NewObject(nil)
	w.Array(k.Member)
	for _, e := range m.listing(k).entries {
		w.Element(e.raw)
	}
	return mcp.Result{JSON: w.Bytes(), Meta: m.gateway.listMeta(k.Name, func(other *member) bool { return other == m })}, nil
}

// awaitKnown returns the definitions of the member, which it waits for as a list does, or why they are not known: an empty list
// would say that there is nothing.
func (m *member) awaitKnown(ctx context.Context) (*definitions.Definitions, error) {
	if err := m.gateway.awaitOf(ctx, []*member{m}); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.known == nil {
		return nil, m.unavailable()
	}
	return m.known, nil
}

// watchOwn listens to the member for updates of its resources.
func (m *member) watchOwn(ctx context.Context, l *changes.Listener, req *mcp.Request, uris []string) {
	known := map[string][]string{}
	for _, uri := range uris {
		known[uri] = []string{uri}
	}
	if len(known) > 0 {
		m.watch(ctx, l, req, known)
	}
}

// takesRound says why a member does not get a further round of a request: the client responds to another server in it.
func (m *member) takesRound(req *mcp.Request) error {
	asker := takeAsker(req)
	if asker == "" || asker == m.asker {
		return nil
	}
	server, _, _ := strings.Cut(asker, askerMark)
	return mcp.Errorf(mcp.CodeInvalidParams, "requestState: %s %q is not any more of the server %q that asked for input; send the request again without requestState",
		revision.ListOf(revision.MethodNamed(req.Method).Kind).Noun, req.Name, server)
}

// Offered returns what a server offers under its own names, as its middleware leaves it; nil while that is not known. It is
// not to be changed, and another pointer once something of it may have changed.
func (g *Gateway) Offered(server string) *definitions.Definitions {
	m := g.member(server)
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listedOf == nil {
		return nil
	}
	if m.offered.of != m.listedOf || m.offered.shown != m.shown {
		d := *m.listedOf
		for _, k := range allKinds {
			list := make([]json.RawMessage, len(m.listings[k.Name].entries))
			for i, e := range m.listings[k.Name].entries {
				list[i] = e.raw
			}
			d.SetList(k.Name, list)
		}
		m.offered = offeredOnce{m.listedOf, m.shown, &d}
	}
	return m.offered.definitions
}

// An offeredOnce is what [Gateway.Offered] returned last, and what that was made of.
type offeredOnce struct {
	of          *definitions.Definitions
	shown       uint64
	definitions *definitions.Definitions
}

// Fresh waits until the lists of these servers that they said had changed are read, or take too long for that.
func (g *Gateway) Fresh(ctx context.Context, servers ...string) {
	ctx, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	for _, name := range servers {
		if m := g.member(name); m != nil {
			m.reread(ctx, every)
		}
	}
}
