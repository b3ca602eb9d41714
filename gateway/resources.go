package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/uritemplate"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
)

// Resources keep their URIs. If two members have the same URI, or a URI matches a template of both,
// it belongs to the first member. Clients know the resource of the other member as
// junction:SERVER/URI. A URI ui://PATH becomes ui://junction/SERVER/PATH, as hosts accept only
// views whose URI begins with ui://. These URIs can be read, subscribed to and completed, and
// replace the member's own URIs in its results.

// The beginnings of URIs that name their server.
const (
	ownScheme = "junction:"
	ownViews  = apps.Scheme + "junction/"
)

const (
	maxTranslated     = 1_000   // maximum translated URIs of one result; others stay unchanged
	maxTemplates      = 256     // maximum templates of one member that URIs are matched against; others are only listed
	maxMatching       = 4 << 20 // maximum work for one request, in units of [uritemplate.Template.Cost]
	maxListenMatching = 8 << 20 // maximum work with the templates of one member for all URIs of a listen request
	maxMemberMatching = 1 << 20 // maximum work with the templates of one member for one URI, so that others keep their part
)

// A matching counts down the work of matching that one request may cause. Servers choose templates
// and the URIs in results, and clients choose the URIs of requests, so their common cost needs a
// limit. A URI beyond the limit belongs to no member.
type matching struct {
	left   int
	most   int             // maximum work for one member
	listen map[*member]int // work for each member and all URIs; nil if each URI counts alone
}

func newMatching() *matching { return &matching{left: maxMatching, most: maxMemberMatching} }

// newListenMatching returns the matching of a listen request, which may have many URIs. Its limit
// applies to each member separately.
func newListenMatching() *matching {
	return &matching{left: math.MaxInt, most: maxListenMatching, listen: map[*member]int{}}
}

// match reports whether a template of a member matches a URI. It adds the work to spent, the work
// of the member for this URI.
func (w *matching) match(m *member, t *uritemplate.Template, uri string, spent *int) bool {
	if t == nil {
		return false
	}
	cost := t.Cost(uri)
	if !w.spend(m, cost, spent) {
		return false
	}
	_, ok := t.Match(uri)
	return ok
}

// spend subtracts cost from the remaining work. It returns false if the cost is zero or exceeds a
// limit.
func (w *matching) spend(m *member, cost int, spent *int) bool {
	if cost == 0 || cost > w.left || *spent+w.listen[m]+cost > w.most {
		return false
	}
	w.left -= cost
	if w.listen != nil {
		w.listen[m] += cost
	} else {
		*spent += cost
	}
	return true
}

// ownURI returns the form of a URI or template that only this member has.
func (m *member) ownURI(uri string) string {
	if view, ok := strings.CutPrefix(uri, apps.Scheme); ok {
		return ownViews + url.PathEscape(m.name) + "/" + view
	}
	return ownScheme + url.PathEscape(m.name) + "/" + uri
}

// parseOwnURI reverses ownURI; ok is false for a URI that does not name the member.
func (m *member) parseOwnURI(uri string) (own string, ok bool) {
	if view, ok := strings.CutPrefix(uri, ownViews+url.PathEscape(m.name)+"/"); ok {
		return apps.Scheme + view, true
	}
	return strings.CutPrefix(uri, ownScheme+url.PathEscape(m.name)+"/")
}

// mayHave reports whether the member may offer a URI as its own. A member may not offer a URI that
// names another member.
func (n *naming) mayHave(m *member, uri string) bool {
	if !strings.HasPrefix(uri, ownScheme) && !strings.HasPrefix(uri, ownViews) {
		return true
	}
	return !slices.ContainsFunc(n.members, func(other *member) bool {
		_, others := other.parseOwnURI(uri)
		return other != m && others
	})
}

// A resource is the target of a URI that clients know.
type resource struct {
	member *member
	uri    string // the member's own URI

	listed        string // the URI in lists, if the client used another spelling
	template, own string // exposed and own form of a template that may match loosely; empty if it matches exactly
}

