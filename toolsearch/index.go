package toolsearch

import (
	"slices"
	"sync"
	"time"
)

const (
	maxServerTools = 10_000  // tools of one server that are indexed
	maxServerWords = 500_000 // words of the tools of one server that are indexed
)

// Options say how an Index works. The zero value is what was tuned and measured.
type Options struct {
	// Embedder adds search by meaning; nil means by words only.
	Embedder Embedder
	// EmbedTimeout is how long a search waits for the vector of its query
	// before it goes on without; default 2 s. One batch of Index.Embed has ten times as long.
	EmbedTimeout time.Duration
	// EmbedWeight is the share of meaning in a fused score, between 0 and 1;
	// default 0.4. More is right for a large model and queries in free words,
	// less for a small one. It counts only with an Embedder.
	EmbedWeight float64
}

// Index holds tools and answers which of them fit a query. It is made by New
// and safe for concurrent use.
type Index struct {
	weights  weights
	stems    stems
	synonyms synonyms
	dense    *dense // nil without an Embedder

	change sync.Mutex // held by whoever changes the Index; what is slow is done under it alone
	mu     sync.RWMutex

	slots   []slot
	free    []uint32 // slots that hold nothing
	byID    map[string]uint32
	servers map[string]*server
	numbers []int // numbers of servers that are gone
	terms   map[string]*postings
	totals  totals
	sweeps  uint64 // how often unlink was called
	memory  memory

	scratch sync.Pool // of *scratch
}

// slot is a place for one tool.
type slot struct {
	live   bool // its terms are in the postings
	tool   Tool
	doc    document
	server int // number of the server, dense from 0
	vector []float32
}

// server is what the Index knows of a server.
type server struct {
	number int
	about  string
	slots  []uint32
}

// posting says how often a term is in the fields of the tool in a slot.
type posting struct {
	slot uint32
	counts
}

// postings are those of one term, in no order.
type postings struct {
	list  []posting
	swept uint64 // the unlink that went through list last
}

// totals are the sums over a set of tools that weights depend on.
type totals struct {
	tools int
	words [fields]uint64
	filed [fields]int // tools that have the field
}

func (t *totals) add(l *lengths, sign int) {
	t.tools += sign
	for f, n := range l {
		t.words[f] += uint64(sign * int(n)) // wraps around, back and forth alike
		if n > 0 {
			t.filed[f] += sign
		}
	}
}

// New returns an Index without tools.
func New(o Options) *Index {
	x := &Index{
		weights:  tuned(),
		synonyms: newSynonyms(),
		byID:     make(map[string]uint32),
		servers:  make(map[string]*server),
		terms:    make(map[string]*postings),
		memory:   newMemory(),
		dense:    newDense(o),
	}
	x.scratch.New = func() any { return new(scratch) }
	return x
}

// SetServer makes tools the tools of server, instead of those it had; without any it
// is removed, but what was remembered for its tools stays, as servers come back. The text
// about says in a sentence what the server is for; it may be empty. Only what
// changed is indexed anew. Tool.Server is taken to be server. Of tools with
// the same ID the first one counts, and a tool whose ID a tool of another server
// has is left out: nobody can replace what belongs to someone else. At most
// 10,000 tools of a server are indexed; those after the first 500,000 words are found by their names alone.
func (x *Index) SetServer(server, about string, tools []Tool) {
	x.change.Lock()
	defer x.change.Unlock()
	next := x.admitted(server, tools)
	docs := x.read(next)
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.server(server)
	s.about = about
	x.drop(s, next, docs)
	if len(next) == 0 {
		delete(x.servers, server)
		x.numbers = append(x.numbers, s.number)
		return
	}
	for i, t := range next {
		x.put(s, t, docs[i])
	}
}

// Tool returns the tool with an ID, and whether there is one.
func (x *Index) Tool(id string) (Tool, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n, ok := x.byID[id]
	if !ok {
		return Tool{}, false
	}
	return x.slots[n].tool, true
}

// Len returns how many tools the Index holds.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.totals.tools
}

