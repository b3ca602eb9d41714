package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Separator separates a server's name from the name of its tool or prompt.
const Separator = "__"

const (
	// maxNameLength is the maximum number of bytes of a member's name. The names of its tools begin
	// with it.
	maxNameLength = 64
	// maxExposed is the maximum length of the name of a tool or prompt that hosts pass on to
	// models.
	maxExposed = 64
	// digits is the length of the suffix that makes a name unique.
	digits = 8
)

// checkName returns an error if the name of a member is not valid.
func checkName(name string) error {
	if name == "" {
		return errors.New("the name of a server must not be empty")
	}
	if len(name) > maxNameLength {
		return fmt.Errorf("server %.40q…: a name of at most %d characters is needed, got %d", name, maxNameLength, len(name))
	}
	return nil
}

// plain replaces each character that names for models may not contain with a hyphen.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if isPlain(r) {
			return r
		}
		return '-'
	}, name)
}

func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// suffix returns a short hash that distinguishes names with the same plain form.
func suffix(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])[:digits]
}

// uniquePrefix returns the prefix of a member's tools. It is the plain form of the member's name. A
// suffix is added if the name has characters beyond ASCII, or if an earlier member has the same
// prefix.
func uniquePrefix(name string, before []*member) string {
	p := plain(name)
	foreign := strings.ContainsFunc(name, func(r rune) bool { return r > 127 })
	taken := func(m *member) bool { return m.prefix() == p+Separator }
	if foreign || slices.ContainsFunc(before, taken) {
		p += "-" + suffix(name)
	}
	return p + Separator
}

// prefixOf returns the prefix for a member's tools by the present rules for names.
func (g *Gateway) prefixOf(name string, u *Upstream, others []*member) string {
	if g.options.NoPrefix || u.NoPrefix {
		return ""
	}
	return uniquePrefix(cmp.Or(u.Prefix, name), others)
}

func (m *member) prefix() string { return *m.prefixed.Load() }

func (m *member) setPrefix(p string) { m.prefixed.Store(&p) }

// SetNames changes the rules for names, as [Options.NoPrefix] and [Options.Conflicts] do. Clients
// get list_changed.
func (g *Gateway) SetNames(noPrefix bool, c Conflicts) {
	g.mu.Lock()
	same := g.options.NoPrefix == noPrefix && g.options.Conflicts == c
	g.options.NoPrefix, g.options.Conflicts = noPrefix, c
	g.setPrefixes()
	g.mu.Unlock()
	if !same {
		g.changedOffer(every)
	}
}

// SetOrder puts the named servers first, in the order of names, and the other servers after them.
// If two servers have the same name for a tool or prompt, or the same URI, the first server keeps
// it. The default is the order in which servers were added. Clients get list_changed if the order
// changes.
func (g *Gateway) SetOrder(names []string) {
	rank := make(map[string]int, len(names))
	for i, name := range names {
		rank[name] = i - len(names)
	}
	g.mu.Lock()
	ordered := slices.SortedStableFunc(slices.Values(g.members), func(a, b *member) int { return rank[a.name] - rank[b.name] })
	same := slices.Equal(ordered, g.members)
	if !same {
		g.members, g.offer = ordered, nil // a new slice, as readers keep the old one
	}
	g.setPrefixes()
	g.mu.Unlock()
	if !same {
		g.changedOffer(every)
	}
}

// setPrefixes sets the prefixes of all members by the present rules for names. The caller holds the
// lock.
func (g *Gateway) setPrefixes() {
	for i, m := range g.members {
		m.setPrefix(g.prefixOf(m.name, &m.around.Load().Upstream, g.members[:i]))
	}
}

// Conflicts is the rule for a name of a tool or prompt that two members have. [Status] reports each
// conflict.
type Conflicts int

const (
	// Suffix adds a suffix to the name of the member that was added later.
	Suffix Conflicts = iota
	// First omits the entry of the member that was added later.
	First
	// Refuse omits both entries. The error of a call names both members.
	Refuse
)

// A naming assigns the names under which the entries of one list of all members are offered. Both
// lists and calls use its table.
type naming struct {
	kind      kind
	members   []*member
	conflicts Conflicts
	found     map[string]owned
	refused   map[string]string // why no member has a name, by name
	passed    map[string]bool   // names that a listed entry was to have but does not have
	shared    []*member         // members with URIs that another member also has
}

func newNaming(k kind, members []*member, o *Options) *naming {
	n := &naming{kind: k, members: members, conflicts: o.Conflicts, found: map[string]owned{}, refused: map[string]string{}, passed: map[string]bool{}}
	if o.Conflicts == Refuse {
		n.refuse()
	}
	return n
}

// refuse finds the names that two members have, and refuses them.
func (n *naming) refuse() {
	by := map[string][]string{} // servers by name
	for _, m := range n.members {
		for _, e := range m.listing(n.kind).entries {
			if wanted := n.wanted(m, e.name); !slices.Contains(by[wanted], m.name) {
				by[wanted] = append(by[wanted], m.name)
			}
		}
	}
	for wanted, servers := range by {
		last := len(servers) - 1
		switch {
		case last == 1:
			n.refused[wanted] = fmt.Sprintf("servers %q and %q both have it", servers[0], servers[1])
		case last > 1:
			quoted := make([]string, last)
			for i, name := range servers[:last] {
				quoted[i] = fmt.Sprintf("%q", name)
			}
			n.refused[wanted] = fmt.Sprintf("servers %s and %q all have it", strings.Join(quoted, ", "), servers[last])
		}
	}
}

