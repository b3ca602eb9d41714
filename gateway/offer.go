package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/paramheader"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/uritemplate"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// A kind is a kind of entries that servers list.
type kind struct {
	*revision.Method // the method that lists the kind
	bit              kinds
}

// prefixed reports whether names of this kind get the member's prefix. Entries with a name and no
// URI do.
func (k kind) prefixed() bool { return k.Key == "name" }

// kinds is a set of kinds. It has one bit for each of [revision.Changes]; kinds with the same
// capability share a bit.
type kinds uint8

var (
	allKinds, namedInTurn = listKinds()
	every, named          = bitsOf(func(kind) bool { return true }), bitsOf(kind.prefixed)

	toolKind, _     = listedBy("tools/list")
	promptKind, _   = listedBy("prompts/list")
	resourceKind, _ = listedBy("resources/list")
	templateKind, _ = listedBy("resources/templates/list")
	skillKind, _    = listedBy(skills.MethodList)
)

// listKinds returns all kinds, and all kinds in the order in which names are assigned. Resources
// come before tools, as tools refer to them.
func listKinds() (all, inTurn []kind) {
	for _, m := range revision.Lists() {
		all = append(all, kind{m, 1 << slices.IndexFunc(revision.Changes(), func(c revision.Change) bool { return c.Capability == m.Capability })})
	}
	inTurn = slices.DeleteFunc(slices.Clone(all), kind.prefixed)
	inTurn = append(inTurn, slices.DeleteFunc(slices.Clone(all), func(k kind) bool { return !k.prefixed() })...)
	return all, inTurn
}

func bitsOf(is func(kind) bool) (bits kinds) {
	for _, k := range allKinds {
		if is(k) {
			bits |= k.bit
		}
	}
	return bits
}

// listedBy returns the kind that a method lists.
func listedBy(method string) (k kind, found bool) {
	i := slices.IndexFunc(allKinds, func(k kind) bool { return k.Name == method })
	if i < 0 {
		return kind{}, false
	}
	return allKinds[i], true
}

// usedBy returns the kind of the entry that a request with this method uses. It reports false if
// the entry is identified by URI.
func usedBy(method string) (k kind, found bool) {
	if m := revision.MethodNamed(method); m.Used {
		for _, k := range allKinds {
			if k.Kind == m.Kind {
				return k, k.prefixed()
			}
		}
	}
	return kind{}, false
}

// A listing is one list of one member.
type listing struct {
	entries  []listed
	unlisted []string // the names of tools or prompts that the member's middleware omits
}

type listed struct {
	name     string // the member's own name or URI
	raw      json.RawMessage
	template *uritemplate.Template // the parsed resource template; nil if it does not conform to RFC 6570
	loose    *uritemplate.Loose    // the template as any server may read it; nil if it cannot match
	headers  []paramheader.Field   // the arguments of a tool that headers repeat
	view     string                // the URI of a tool's view; see views.go
}

// An offer holds the lists of all members at one moment. It is immutable.
type offer struct {
	members []*member
	lists   map[string]*revision.Kept    // complete results by method
	found   map[string]map[string]owned  // by method and exposed name
	hidden  map[string]map[string]owned  // entries that are in no list but can be used, by method and exposed name
	matches []match                      // templates, in order
	spelled map[string]string            // resource URIs that are not canonical, by their canonical form
	omitted map[*member]int              // number of tools that no list contains
	renamed map[*member][]string         // a text for each entry whose name is not the wanted one
	refused map[string]map[string]string // why no member has a name, by method and name
	passed  map[string]map[string]bool   // names that a listed entry was to have but does not have, by method
	shared  map[*member]bool             // members whose results may name URIs of others; see resources.go
}

// owned is the entry with one exposed name.
type owned struct {
	member   *member
	original string
	raw      json.RawMessage
	headers  []paramheader.Field
}

// current returns the present offer. It makes the offer if needed.
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
		g.offer = makeOffer(g.members, &g.options)
	}
	return g.offer
}

func makeOffer(members []*member, options *Options) *offer {
	o := &offer{members: append([]*member(nil), members...), lists: map[string]*revision.Kept{},
		found: map[string]map[string]owned{}, hidden: map[string]map[string]owned{}, renamed: map[*member][]string{}, omitted: map[*member]int{}, refused: map[string]map[string]string{}, passed: map[string]map[string]bool{}, shared: map[*member]bool{}, spelled: map[string]string{}}
	for _, k := range namedInTurn {
		names := newNaming(k, o.members, options)
		w := jsonrpc.NewObject(nil)
		w.Array(k.Member)
		for _, m := range o.members {
			entries := m.listing(k).entries
			omitted := w.Len()+sizeOf(entries) > maxOfferBytes // only the list omits them; their names stay in use
			if omitted {
				o.renamed[m] = append(o.renamed[m], fmt.Sprintf("%s: omitted, as the lists of all servers have more than %d MiB together", k.Member, maxOfferBytes>>20))
			}
			for _, e := range entries {
				exposed, why := names.expose(m, e)
				o.renameView(m, &e)
				if why != "" {
					o.renamed[m] = append(o.renamed[m], why)
				}
				if (e.template != nil || e.loose != nil) && names.refused[e.name] == "" {
					o.matches = append(o.matches, match{m, exposed, e})
				}
				if k.Name == resourceKind.Name && exposed != "" {
					o.spell(exposed)
				}
				switch {
				case exposed == "" || omitted:
					if k.bit == toolKind.bit {
						o.omitted[m]++
					}
				case exposed == e.name:
					w.Element(e.raw)
				default:
					w.ObjectElement()
					w.String(k.Key, exposed)
					w.Members(e.raw, k.Key)
					w.End()
				}
			}
			names.exposeViews(m)
		}
		if !k.prefixed() {
			for _, m := range names.shared {
				o.shared[m] = true
			}
		}
		if k.Name == resourceKind.Name {
			for _, uri := range slices.Sorted(maps.Keys(names.refused)) {
				o.spell(uri)
			}
		}
		o.found[k.Name], o.hidden[k.Name], o.refused[k.Name], o.passed[k.Name], o.lists[k.Name] = names.found, names.unlisted(), names.refused, names.passed, revision.Keep(k.Name, w.Bytes())
	}
	o.noteOverlaps()
	for _, m := range o.members {
		m.shares.Store(o.shared[m])
	}
	return o
}

