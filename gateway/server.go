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

// Server returns a Handler for one server of the gateway. Its clients see the server as if it were
// their only one, with the server's own names, description and tasks. Requests that the server
// sends outside of calls go to the client that listens on the Handler. With [Options.OneClient],
// the gateway connects to the server when that client listens or sends a request.
func (g *Gateway) Server(name string) mcp.Handler {
	if m := g.member(name); m != nil {
		m.waitsForClient.Store(true)
	}
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		g.noteClient(req)
		return g.routed(req, func() (mcp.Result, error) {
			m := g.member(name)
			if m == nil {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidRequest, "there is no server %q", name)
			}
			return m.handleOwn(ctx, req)
		})
	})
}

// handleOwn responds to a request of a client that sees only this server.
func (m *member) handleOwn(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	is := func(other *member) bool { return other.name == m.name } // also a replacement of the member
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

// listOwn returns a list of the member, after its middleware.
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

// awaitKnown returns the definitions of the member. It waits for them like a list request. It fails
// if they are still not known, as an empty list would be wrong.
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

// watchOwn subscribes to updates of the member's resources.
func (m *member) watchOwn(ctx context.Context, l *changes.Listener, req *mcp.Request, uris []string) {
	known := map[string][]string{}
	for _, uri := range uris {
		known[uri] = []string{uri}
	}
	if len(known) > 0 {
		m.watch(ctx, l, req, known)
	}
}

// takesRound returns an error if req responds to a request of a server other than this member.
func (m *member) takesRound(req *mcp.Request) error {
	asker := takeAsker(req)
	if asker == "" || asker == m.asker {
		return nil
	}
	server, _, _ := strings.Cut(asker, askerMark)
	return mcp.Errorf(mcp.CodeInvalidParams, "requestState: %s %q no longer belongs to the server %q that asked for input; send the request again without requestState",
		revision.ListOf(revision.MethodNamed(req.Method).Kind).Noun, req.Name, server)
}

// Offered returns a server's lists under the server's own names, after its middleware. It returns
// nil while they are not known. Callers must not change the result. The same pointer means that the
// lists have not changed.
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

// An offeredOnce holds the last result of [Gateway.Offered] and the inputs that it was made from.
type offeredOnce struct {
	of          *definitions.Definitions
	shown       uint64
	definitions *definitions.Definitions
}

// Fresh waits until the changed lists of these servers are read, for at most 2 seconds.
func (g *Gateway) Fresh(ctx context.Context, servers ...string) {
	ctx, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	for _, name := range servers {
		if m := g.member(name); m != nil {
			m.reread(ctx, every)
		}
	}
}
