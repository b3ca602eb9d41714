package toolsearch

import (
	"container/list"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	maxQueriesPerTool   = 32     // queries remembered for one tool
	maxQueriesInAll     = 10_000 // queries remembered in an Index
	maxRememberedBytes  = 512    // bytes of a query that are remembered
	maxRememberedIDSize = 512    // bytes of an ID that something is remembered for
)

// fewTools is for how many tools a table is changed in place; for more the next search makes another one.
const fewTools = 16

// Remembered is a query under which a tool was used with success.
type Remembered struct {
	ID    string `json:"id"`    // of the tool
	Query string `json:"query"` // at most 512 bytes
}

// memory holds what is remembered, the oldest first. It is bounded per tool and
// in all, and holds nothing twice.
type memory struct {
	order *list.List                 // of Remembered
	tools map[string][]*list.Element // by ID, the oldest first
}

// queries are those remembered for a tool.
func (m *memory) queries(id string) []string {
	var out []string
	for _, e := range m.tools[id] {
		out = append(out, e.Value.(Remembered).Query)
	}
	return out
}

// add remembers r as the newest and returns the IDs of the tools for which
// something has changed.
func (m *memory) add(r Remembered) (changed []string) {
	for _, e := range m.tools[r.ID] {
		if strings.EqualFold(e.Value.(Remembered).Query, r.Query) {
			m.drop(e)
			break
		}
	}
	if own := m.tools[r.ID]; len(own) >= maxQueriesPerTool {
		m.drop(own[0])
	}
	if m.order.Len() >= maxQueriesInAll {
		changed = append(changed, m.drop(m.order.Front()))
	}
	m.tools[r.ID] = append(m.tools[r.ID], m.order.PushBack(r))
	return append(changed, r.ID)
}

// drop forgets one query and returns the ID of its tool.
func (m *memory) drop(e *list.Element) string {
	r := m.order.Remove(e).(Remembered)
	own := m.tools[r.ID]
	own = slices.DeleteFunc(own, func(o *list.Element) bool { return o == e })
	if m.tools[r.ID] = own; len(own) == 0 {
		delete(m.tools, r.ID)
	}
	return r.ID
}

// Remember adds a query under which the tool with an ID was used with success,
// so that the tool is found sooner for the like. Only the caller knows what
// success is: a call that failed, that nobody wanted, or that a text from a
// server suggested must not be remembered. The query is kept as it is, up to 512
// bytes, for as long as the Index lives; leave out what is secret.
//
// The last 32 queries of a tool and the last 10,000 in all are kept, each once.
// The tool need not be there yet.
func (x *Index) Remember(id, query string) {
	x.remember([]Remembered{{id, query}})
}

// Restore remembers what another Index returned from Memory, in its order.
func (x *Index) Restore(m []Remembered) { x.remember(m) }

// Memory returns all that is remembered, the oldest first: a value to be saved
// as JSON and given to Restore.
func (x *Index) Memory() []Remembered {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Remembered, 0, x.memory.order.Len())
	for e := x.memory.order.Front(); e != nil; e = e.Next() {
		out = append(out, e.Value.(Remembered))
	}
	return out
}

// Forget drops what is remembered for a tool, for instance because its
// definition is no longer the one that was used.
func (x *Index) Forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range slices.Clone(x.memory.tools[id]) {
		x.memory.drop(e)
	}
	x.reread([]string{id})
}

func (x *Index) remember(m []Remembered) {
	x.mu.Lock()
	defer x.mu.Unlock()
	changed := make(map[string]bool)
	for _, r := range m {
		r.Query = plaintext.Beginning(strings.TrimSpace(strings.ToValidUTF8(r.Query, "")), maxRememberedBytes)
		if r.ID == "" || r.Query == "" || len(r.ID) > maxRememberedIDSize {
			continue
		}
		for _, id := range x.memory.add(r) {
			changed[id] = true
		}
	}
	x.reread(slices.Collect(maps.Keys(changed)))
}

// reread reads the remembered queries of tools anew. The table is changed for a few tools only: to make another one takes
// less time than to find what many have in it. The caller holds x.mu.
func (x *Index) reread(ids []string) {
	r := newReader(&x.stems)
	t := x.built.Load()
	if len(ids) > fewTools {
		t = nil
		x.built.Store(nil)
	}
	for _, id := range ids {
		e := x.byID[id]
		if e == nil {
			continue
		}
		e.doc = r.remember(&e.doc, x.memory.queries(id))
		if t != nil {
			t.replace(t.byID[id], r, e.doc)
		}
	}
}