// isIn reports whether a client that sent the URI asked is offered the resource.
func (r *resource) isIn(offers *choice, asked string) bool {
	if r.template != "" && !offers.has(templateKind, r.template, r.member, r.own) {
		return false
	}
	return offers.has(resourceKind, cmp.Or(r.listed, asked), r.member, r.uri)
}

type match struct {
	member  *member
	exposed string // the template that clients see
	listed
}

// owners returns the resources that a URI may identify. One resource is certain if a member lists
// the URI in any spelling, the URI names the member, or a skill of the member contains the file.
// Otherwise owners returns the resources with a matching template. Under skill://, where templates
// match the files of all skills, a skill takes precedence over templates of other members. If
// owners finds no member, sure is false.
func (o *offer) owners(uri string, w *matching) (owners []resource, sure bool) {
	if f, ok := o.found[resourceKind.Name][uri]; ok {
		return []resource{{member: f.member, uri: f.original}}, true
	}
	if strings.HasPrefix(uri, ownScheme) || strings.HasPrefix(uri, ownViews) {
		for _, m := range o.members {
			if own, ok := m.parseOwnURI(uri); ok && o.has(m, own, w) {
				return []resource{{member: m, uri: own}}, true
			}
		}
	}
	same := sameURI(uri)
	if o.refused[resourceKind.Name][uri] == "" {
		for _, known := range []string{same, o.spelled[same]} {
			if f, ok := o.found[resourceKind.Name][known]; ok {
				return []resource{{member: f.member, uri: f.original, listed: known}}, true
			}
		}
	}
	if o.whyRefused(uri, same) != "" {
		return nil, true
	}
	skill := o.skillOf(uri)
	if skill != nil && strings.HasPrefix(uri, "skill://") {
		return []resource{{member: skill.member, uri: uri}}, true
	}
	var of *member
	spent := 0
	for _, t := range o.matches { // templates of one member are adjacent
		if t.member != of {
			of, spent = t.member, 0
		}
		if slices.ContainsFunc(owners, func(r resource) bool { return r.member == t.member }) {
			continue
		}
		if w.match(t.member, t.template, uri, &spent) {
			owners = append(owners, resource{member: t.member, uri: uri})
		}
	}
	if len(owners) == 0 && skill != nil {
		owners = []resource{{member: skill.member, uri: uri}}
	}
	if len(owners) == 0 {
		return o.candidates(uri, w), false
	}
	return owners, !slices.ContainsFunc(owners, func(r resource) bool { return !r.member.isSettled() }) // otherwise the member may list the URI later
}

// whyRefused returns the reason why no member has a URI, in any spelling. It returns an empty
// string if the URI is not refused.
func (o *offer) whyRefused(uri, same string) string {
	refused := o.refused[resourceKind.Name]
	return cmp.Or(refused[uri], refused[same], refused[o.spelled[same]])
}

// spell records a URI of a resource, or a refused one, that clients may spell in another way.
func (o *offer) spell(uri string) {
	if same := sameURI(uri); same != uri && o.spelled[same] == "" {
		o.spelled[same] = uri
	}
}

// sameURI returns the common form of all spellings of a URI. The URL types of libraries change the
// spelling.
func sameURI(uri string) string {
	uri = uritemplate.Canonical(uri)
	if scheme, host, ok := strings.Cut(strings.TrimSuffix(uri, "/"), "://"); ok && host != "" && !strings.ContainsAny(host, "/?#") {
		return scheme + "://" + host
	}
	return uri
}