// publicName returns the wanted name of a tool or prompt of the member.
func (m *member) publicName(k kind, name string) string {
	if public := m.mapped(k, name); public != "" {
		return public
	}
	return m.prefix() + name
}

// mapped returns the name that the options set for a tool or prompt of the member. It is empty for
// most.
func (m *member) mapped(k kind, name string) string {
	switch k.bit {
	case toolKind.bit:
		return m.around.Load().Names[name]
	case promptKind.bit:
		return m.around.Load().PromptNames[name]
	}
	return ""
}

// wanted returns the name or URI under which an entry should be offered.
func (n *naming) wanted(m *member, name string) string {
	if n.kind.prefixed() {
		return m.publicName(n.kind, name)
	}
	return name
}

// share records a resource or template whose URI another member also has. It returns a URI that
// only this member has, or an empty string for entries without a URI.
func (n *naming) share(r owned) (own string) {
	if n.kind.prefixed() {
		return ""
	}
	own = r.member.ownURI(r.original)
	n.found[own] = r
	n.shared = append(n.shared, r.member)
	return own
}

// expose returns the name under which an entry is offered, or an empty string if it is not offered.
// It also returns why that name differs from the wanted one. Callers pass members in their order,
// as the first member keeps a name. A name that is taken, or that models do not accept, gets a
// suffix. The suffix depends only on the server's name and the entry's own name.
func (n *naming) expose(m *member, e listed) (exposed, why string) {
	target, wanted := owned{m, e.name, e.raw, e.headers}, n.wanted(m, e.name)
	if why := n.refused[wanted]; why != "" {
		n.share(target)
		return "", fmt.Sprintf("%s %q is omitted: %s", n.kind.Noun, wanted, why)
	}
	owner, taken := n.found[wanted]
	if taken && owner.member == m && owner.original == e.name {
		return "", fmt.Sprintf("%s %q is listed twice", n.kind.Noun, e.name)
	}
	contested := n.contested(m, wanted)
	switch {
	case taken && n.conflicts == First:
		n.share(target)
		return "", fmt.Sprintf("%s %q is omitted: server %q has that name, and comes first", n.kind.Noun, wanted, owner.member.name)
	case taken && n.kind.Name == skillKind.Name: // the files of a skill are in its entry, under the same URIs
		return "", fmt.Sprintf("%s %q: server %q has it, too, and gets its requests", n.kind.Noun, wanted, owner.member.name)
	case !n.kind.prefixed() && (taken || !n.mayHave(m, wanted)):
		if _, twice := n.found[m.ownURI(e.name)]; twice {
			return "", fmt.Sprintf("%s %q is listed twice", n.kind.Noun, e.name)
		}
		why = "it names another server"
		if taken {
			why = fmt.Sprintf("server %q has it, too", owner.member.name)
		}
		return n.share(target), fmt.Sprintf("%s %q is offered as %q: %s", n.kind.Noun, e.name, m.ownURI(e.name), why)
	case taken:
		why = fmt.Sprintf("server %q has that name", owner.member.name)
	case contested:
		why = "another server, which is not known yet, may have that name"
	case n.kind.prefixed() && len(wanted) > maxExposed:
		why = fmt.Sprintf("names may have %d characters", maxExposed)
	case n.kind.prefixed() && strings.ContainsFunc(wanted, func(r rune) bool { return !isPlain(r) }):
		why = "names may hold letters, digits, _ and - only"
	default:
		n.found[wanted] = target
		return wanted, ""
	}
	n.passed[wanted] = true
	p := plain(m.publicName(n.kind, e.name))
	exposed = p[:min(len(p), maxExposed-1-digits)] + "_" + suffix(m.name, e.name)
	if _, taken := n.found[exposed]; taken {
		return "", fmt.Sprintf("%s %q is omitted: the name %q is taken", n.kind.Noun, e.name, exposed)
	}
	n.found[exposed] = target
	return exposed, fmt.Sprintf("%s %q is offered as %q: %s", n.kind.Noun, e.name, exposed, why)
}

// unlisted returns the tools or prompts that are in no list, by the names that they would have. If
// a client calls one, the member's middleware returns the reason why the list omits it.
func (n *naming) unlisted() map[string]owned {
	all := map[string]owned{}
	for _, m := range n.members {
		for _, name := range m.listing(n.kind).unlisted {
			wanted := n.wanted(m, name)
			if _, taken := all[wanted]; !taken {
				all[wanted] = owned{member: m, original: name}
			}
		}
	}
	return all
}

// contested reports whether a name begins with the prefix of an earlier member whose definitions
// are not known yet, so that either member may have it. Until they are known, neither has the name.
// So a name never moves from one tool to another when a server is connected.
func (n *naming) contested(m *member, wanted string) bool {
	if !n.kind.prefixed() || m.prefix() == "" {
		return false
	}
	for _, before := range n.members {
		if before == m {
			break
		}
		if strings.HasPrefix(wanted, before.prefix()) && !before.isKnown() {
			return true
		}
	}
	return false
}
