package gateway

import (
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/mcp"
)

// surroundings are what of an Upstream stands around a member, and may change while its connection and its requests go on.
type surroundings struct {
	Upstream
	chain mcp.Handler // the member behind Middleware
}

func (m *member) surroundedAs(u Upstream) *surroundings {
	return &surroundings{u, mcp.Chain(mcp.HandlerFunc(m.bottom), u.Middleware...)}
}

// Rearrange has what stands around a member be as u says: Prefix, NoPrefix, Names, PromptNames, Middleware, Check, MaxInstances,
// IdleTime, and Instance for connections that begin from then on. All else stays as it is, so does the connection, and requests
// that run end as they began. Clients get list_changed. The error says that there is no such member, or what is wrong with u.
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

// check says what of an Upstream contradicts itself.
func (u *Upstream) check(name string) error {
	if u.Isolation != Shared && u.Check != nil && u.Instance == nil {
		return fmt.Errorf("server %q: Check cannot see what each of its instances lists; set Instance, too", name)
	}
	return nil
}

// show gives the lists that are known to what is to stand around the member next, and has that stand there; nil is what stands
// there already. It returns which lists are not what they were.
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
		current := m.own() == known && m.shown == shown // else it was read, rearranged or shown to other rules meanwhile
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
