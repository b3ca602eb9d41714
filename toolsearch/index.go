package toolsearch

import (
	"cmp"
	"container/list"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	maxServerTools = 10_000  // indexed tools of one server
	maxServerWords = 500_000 // indexed words of the tools of one server
)

// Options configure an Index. The zero value is the default.
type Options struct {
	// Embedder adds search by meaning; nil means search by words only.
	Embedder Embedder
}

// Index holds tools and finds those that match a query. Create it with New. It is safe for
// concurrent use.
type Index struct {
	weights  weights
	stems    stems
	synonyms synonyms
	dense    *dense // nil without an Embedder

	reading sync.Mutex // held while the texts of a server are read, and for changes of servers and byID

	mu      sync.Mutex // guards all following fields; held only for short times
	servers map[string]*server
	byID    map[string]*entry
	memory  memory
	built   atomic.Pointer[table] // table for searches; nil if it must be built again

	scratch sync.Pool // of *scratch
}

// server holds the tools of a server.
type server struct {
	about string
	tools []*entry
}

// entry is one tool of an Index.
type entry struct {
	tool   Tool
	words  int // words in the tool's texts
	doc    document
	vector []float32
}

// table holds the data of searches. Only remembered queries change it in place.
type table struct {
	weights *weights
	slots   []slot         // only the documents change
	byID    map[string]int // indexes in slots
	servers []Server       // by server number

	mu     sync.RWMutex         // guards the documents in slots, terms and totals; never held during callbacks
	terms  map[string][]posting // sorted by slot
	totals totals
}

// slot is a tool in a table.
type slot struct {
	entry
	server int // server number
}

// posting holds the occurrences of a term in the fields of the tool in a slot.
type posting struct {
	slot int
	counts
}

// totals holds the sums over a set of tools that are needed for the weights of words.
type totals struct {
	tools int
	words [fields]uint64
	filed [fields]int // tools with a non-empty field
}

func (t *totals) add(l *lengths) {
	t.tools++
	for f, n := range l {
		t.words[f] += uint64(n)
		if n > 0 {
			t.filed[f]++
		}
	}
}

func (t *totals) remove(l *lengths) {
	t.tools--
	for f, n := range l {
		t.words[f] -= uint64(n)
		if n > 0 {
			t.filed[f]--
		}
	}
}

// New returns an Index without tools.
func New(o Options) *Index {
	x := &Index{
		weights:  tuned(),
		synonyms: newSynonyms(),
		byID:     make(map[string]*entry),
		servers:  make(map[string]*server),
		memory:   memory{order: list.New(), tools: make(map[string][]*list.Element)},
		dense:    newDense(o.Embedder),
	}
	x.scratch.New = func() any { return new(scratch) }
	return x
}

// SetServer replaces the tools of a server. Only changed tools are read again. Without tools the
// server is removed, but its remembered queries stay, as servers often return. The text about
// describes the purpose of the server in a sentence; it may be empty. SetServer sets Tool.Server to
// name. If several tools have the same ID, the first one counts. A tool with the ID of another
// server's tool is omitted, so that no server can replace another server's tools. At most 10,000
// tools of a server are indexed. Tools after the first 500,000 words are indexed by their names
// alone.
func (x *Index) SetServer(name, about string, tools []Tool) {
	x.reading.Lock()
	defer x.reading.Unlock()
	r := newReader(&x.stems)
	next := x.read(r, x.admitted(name, tools))
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range next {
		if queries := x.memory.queries(e.tool.ID); len(queries) > 0 && x.byID[e.tool.ID] != e { // the tool was read just now
			e.doc = r.remember(&e.doc, queries)
		}
	}
	if before := x.servers[name]; before != nil {
		for _, e := range before.tools {
			delete(x.byID, e.tool.ID)
		}
	}
	for _, e := range next {
		x.byID[e.tool.ID] = e
	}
	if x.servers[name] = (&server{about, next}); len(next) == 0 {
		delete(x.servers, name)
	}
	x.built.Store(nil)
}

