package gateway

import (
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/mcp"
)

// surroundings holds the options and middleware of a member. They may change while its connection
// and its requests go on.
type surroundings struct {
	Upstream
	chain mcp.Handler // the member, wrapped by Middleware
}

func (m *member) surroundedAs(u Upstream) *surroundings {
	return &surroundings{u, mcp.Chain(mcp.HandlerFunc(m.bottom), u.Middleware...)}
}

// Rearrange changes the names and the middleware of a member. It takes Prefix, NoPrefix, Names,
// PromptNames, Middleware, Check, MaxInstances and IdleTime from u. Instance applies to connections
// that begin later. All other fields of u are ignored. The connection stays, and running requests
// end as they began. Clients get list_changed. Rearrange fails if the gateway has no member with
// that name, or if u is not valid.
func (g *Gateway) Rearrange(name string, u Upstream) error {
	m := g.member(name)
	if m == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	u.Isolation = m.upstream.Isolation
	if err := u.check(name); err != nil {
		return err
	}
	m.show(m.surroundedAs(u))
	m.instances.wake(func(i *instance) chan struct{} { return i.rearranged })
	g.mu.Lock()
	g.setPrefixes()
	g.mu.Unlock()
	g.changedOffer(every)
	return nil
}

// check returns an error if fields of an Upstream contradict each other.
func (u *Upstream) check(name string) error {
	if u.Isolation != Shared && u.Check != nil && u.Instance == nil {
		return fmt.Errorf("server %q: Check cannot see what each of its instances lists; set Instance, too", name)
	}
	return nil
}

// show makes the listings of the known lists with the surroundings next, and then sets next for the
// member. If next is nil, show uses the present surroundings. It returns the kinds of the lists
// that changed.
func (m *member) show(next *surroundings) (changed kinds) {
	for {
		m.mu.RLock()
		around, known, before, shown := m.around.Load(), m.own(), m.listings, m.shown
		m.mu.RUnlock()
		if next != nil {
			around = next
		}
		after := before
		if known != nil {
			after = m.listingsOf(around, known, before)
		}
		m.mu.Lock()
		current := m.own() == known && m.shown == shown // false if another goroutine read, rearranged or showed the lists in the meantime
		if current {
			m.listings = after
			if known != nil {
				m.listedOf = known
			}
			m.around.Store(around)
			m.shown++
		}
		m.mu.Unlock()
		if !current {
			continue
		}
		for _, k := range allKinds {
			if !slices.EqualFunc(before[k.Name].entries, after[k.Name].entries, func(a, b listed) bool { return string(a.raw) == string(b.raw) }) {
				changed |= k.bit
			}
		}
		return changed
	}
}