// candidates returns the resources that a URI without exact match may identify: resources with a
// template that a server may read that way. The most specific template comes first. The servers
// decide whether the resource exists.
func (o *offer) candidates(uri string, w *matching) (owners []resource) {
	if strings.HasPrefix(uri, ownScheme) || strings.HasPrefix(uri, ownViews) {
		return nil
	}
	type candidate struct {
		resource
		specific int
	}
	var candidates []candidate
	var of *member
	spent := 0
	for _, t := range o.matches {
		if t.member != of {
			of, spent = t.member, 0
		}
		if t.loose == nil || !w.spend(t.member, len(uri)+1, &spent) {
			continue
		}
		if as, ok := t.loose.Match(uri); ok {
			candidates = append(candidates, candidate{resource{member: t.member, uri: as, template: t.exposed, own: t.name}, t.loose.Specific()})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return b.specific - a.specific })
	for _, c := range candidates {
		if !slices.ContainsFunc(owners, func(r resource) bool { return r.member == c.member }) {
			owners = append(owners, c.resource)
		}
	}
	return owners
}

// has reports whether a member lists a URI of its own, or has a template that matches it.
func (o *offer) has(m *member, uri string, w *matching) bool {
	for _, exposed := range []string{uri, m.ownURI(uri)} {
		if f, ok := o.found[resourceKind.Name][exposed]; ok && f.member == m {
			return true
		}
	}
	spent := 0
	return slices.ContainsFunc(m.listing(templateKind).entries, func(e listed) bool {
		return e.template != nil && w.match(m, e.template, uri, &spent)
	})
}

// clientURI returns the URI by which clients know a resource of a member. It is the member's own
// URI, unless that leads to another member.
func (o *offer) clientURI(m *member, uri string, w *matching) string {
	if first, _ := o.owners(uri, w); len(first) > 0 && first[0].member == m || !o.has(m, uri, w) {
		return uri
	}
	return m.ownURI(uri)
}

// A place is a URI of a member, or the literal beginning of a template.
type place struct {
	text     string
	member   *member
	template bool
	other    *place // the nearest place of another member that is a prefix of this one
	outer    *place // the nearest place of any member that is a prefix of this one
}

// noteOverlaps records the members with a template that matches, or may match, a URI of another
// member.
func (o *offer) noteOverlaps() {
	if len(o.matches) == 0 || len(o.members) < 2 {
		return
	}
	var places []*place
	for _, m := range o.members {
		for _, e := range m.listing(resourceKind).entries {
			places = append(places, &place{text: e.name, member: m})
		}
		for _, e := range m.listing(templateKind).entries {
			beginning, _, _ := strings.Cut(e.name, "{")
			places = append(places, &place{text: beginning, member: m, template: true})
		}
	}
	slices.SortStableFunc(places, func(a, b *place) int {
		c := strings.Compare(a.text, b.text)
		if c == 0 && a.template != b.template { // a template comes before the URIs that it may match
			if c = 1; a.template {
				c = -1
			}
		}
		return c
	})
	var outer *place
	for _, p := range places {
		for outer != nil && !strings.HasPrefix(p.text, outer.text) {
			outer = outer.outer
		}
		if p.outer = outer; outer != nil {
			if p.other = outer; outer.member == p.member {
				p.other = outer.other
			}
		}
		if p.other != nil {
			o.shared[p.member], o.shared[p.other.member] = true, true
		}
		if p.template {
			outer = p
		}
	}
}

// read passes resources/read on to the member that lists the URI, or to the members with a template
// that matches it. No other member gets the request, as a URI may contain a secret.
func (g *Gateway) read(ctx context.Context, req *mcp.Request, offers *choice) (mcp.Result, error) {
	owners, sure := g.current().owners(req.Name, newMatching())
	if !sure {
		if err := g.await(ctx); err != nil {
			return mcp.Result{}, err
		}
		if owners, sure = g.current().owners(req.Name, newMatching()); !sure && len(owners) == 0 && strings.HasPrefix(req.Name, "skill://") {
			for _, m := range g.current().withSkills(skills.Declared) { // the file may belong to a skill that is in no list
				owners = append(owners, resource{member: m, uri: req.Name})
			}
		}
	}
	last := g.current().noResource(req.Name, offers)
	asker := takeAsker(req)
	for _, r := range owners {
		if asker != "" && r.member.asker != asker || !r.isIn(offers, req.Name) {
			continue
		}
		result, err := r.ask(ctx, req)
		if err == nil || !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			return result, err
		}
		last = err
	}
	return mcp.Result{}, last
}