// admitted returns those of tools that the Index takes from server.
func (x *Index) admitted(server string, tools []Tool) []Tool {
	out := make([]Tool, 0, min(len(tools), maxServerTools))
	seen := make(map[string]bool, cap(out))
	for _, t := range tools {
		t = t.withID(server)
		if n, ok := x.byID[t.ID]; seen[t.ID] || ok && x.slots[n].tool.Server != server {
			continue
		}
		if len(out) == maxServerTools {
			break
		}
		seen[t.ID] = true
		out = append(out, t)
	}
	return out
}

// read returns the documents of the tools that are new or have changed.
func (x *Index) read(tools []Tool) []document {
	docs := make([]document, len(tools))
	r := newReader(&x.stems)
	words := 0
	for i, t := range tools {
		if n, ok := x.byID[t.ID]; ok && x.slots[n].tool.equal(t) {
			words += x.slots[n].doc.lengths.sum()
			continue
		}
		if words > maxServerWords {
			t.Description, t.Schema = "", nil
		}
		docs[i] = r.read(t, x.memory.queries(t.ID))
		words += docs[i].lengths.sum()
	}
	return docs
}

// server returns the server with a name, new if it has to be.
func (x *Index) server(name string) *server {
	s, ok := x.servers[name]
	if ok {
		return s
	}
	s = &server{number: len(x.servers)}
	if n := len(x.numbers); n > 0 {
		s.number, x.numbers = x.numbers[n-1], x.numbers[:n-1]
	}
	x.servers[name] = s
	return s
}

// drop takes the tools of s that have changed out of the postings, and removes
// those that are not among next.
func (x *Index) drop(s *server, next []Tool, docs []document) {
	stays := make(map[string]bool, len(next)) // by ID; true if it has changed
	for i, t := range next {
		stays[t.ID] = docs[i].changed()
	}
	var out []uint32
	for _, n := range s.slots {
		if changed, ok := stays[x.slots[n].tool.ID]; changed || !ok {
			out = append(out, n)
		}
	}
	x.unlink(out)
	s.slots = slices.DeleteFunc(s.slots, func(n uint32) bool {
		id := x.slots[n].tool.ID
		if _, ok := stays[id]; ok {
			return false
		}
		delete(x.byID, id)
		x.slots[n] = slot{}
		x.free = append(x.free, n)
		return true
	})
}

// put adds t to s, or replaces what drop has taken out.
func (x *Index) put(s *server, t Tool, d document) {
	if !d.changed() {
		return
	}
	n, ok := x.byID[t.ID]
	if !ok {
		n = x.place()
		x.byID[t.ID] = n
		s.slots = append(s.slots, n)
	}
	x.slots[n] = slot{tool: t, doc: d, server: s.number}
	x.link(n)
}

// place returns a slot that holds nothing.
func (x *Index) place() uint32 {
	if k := len(x.free); k > 0 {
		n := x.free[k-1]
		x.free = x.free[:k-1]
		return n
	}
	x.slots = append(x.slots, slot{})
	return uint32(len(x.slots) - 1)
}

// link enters the terms of a slot into the postings.
func (x *Index) link(n uint32) {
	d := &x.slots[n].doc
	x.slots[n].live = true
	x.totals.add(&d.lengths, 1)
	for _, t := range d.terms {
		p := x.terms[t.stem]
		if p == nil {
			p = new(postings)
			x.terms[t.stem] = p
		}
		p.list = append(p.list, posting{n, t.counts})
	}
}

// unlink is the opposite of link, for many slots: each list of postings is gone
// through once, as a server may take away thousands of tools that share their words.
func (x *Index) unlink(slots []uint32) {
	for _, n := range slots {
		x.slots[n].live = false
		x.totals.add(&x.slots[n].doc.lengths, -1)
	}
	x.sweeps++
	for _, n := range slots {
		for _, t := range x.slots[n].doc.terms {
			p := x.terms[t.stem]
			if p == nil || p.swept == x.sweeps {
				continue
			}
			p.swept = x.sweeps
			p.list = slices.DeleteFunc(p.list, func(o posting) bool { return !x.slots[o.slot].live })
			if len(p.list) == 0 {
				delete(x.terms, t.stem)
			}
		}
	}
}