// Tool returns the tool with an ID, and reports whether it exists.
func (x *Index) Tool(id string) (Tool, bool) {
	t := x.table()
	n, ok := t.byID[id]
	if !ok {
		return Tool{}, false
	}
	return t.slots[n].tool, true
}

// Len returns the number of tools in the Index.
func (x *Index) Len() int { return len(x.table().slots) }

// admitted returns the tools that the Index accepts from a server.
func (x *Index) admitted(server string, tools []Tool) []Tool {
	out := make([]Tool, 0, min(len(tools), maxServerTools))
	seen := make(map[string]bool, cap(out))
	for _, t := range tools {
		t = t.withID(server)
		if e := x.byID[t.ID]; seen[t.ID] || e != nil && e.tool.Server != server {
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

// read returns the entries of tools. Unchanged tools keep their old entries.
func (x *Index) read(r *reader, tools []Tool) []*entry {
	entries := make([]*entry, len(tools))
	words := 0
	for i, t := range tools {
		e := x.byID[t.ID]
		if e == nil || !e.tool.equal(t) {
			read := t
			if words > maxServerWords {
				read.Description, read.Schema = "", nil
			}
			e = &entry{tool: t, doc: r.read(read)}
			e.words = e.doc.lengths.read()
		}
		words += e.words
		entries[i] = e
	}
	return entries
}

// table returns the table for searches, and builds it if necessary.
func (x *Index) table() *table {
	if t := x.built.Load(); t != nil {
		return t
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.built.Load()
	if t == nil {
		t = x.build()
		x.built.Store(t)
	}
	return t
}

func (x *Index) build() *table {
	t := &table{weights: &x.weights, slots: make([]slot, 0, len(x.byID)), byID: make(map[string]int, len(x.byID)), terms: make(map[string][]posting)}
	for i, name := range slices.Sorted(maps.Keys(x.servers)) {
		s := x.servers[name]
		t.servers = append(t.servers, Server{Name: name, About: s.about, Tools: len(s.tools)})
		for _, e := range s.tools {
			n := len(t.slots)
			t.slots = append(t.slots, slot{*e, i})
			t.byID[e.tool.ID] = n
			t.totals.add(&e.doc.lengths)
			for _, term := range e.doc.terms {
				t.terms[term.stem] = append(t.terms[term.stem], posting{n, term.counts})
			}
		}
	}
	return t
}

// replace sets the document of the tool in a slot to next, which is the last document of r. Only
// remembered queries may differ.
func (t *table) replace(slot int, r *reader, next document) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.slots[slot].doc
	t.slots[slot].doc = next
	t.totals.remove(&before.lengths)
	t.totals.add(&next.lengths)
	for _, term := range before.terms {
		i, stays := r.at[term.stem]
		switch {
		case term.counts[usageField] == 0:
		case stays:
			t.put(term.stem, posting{slot, next.terms[i].counts})
		default:
			t.remove(term.stem, slot)
		}
	}
	for _, term := range next.terms {
		if term.counts[usageField] > 0 {
			t.put(term.stem, posting{slot, term.counts})
		}
	}
}

// put adds p to the postings of a term, or replaces the posting of the same slot.
func (t *table) put(stem string, p posting) {
	list := t.terms[stem]
	i, there := find(list, p.slot)
	if there {
		list[i] = p
		return
	}
	t.terms[stem] = slices.Insert(list, i, p)
}

func (t *table) remove(stem string, slot int) {
	list := t.terms[stem]
	if i, there := find(list, slot); there {
		t.terms[stem] = slices.Delete(list, i, i+1)
	}
	if len(t.terms[stem]) == 0 {
		delete(t.terms, stem)
	}
}

func find(list []posting, slot int) (i int, there bool) {
	return slices.BinarySearchFunc(list, slot, func(p posting, slot int) int { return cmp.Compare(p.slot, slot) })
}

// Tool is a tool to search and show. A Tool and its Schema must not change after they were passed
// to an Index.
type Tool struct {
	ID          string          `json:"id"`                    // unique in an Index; default Server + "__" + Name
	Server      string          `json:"server,omitempty"`      // configured name of the server
	Name        string          `json:"name"`                  // name of the tool on its server
	Title       string          `json:"title,omitempty"`       // name for users
	Description string          `json:"description,omitempty"` // purpose
	Schema      json.RawMessage `json:"inputSchema,omitempty"` // JSON Schema of its arguments
}

// charsPerToken is the usual number of characters in a token, for English text and JSON.
const charsPerToken = 4

// Tokens returns the estimated number of tokens of text: its characters divided by four, rounded
// up. Tokenizers differ from the estimate, and from each other, by a third.
func Tokens(text string) int { return tokens(utf8.RuneCountInString(text)) }

func tokens(chars int) int { return (chars + charsPerToken - 1) / charsPerToken }

// Tokens returns the estimated number of tokens of the tool's definition in a request: its name,
// description and schema. Models do not get the title.
func (t Tool) Tokens() int {
	return tokens(utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema))
}

// withID returns t with its Server set, and its ID set if it was empty.
func (t Tool) withID(server string) Tool {
	t.Server = server
	if t.ID == "" {
		t.ID = server + "__" + t.Name
	}
	return t
}

func (t Tool) equal(o Tool) bool {
	return t.ID == o.ID && t.Name == o.Name && t.Title == o.Title && t.Description == o.Description && string(t.Schema) == string(o.Schema)
}

const (
	maxQueriesPerTool   = 32     // remembered queries of one tool
	maxQueriesInAll     = 10_000 // remembered queries of an Index
	maxRememberedBytes  = 512    // remembered bytes of a query
	maxRememberedIDSize = 512    // bytes of an ID with remembered queries
)

// fewTools is the maximum number of tools for which a table is changed in place. For more tools,
// the next search builds a new table.
const fewTools = 16

// Remembered is a query after which a tool was used successfully.
type Remembered struct {
	ID    string `json:"id"`    // of the tool
	Query string `json:"query"` // at most 512 bytes
}

// memory holds the remembered queries without duplicates, the oldest first. Their number is limited
// for each tool and in total.
type memory struct {
	order *list.List                 // of Remembered values
	tools map[string][]*list.Element // by ID, the oldest first
}

// queries returns the remembered queries of a tool.
func (m *memory) queries(id string) []string {
	var out []string
	for _, e := range m.tools[id] {
		out = append(out, e.Value.(Remembered).Query)
	}
	return out
}

// add adds r as the newest query, and returns the IDs of the tools whose queries changed.
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

// drop removes one query, and returns the ID of its tool.
func (m *memory) drop(e *list.Element) string {
	r := m.order.Remove(e).(Remembered)
	own := m.tools[r.ID]
	own = slices.DeleteFunc(own, func(o *list.Element) bool { return o == e })
	if m.tools[r.ID] = own; len(own) == 0 {
		delete(m.tools, r.ID)
	}
	return r.ID
}

// Remember adds a query after which the tool with this ID was used successfully, so that similar
// queries rank the tool higher. The caller decides about success. It must not pass the queries of
// calls that failed, that the user did not want, or that the text of a server suggested. The Index
// stores the first 512 bytes of the query unchanged, as long as the Index exists. The query must
// not contain secrets.
//
// The Index stores the last 32 queries of each tool and the last 10,000 in total, each once. The
// tool may be added later.
func (x *Index) Remember(id, query string) {
	x.remember([]Remembered{{id, query}})
}

// Restore remembers queries that Memory of another Index returned, in that order.
func (x *Index) Restore(m []Remembered) { x.remember(m) }

// Memory returns all remembered queries, the oldest first, for storage as JSON and for Restore.
func (x *Index) Memory() []Remembered {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Remembered, 0, x.memory.order.Len())
	for e := x.memory.order.Front(); e != nil; e = e.Next() {
		out = append(out, e.Value.(Remembered))
	}
	return out
}

// Forget removes the remembered queries of a tool, for example because its definition has changed.
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

// reread updates the remembered queries in the documents of tools. It changes the table in place
// only for few tools, as building a new table is faster for many. The caller holds x.mu.
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