// ask sends the read request to the member, and returns its result with the URIs that clients know.
func (r resource) ask(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	renamed := req
	if r.uri != req.Name {
		renamed = req.Renamed(r.uri)
	}
	result, err := r.member.ask(ctx, req, renamed)
	if err != nil || r.uri == req.Name && !r.member.shares.Load() {
		return result, err
	}
	return r.member.gateway.current().translated(r.member, req.Method, result, &renaming{r.uri, req.Name})
}

// noResource returns the error for a URI that no member has. If several servers have the URI, it
// names them only to a client that gets everything.
func (o *offer) noResource(uri string, offers *choice) error {
	e := mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s", uri)
	if why := o.whyRefused(uri, sameURI(uri)); why != "" && offers == nil {
		e = mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s: %s", uri, why)
	}
	e.Data, _ = json.Marshal(map[string]string{"uri": uri}) // encoding a string never fails
	return e
}

// A renaming holds a URI of a member, and the URI that the client used for it.
type renaming struct{ own, asked string }

// translated returns a result of a member with the URIs that clients know. It replaces the URIs of
// resources, and of links and embedded resources in results of tools and prompts.
func (o *offer) translated(m *member, method string, result mcp.Result, asked *renaming) (mcp.Result, error) {
	if result.TextOnly() {
		return result, nil
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	w := newMatching()
	t := translation{known: func(uri string) string {
		if asked != nil && uri == asked.own {
			return asked.asked
		}
		return o.clientURI(m, uri, w)
	}}
	var translated json.RawMessage
	switch method {
	case "tools/call":
		translated = t.elements(body, "content", t.content)
	case "prompts/get":
		translated = t.elements(body, "messages", func(message []byte) []byte {
			content := jsonrpc.Get(message, "content")
			if len(content) > 0 && content[0] == '[' {
				return t.elements(message, "content", t.content)
			}
			if len(content) == 0 {
				return message
			}
			return jsonrpc.With(message, "content", t.content(content))
		})
	case "resources/read":
		translated = t.elements(body, "contents", t.named)
	}
	if !t.changed {
		return result, nil
	}
	return result.WithJSON(translated), nil
}

// A translation replaces the URIs of resources.
type translation struct {
	known   func(uri string) string
	uris    int // number of URIs looked up
	changed bool
}

// elements returns a copy of an object in which translate has replaced each element of one array.
func (t *translation) elements(obj []byte, array string, translate func([]byte) []byte) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(obj)+256))
	w.Members(obj, array)
	w.Array(array)
	jsonrpc.EachElement(jsonrpc.Get(obj, array), func(element []byte) bool {
		w.Element(translate(element))
		return true
	})
	w.End()
	return w.Bytes()
}

// content returns a content block with the URI that clients know.
func (t *translation) content(block []byte) []byte {
	switch kind, _ := jsonrpc.Unquote(jsonrpc.Get(block, "type")); kind {
	case mcp.ContentResourceLink:
		return t.named(block)
	case mcp.ContentResource:
		if inner := jsonrpc.Get(block, "resource"); len(inner) > 0 && inner[0] == '{' {
			return jsonrpc.With(block, "resource", t.named(inner))
		}
	}
	return block
}

// named returns an object with the URI that clients know in its member uri.
func (t *translation) named(obj []byte) []byte {
	uri, ok := jsonrpc.Unquote(jsonrpc.Get(obj, "uri"))
	if !ok {
		return obj
	}
	if t.uris++; t.uris > maxTranslated {
		return obj
	}
	known := t.known(uri)
	if known == uri {
		return obj
	}
	t.changed = true
	return jsonrpc.With(obj, "uri", jsonrpc.AppendString(nil, known))
}