func sizeOf(entries []listed) (n int) {
	for _, e := range entries {
		n += len(e.raw)
	}
	return n
}

// find returns the member that offers an entry under a name, and the member's own name for it. If
// no member does, find waits for members that are still connecting.
func (g *Gateway) find(ctx context.Context, k kind, exposed string) (*member, string, error) {
	if m, name := g.current().find(k, exposed); m != nil {
		return m, name, nil
	}
	if err := g.await(ctx); err != nil {
		return nil, "", err
	}
	g.fresh(ctx, k.bit)
	m, name := g.current().find(k, exposed)
	return m, name, nil
}

// find is like [Gateway.find] for this offer, without waiting. It also finds entries that are in no
// list, as servers may hide tools. It finds a listed entry only under its name in the list, because
// parts, scopes and logs use that name.
func (o *offer) find(k kind, exposed string) (*member, string) {
	if f, ok := o.found[k.Name][exposed]; ok {
		return f.member, f.original
	}
	if o.refused[k.Name][exposed] != "" || o.passed[k.Name][exposed] {
		return nil, ""
	}
	if f, ok := o.hidden[k.Name][exposed]; ok {
		return f.member, f.original
	}
	var found *member
	longest := ""
	for _, m := range o.members {
		prefix := m.prefix()
		begins := len(exposed) > len(prefix) && strings.HasPrefix(exposed, prefix)
		if begins && (prefix != "" || len(o.members) == 1) && (found == nil || len(prefix) > len(longest)) {
			found, longest = m, prefix
		}
	}
	if found == nil || found.mapped(k, exposed[len(longest):]) != "" { // that tool has another name
		return nil, ""
	}
	return found, exposed[len(longest):]
}

// unknown returns the error for a tool or prompt that does not exist. It suggests only entries that
// the client gets. If several servers have the name, it names them only to a client that gets
// everything.
func (o *offer) unknown(k kind, name string, offers *choice) error {
	if why := o.refused[k.Name][name]; why != "" && offers == nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "unknown %s %q: %s; the operator of the gateway must rename one of them", k.Noun, name, why)
	}
	var near []string
	var all []string
	for exposed, f := range o.found[k.Name] {
		if !offers.lists(k, exposed, f.member, f.original) {
			continue
		}
		if all = append(all, exposed); f.original == name {
			near = append(near, exposed)
		}
	}
	slices.Sort(near)
	slices.Sort(all)
	if len(near) == 0 {
		if one := nearest.Name(name, all); one != "" {
			near = []string{one}
		}
	}
	if len(near) > 0 {
		return mcp.Errorf(mcp.CodeInvalidParams, "unknown %s %q; did you mean %q?", k.Noun, name, near[0])
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "unknown %s %q; %s names those that exist", k.Noun, name, k.Name)
}

// validateHeaders compares the headers of a call with the arguments that they repeat (2026-07-28
// basic/transports/streamable-http, header validation). The gateway must check them, as the member
// does not get these headers.
func (o *offer) validateHeaders(req *mcp.Request) error {
	fields := o.found[toolKind.Name][req.Name].headers
	if req.ParamHeaders == nil || len(fields) == 0 {
		return nil
	}
	if err := paramheader.Check(fields, req.Arguments, req.ParamHeaders); err != nil {
		return mcp.Errorf(mcp.CodeHeaderMismatch, "tool %q: %v", req.Name, err)
	}
	return nil
}

// list responds to a list request from the kept lists.
func (g *Gateway) list(ctx context.Context, req *mcp.Request, k kind, has func(*member) bool) (mcp.Result, error) {
	if cursor := jsonrpc.Get(req.Params, "cursor"); cursor != nil {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "cursor: this list has one page")
	}
	if err := g.await(ctx); err != nil {
		return mcp.Result{}, err
	}
	g.fresh(ctx, k.bit)
	kept := g.current().lists[k.Name]
	return mcp.Result{JSON: kept.JSON, Value: kept, Meta: g.listMeta(k.Name, has)}, nil
}
