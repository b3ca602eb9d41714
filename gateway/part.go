package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A Selection is a part of what a gateway offers.
type Selection struct {
	// Servers are the members that are in it; none: all.
	Servers []string
	// Keep, if not nil, says which of their entries are. It must be safe for concurrent use, and always say
	// the same of one entry.
	Keep func(e Entry) bool
	// Hide, if not nil, says which of these are in no list, though they can be called: whatever stands around the member refuses
	// them, and says why. The same holds for it.
	Hide func(e Entry) bool
}

// An Entry is something that a member offers.
type Entry struct {
	Kind    string // tool, prompt, resource, resource template or skill
	Server  string // the member that has it
	Name    string // or URI, or template, that the member gives it
	Exposed string // that clients see
}

// Only returns a Handler that offers a part of what the gateway does, under the same names. What is not in
// it can be neither called nor read through the Handler.
func (g *Gateway) Only(s Selection) mcp.Handler { return &part{gateway: g, selection: s} }

// A part is a gateway with less in it.
type part struct {
	gateway   *Gateway
	selection Selection

	mu    sync.Mutex
	of    *offer // what lists were made from; nil before the first
	lists map[string]json.RawMessage
}

func (p *part) has(m *member) bool {
	return len(p.selection.Servers) == 0 || slices.Contains(p.selection.Servers, m.name)
}

// offers says what an entry of a member is in the part.
func (p *part) offers(k kind, exposed string, m *member, name string) presence {
	e := Entry{k.Noun, m.name, name, exposed}
	switch {
	case !p.has(m), p.selection.Keep != nil && !p.selection.Keep(e):
		return absent
	case p.selection.Hide != nil && p.selection.Hide(e):
		return unlisted
	}
	return present
}

// Handle answers as the gateway does.
func (p *part) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	p.gateway.meet(req)
	return p.gateway.routed(req, func() (mcp.Result, error) { return p.handle(ctx, req) })
}

func (p *part) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	return p.gateway.dispatch(ctx, req, p.has, p.offers, func(k kind) (mcp.Result, error) { return p.list(ctx, req, k) })
}

// list answers a list request with the entries that are in the part.
func (p *part) list(ctx context.Context, req *mcp.Request, k kind) (mcp.Result, error) {
	result, err := p.gateway.list(ctx, req, k, p.has)
	if err != nil {
		return result, err
	}
	o := p.gateway.current()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != o {
		p.of, p.lists = o, map[string]json.RawMessage{}
	}
	if p.lists[k.Name] == nil {
		w := jsonrpc.NewObject(nil)
		w.Array(k.Member)
		jsonrpc.EachElement(jsonrpc.Get(o.lists[k.Name], k.Member), func(raw []byte) bool {
			name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, k.Key))
			if f := o.found[k.Name][name]; p.offers(k, name, f.member, f.original) == present {
				w.Element(raw)
			}
			return true
		})
		w.End()
		p.lists[k.Name] = w.Bytes()
	}
	return result.WithJSON(p.lists[k.Name]), nil
}

// everyone is all members.
func everyone(*member) bool { return true }

// A presence says what an entry is in a part.
type presence int

const (
	absent   presence = iota
	unlisted          // it can be asked for
	present
)

// A choice says what an entry of a member is in what a client can have; nil: everything is in it.
type choice func(k kind, exposed string, m *member, name string) presence

func (c choice) has(k kind, exposed string, m *member, name string) bool {
	return c == nil || c(k, exposed, m, name) != absent
}

func (c choice) lists(k kind, exposed string, m *member, name string) bool {
	return c == nil || c(k, exposed, m, name) == present
}
