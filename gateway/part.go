package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// A Selection selects a part of a gateway's offer.
type Selection struct {
	// Servers lists the names of the selected members; empty means all.
	Servers []string
	// Keep, if not nil, reports whether an entry of these members is selected. It must be safe for
	// concurrent use and always report the same for one entry.
	Keep func(e Entry) bool
	// Hide, if not nil, reports whether lists omit an entry that clients may still call. The
	// member's middleware then refuses the call with the reason. Hide must be safe for concurrent
	// use and always report the same for one entry.
	Hide func(e Entry) bool
	// Use, if not nil, is called before a request uses an entry of the part. It must be safe for
	// concurrent use.
	Use func(ctx context.Context, e Entry)
	// Closed omits members without an entry in the part: their instructions and log messages.
	Closed bool
}

// An Entry is a tool, prompt, resource, template or skill of a member.
type Entry struct {
	Kind    string // tool, prompt, resource, resource template or skill
	Server  string // the member that has the entry
	Name    string // the member's own name, URI or template
	Exposed string // the name that clients see
}

// Only returns a Handler for the selected part of the gateway's offer, under the same names.
// Clients of the Handler can neither call nor read other entries.
func (g *Gateway) Only(s Selection) mcp.Handler { return &part{gateway: g, selection: s} }

// A part is the Handler for a part of a gateway's offer.
type part struct {
	gateway   *Gateway
	selection Selection

	mu    sync.Mutex
	of    *offer // the offer that lists were made from; nil before the first
	lists map[string]*revision.Kept
}

func (p *part) has(m *member) bool {
	return len(p.selection.Servers) == 0 || slices.Contains(p.selection.Servers, m.name)
}

// offers reports whether the part lists the member's entry, has it unlisted, or lacks it.
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

// Handle responds like [Gateway.Handle], within the part.
func (p *part) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	p.gateway.noteClient(req)
	return p.gateway.routed(req, func() (mcp.Result, error) { return p.handle(ctx, req) })
}

func (p *part) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	offers := &choice{of: p.offers}
	if p.selection.Use != nil {
		offers.use = func(e Entry) { p.selection.Use(ctx, e) }
	}
	has := p.has
	if p.selection.Closed {
		has = p.offersOf
	}
	return p.gateway.dispatch(ctx, req, has, offers, func(k kind) (mcp.Result, error) { return p.list(ctx, req, k) })
}

// offersOf reports whether the part lists an entry of a member.
func (p *part) offersOf(m *member) bool {
	for method, found := range p.gateway.current().found {
		k, _ := listedBy(method)
		for exposed, f := range found {
			if f.member == m && p.offers(k, exposed, m, f.original) == present {
				return true
			}
		}
	}
	return false
}

// list responds to a list request with the entries of the part.
func (p *part) list(ctx context.Context, req *mcp.Request, k kind) (mcp.Result, error) {
	result, err := p.gateway.list(ctx, req, k, p.has)
	if err != nil {
		return result, err
	}
	o := p.gateway.current()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != o {
		p.of, p.lists = o, map[string]*revision.Kept{}
	}
	if p.lists[k.Name] == nil {
		w := jsonrpc.NewObject(nil)
		w.Array(k.Member)
		jsonrpc.EachElement(jsonrpc.Get(o.lists[k.Name].JSON, k.Member), func(raw []byte) bool {
			name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, k.Key))
			if f := o.found[k.Name][name]; p.offers(k, name, f.member, f.original) == present {
				w.Element(raw)
			}
			return true
		})
		w.End()
		p.lists[k.Name] = revision.Keep(k.Name, w.Bytes())
	}
	kept := p.lists[k.Name]
	result.JSON, result.Value = kept.JSON, kept
	return result, nil
}

// everyone reports true for all members.
func everyone(*member) bool { return true }

// A presence is the state of an entry in a part.
type presence int

const (
	absent   presence = iota
	unlisted          // in no list, but can be used
	present
)

// A choice decides which entries a client has. With a nil choice, all entries are present.
type choice struct {
	of  func(k kind, exposed string, m *member, name string) presence // presence of an entry of a member
	use func(e Entry)                                                 // is called for an entry that a request uses; may be nil
}

// has reports whether the client's request may use an entry.
func (c *choice) has(k kind, exposed string, m *member, name string) bool {
	if c == nil {
		return true
	}
	if c.of(k, exposed, m, name) == absent {
		return false
	}
	if c.use != nil {
		c.use(Entry{k.Noun, m.name, name, exposed})
	}
	return true
}

// lists reports whether an entry is in the client's lists.
func (c *choice) lists(k kind, exposed string, m *member, name string) bool {
	return c == nil || c.of(k, exposed, m, name) == present
}
