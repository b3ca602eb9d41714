package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// gatewaysKey is the member of _meta that lists the ids of the gateways that a result came through,
// the nearest first. A gateway that finds its own id there would call itself without end.
const gatewaysKey = "io.github.junction-mcp/gateways"

const (
	maxGateways  = 16 // ids in one result
	maxGatewayID = 64 // bytes of one id
)

// gateways returns the ids of this gateway and of the gateways behind it.
func (g *Gateway) gateways() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	ids := []string{g.id}
	for _, m := range g.members {
		m.mu.RLock()
		for _, id := range m.gateways {
			if len(ids) < maxGateways && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		m.mu.RUnlock()
	}
	return ids
}

// missingKey is the member of _meta that lists the servers whose entries are missing from a list,
// with the reasons.
const missingKey = "io.github.junction-mcp/missing"

// maxWhy is the maximum number of bytes of one reason.
const maxWhy = 300

// listMeta returns the _meta of a list of the members for which has reports true.
func (g *Gateway) listMeta(method string, has func(*member) bool) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.Array(gatewaysKey)
	for _, id := range g.gateways() {
		w.StringElement(id)
	}
	w.End()
	g.writeMissing(&w, method, has)
	return w.Bytes()
}

// writeMissing writes the members whose entries a list lacks. It omits members for which has
// reports false, as a client of a part must not get their names.
func (g *Gateway) writeMissing(w *jsonrpc.Writer, method string, has func(*member) bool) {
	g.mu.RLock()
	members := g.members
	g.mu.RUnlock()
	any := false
	for _, m := range members {
		if !has(m) {
			continue
		}
		why := m.missing(method)
		if why == "" {
			continue
		}
		if !any {
			any = true
			w.Array(missingKey)
		}
		w.ObjectElement()
		w.String("server", m.name)
		w.String("reason", why)
		w.End()
	}
	if any {
		w.End()
	}
}

// missing returns the reason why a list lacks entries of the member, or an empty string if it lacks
// none.
func (m *member) missing(method string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	why := ""
	switch err := m.unread[method]; {
	case m.known == nil:
		why = m.gateway.shown(m.unavailable()).Error()
	case err != nil:
		why = fmt.Sprintf("its list cannot be read: %v", m.gateway.shown(err))
	case m.listsCut[method] != nil:
		why = m.listsCut[method].Error()
	}
	return strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
}

// A loopCheck is a Handler that searches the results of a member for the id of its gateway. The
// gateway uses it for its own requests only, not for calls of clients.
type loopCheck struct {
	mcp.Handler
	member *member
}

// Handle implements [mcp.Handler].
func (l *loopCheck) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	r, err := l.Handler.Handle(ctx, req)
	if err != nil {
		return mcp.Result{}, err
	}
	if err := l.member.noteGateways(gatewaysIn(r.Meta)); err != nil {
		return mcp.Result{}, err
	}
	return r, nil
}

// A loopError reports that a member leads back to its own gateway.
type loopError struct{ server string }

func (e *loopError) Error() string {
	return fmt.Sprintf("server %q: it is this gateway, or another gateway that has this one as a server, so each would call the other without end; remove the entry from one of them", e.server)
}

// leadsBack returns an error if the server's description names this gateway. It does not read a
// list, as that server would wait for the list of this gateway.
func (m *member) leadsBack(ctx context.Context, c *mcp.Client) error {
	_, err := (&loopCheck{c, m}).Handle(ctx, mcp.NewRequest("server/discover", nil))
	if loop := new(loopError); errors.As(err, &loop) {
		return loop
	}
	return nil
}

func gatewaysIn(meta json.RawMessage) (ids []string) {
	array := jsonrpc.Get(meta, gatewaysKey)
	if len(array) == 0 || array[0] != '[' {
		return nil
	}
	jsonrpc.EachElement(array, func(value []byte) bool {
		if id, ok := jsonrpc.Unquote(value); ok && len(id) <= maxGatewayID {
			ids = append(ids, id)
		}
		return len(ids) < maxGateways
	})
	return ids
}

// noteGateways stores the ids of the gateways behind the member. It returns an error if this
// gateway is among them.
func (m *member) noteGateways(ids []string) error {
	if slices.Contains(ids, m.gateway.id) {
		return &loopError{m.name}
	}
	if ids == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gateways = ids
	return nil
}
