package toolsearch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	defaultLimit  = 5       // hits of a query without Limit
	maxLimit      = 100     // maximum Limit of a query
	maxQueryBytes = 8 << 10 // bytes of a query that are used
	maxQueryTerms = 128     // different words of a query that are used, and the same number of synonyms
)

// Query describes the tools to find.
type Query struct {
	// Text describes the task of the tool in the user's words. A query for one step of a task finds
	// more than a query for the whole task. The first 8 KiB and 128 different words are used.
	Text string
	// Limit is the maximum number of hits. The default is 5, the maximum 100.
	Limit int
	// Allow, if not nil, reports whether the caller may see the tool with this ID. It is called
	// once for each tool in each search. It must be fast and must not call the Index.
	Allow func(id string) bool
}

// Hit is a tool that matches a query.
type Hit struct {
	ID string `json:"id"`
	// Score is a share of the highest possible score for the query, between 0 and 1. With search by
	// meaning, it is the weighted mean of two scores. One is relative to the best tool by words,
	// the other to the best tool by meaning.
	Score float64 `json:"score"`
}

// Results is the result of a search.
type Results struct {
	// Hits lists the best tool first. It is empty if no word of the query is known and no tool has
	// a vector.
	Hits []Hit `json:"hits"`
	// Weak is set if probably no tool matches, as the texts of the best tool contain too few words
	// of the query. It depends on words alone. Weak hits are still returned.
	Weak bool `json:"weak,omitempty"`
	// Note is the reason why the Embedder was not used, or was used for some tools only; otherwise
	// empty. It is meant for logs and users.
	Note string `json:"note,omitempty"`
}

// Search returns the tools that best match q. It never fails: if the Embedder fails or ctx ends,
// Search ranks by words alone and sets Note.
func (x *Index) Search(ctx context.Context, q Query) Results {
	if x.dense == nil {
		return x.search(&q, nil)
	}
	return x.SearchAll(ctx, []Query{q})[0]
}

// SearchAll runs several queries, one for each step of a task, and returns their results in the
// same order. It gets the vectors of all queries with one call of the Embedder. The caller must
// limit the number of queries.
func (x *Index) SearchAll(ctx context.Context, qs []Query) []Results {
	out := make([]Results, len(qs))
	vectors, note := x.dense.queries(ctx, qs)
	for i := range qs {
		var v []float32
		if vectors != nil {
			v = vectors[i]
		}
		out[i] = x.search(&qs[i], v)
		out[i].Note = cmp.Or(out[i].Note, note)
	}
	return out
}

// Merge merges the hits of several searches into one list of at most limit hits. The default is 5
// for each search. Merge takes the best hit of each search, then the second hit of each, and so on,
// so that every step of a task gets hits. A tool that several searches found is listed once, with
// its best score.
func Merge(results []Results, limit int) []Hit {
	limit = cmp.Or(max(limit, 0), defaultLimit*len(results))
	var out []Hit
	at := make(map[string]int)
	longest := 0
	for _, r := range results {
		longest = max(longest, len(r.Hits))
	}
	for rank := range longest {
		for _, r := range results {
			if rank >= len(r.Hits) {
				continue
			}
			h := r.Hits[rank]
			if i, ok := at[h.ID]; ok {
				out[i].Score = max(out[i].Score, h.Score)
			} else if len(out) < limit {
				at[h.ID] = len(out)
				out = append(out, h)
			}
		}
	}
	return out
}

// search ranks tools by words, and also by meaning if vector is not nil.
func (x *Index) search(q *Query, vector []float32) Results {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	s.parse(x, q.Text)
	t := x.table()
	slots, servers := len(t.slots), len(t.servers)
	s.scores = zeroed(s.scores, slots)
	s.named = zeroed(s.named, slots)
	s.servers = zeroed(s.servers, servers)
	s.allowed = s.allowed[:0]
	s.hits = s.hits[:0]
	t.allow(s, q.Allow)
	t.mu.RLock()
	defer t.mu.RUnlock()
	sums := t.sums(s)
	highest := t.scoreWords(s, &sums)
	evidence := evidence(s, sums.tools, highest)
	t.scoreNames(s)
	t.scoreServers(s)
	divisor := highest * (1 + x.weights.cover) * (1 + x.weights.server)
	var note string
	if vector != nil {
		note = t.scoreMeaning(s, vector)
		divisor = 1
	}
	t.take(s, min(cmp.Or(max(q.Limit, 0), defaultLimit), maxLimit))
	r := Results{Hits: make([]Hit, len(s.hits)), Weak: evidence < x.weights.weak, Note: note}
	for i, h := range s.hits {
		r.Hits[i] = Hit{ID: t.slots[h.slot].tool.ID, Score: min(h.score/divisor, 1)}
	}
	return r
}

// term is a word of a query, or a synonym of one.
type term struct {
	stem   string
	weight float64
	of     int     // index of the term that has this synonym, or -1
	idf    float64 // set while scoring
}

// quotations matches quoted text. An apostrophe is a quotation mark only if the other side of it is
// not a letter.
var quotations = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|“[^”]*”|„[^“]*“|«[^»]*»|「[^」]*」|\\B'[^']*(?:'\\w[^']*)*'\\B|‘[^’]*(?:’\\pL[^’]*)*’")

// parse stores the terms of a query and their synonyms in s.query. Quoted parts and numbers are
// mostly values for arguments, so they count less than other words.
func (s *scratch) parse(x *Index, text string) {
	clear(s.query)
	s.query = s.query[:0]
	text = plaintext.Beginning(text, maxQueryBytes)
	quoted := quotations.FindAllStringIndex(text, -1)
	start := 0
	for _, q := range quoted {
		s.read(x, text[start:q[0]], 1)
		start = q[1]
	}
	s.read(x, text[start:], 1)
	weight := x.weights.value
	if len(s.query) == 0 { // all of the text is quoted
		weight = 1
	}
	for _, q := range quoted {
		s.read(x, text[q[0]:q[1]], weight)
	}
	for i := range len(s.query) {
		for _, other := range x.synonyms[s.query[i].stem] {
			if len(s.query) < 2*maxQueryTerms && !s.hasTerm(other) {
				s.query = append(s.query, term{stem: other, weight: x.weights.synonym * s.query[i].weight, of: i})
			}
		}
	}
}

// read adds the terms of text that s.query does not contain yet.
func (s *scratch) read(x *Index, text string, weight float64) {
	s.split.split(text, func(word []byte, _ bool) bool {
		if len(s.query) >= maxQueryTerms {
			return false
		}
		if stem := x.stems.of(word); stem != "" && !s.hasTerm(stem) {
			w := weight
			if len(bytes.Trim(word, "0123456789")) == 0 {
				w = min(w, x.weights.value)
			}
			s.query = append(s.query, term{stem: stem, weight: w, of: -1})
		}
		return true
	})
}

func (s *scratch) hasTerm(stem string) bool {
	for i := range s.query {
		if s.query[i].stem == stem {
			return true
		}
	}
	return false
}

// scratch is the memory of one search. Later searches reuse it.
type scratch struct {
	split   splitter
	query   []term
	scores  []float64 // by slot
	named   []uint8   // by slot: number of query words in the name
	servers []float64 // best score of a tool, by server number
	allowed []bool    // by slot; empty means that all tools are allowed
	near    []float64 // by slot: similarity of the tool's vector and the query's
	hits    []ranked
}

// ranked is a slot with its score.
type ranked struct {
	slot  int
	score float64
}

func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	s = s[:n]
	clear(s)
	return s
}

// allow sets s.allowed from the function allow; nil allows all tools.
func (t *table) allow(s *scratch, allow func(string) bool) {
	if allow == nil {
		return
	}
	s.allowed = zeroed(s.allowed, len(t.slots))
	for n := range t.slots {
		s.allowed[n] = allow(t.slots[n].tool.ID)
	}
}

// sums returns the totals of the allowed tools.
func (t *table) sums(s *scratch) totals {
	if len(s.allowed) == 0 {
		return t.totals
	}
	var sums totals
	for n, allowed := range s.allowed {
		if allowed {
			sums.add(&t.slots[n].doc.lengths)
		}
	}
	return sums
}

// allows reports whether the tool in a slot is allowed.
func (s *scratch) allows(slot int) bool { return len(s.allowed) == 0 || s.allowed[slot] }

// scoreWords adds the scores of the query's words to the score of each allowed tool. It returns the
// highest possible score.
func (t *table) scoreWords(s *scratch, sums *totals) (highest float64) {
	scale := t.weights.scale(sums)
	for i := range s.query {
		q := &s.query[i]
		list := t.terms[q.stem]
		q.idf = rarity(sums.tools, s.frequency(list))
		if q.of < 0 {
			highest += q.weight * q.idf
		} else {
			// A rare synonym of a common word counts at most as much as the word.
			q.idf = min(q.idf, s.query[q.of].idf)
		}
		for j := range list {
			if p := &list[j]; s.allows(p.slot) {
				if q.of < 0 && p.counts[nameField] > 0 {
					s.named[p.slot]++
				}
				s.scores[p.slot] += q.weight * q.idf * scale.saturated(&p.counts, &t.slots[p.slot].doc.lengths)
			}
		}
	}
	return highest
}

// frequency returns the number of allowed tools in list.
func (s *scratch) frequency(list []posting) int {
	if len(s.allowed) == 0 {
		return len(list)
	}
	n := 0
	for i := range list {
		if s.allowed[list[i].slot] {
			n++
		}
	}
	return n
}

// scoreNames raises the score of each tool by the share of the words in its name that the query
// contains. So among tools with equal matches, a tool whose name has no other words comes first.
func (t *table) scoreNames(s *scratch) {
	for n, words := range s.named {
		if words > 0 {
			s.scores[n] *= 1 + t.weights.cover*min(1, float64(words)/float64(max(1, t.slots[n].doc.named)))
		}
	}
}

// scoreServers adds a share of a server's best score to each of its tools that has a score, as the
// steps of a task often use one server.
func (t *table) scoreServers(s *scratch) {
	for n, score := range s.scores {
		if score > 0 {
			k := t.slots[n].server
			s.servers[k] = max(s.servers[k], score)
		}
	}
	for n, score := range s.scores {
		if score > 0 {
			s.scores[n] += t.weights.server * s.servers[t.slots[n].server]
		}
	}
}

// evidence returns how strongly the words support the best tool. The unit of scores is the weight
// of the rarest possible word. The evidence is the tool's score times the cube root of a quotient:
// the tool's lead over others, divided by the highest possible score. So a third of a long query
// can be convincing, and so can all of a short one. Words that many tools have are less convincing.
// If most of the query was found, the evidence is at least the share that was found.
func evidence(s *scratch, tools int, highest float64) float64 {
	found, next := s.best(tools)
	if found == 0 {
		return 0
	}
	unit := rarity(tools, 0)
	ahead := float64(mostAhead)
	if next > 0 {
		ahead = min(ahead, found/next)
	}
	return max(found/unit*math.Cbrt(ahead*unit/highest), found/highest)
}

// best returns the highest score, and the score of the first tool after the default number of hits.
// If there are fewer tools, next is the score of the last one.
func (s *scratch) best(tools int) (best, next float64) {
	var top [defaultLimit + 1]float64
	for _, score := range s.scores {
		for i := len(top) - 1; i >= 0 && score > top[i]; i-- {
			if i+1 < len(top) {
				top[i+1] = top[i]
			}
			top[i] = score
		}
	}
	return top[0], top[max(0, min(tools, len(top))-1)]
}

// take stores the best tools in s.hits.
func (t *table) take(s *scratch, limit int) {
	for n, score := range s.scores {
		if score > 0 {
			t.offer(s, limit, ranked{n, score})
		}
	}
}

// offer inserts h into s.hits if it is among the limit best.
func (t *table) offer(s *scratch, limit int, h ranked) {
	if len(s.hits) == limit {
		if t.compare(h, s.hits[limit-1]) >= 0 {
			return
		}
		s.hits = s.hits[:limit-1]
	}
	s.hits = append(s.hits, h)
	for i := len(s.hits) - 1; i > 0 && t.compare(s.hits[i], s.hits[i-1]) < 0; i-- {
		s.hits[i], s.hits[i-1] = s.hits[i-1], s.hits[i]
	}
}

// compare orders by descending score, and then by ID.
func (t *table) compare(a, b ranked) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return strings.Compare(t.slots[a.slot].tool.ID, t.slots[b.slot].tool.ID)
}

// weights holds the parameters of the ranking. They were tuned on two public sets of tools and
// queries and tested on others. No parameter is specific to one set.
type weights struct {
	field   [fields]float64 // weight of a word in a field
	norm    [fields]float64 // how much the length of a field reduces the weight of its words, 0 to 1
	cover   float64         // bonus if the query contains the whole name, as a share of the score
	k1      float64         // saturation of repeated words
	server  float64         // share of the best score of its server that a tool gets
	synonym float64         // weight of a synonym relative to the word itself
	value   float64         // weight of a quoted word or a number relative to another word
	weak    float64         // evidence below which a match is weak
}

// mostAhead is the maximum lead of the best tool that counts. The lead is its score divided by the
// score of the first tool after the default number of hits.
const mostAhead = 3

// tuned returns the weights of an Index.
func tuned() weights {
	return weights{
		field:   [fields]float64{nameField: 2, serverField: 1, describeField: 1, paramField: 0.3, usageField: 0.6},
		norm:    [fields]float64{nameField: 0.5, serverField: 0.5, describeField: 0.6, paramField: 0.75, usageField: 0.9},
		cover:   0.15,
		k1:      1.8,
		server:  0.3,
		synonym: 0.4,
		value:   0.5,
		weak:    0.4,
	}
}

// rarity returns the weight of a term that df of n tools contain. It is positive.
func rarity(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// scale holds the weights for a set of tools. The weight of a word in a field is weight / (flat +
// slope * length of the field).
type scale struct {
	weight, flat, slope [fields]float64
	k1                  float64
}

func (w *weights) scale(t *totals) scale {
	s := scale{weight: w.field, k1: w.k1}
	for f := range s.flat {
		s.flat[f] = 1 - w.norm[f]
		if t.words[f] > 0 {
			s.slope[f] = w.norm[f] * float64(t.filed[f]) / float64(t.words[f])
		}
	}
	return s
}

// saturated returns the weight of a term's occurrences in one tool, at least 0 and below 1.
func (s *scale) saturated(c *counts, l *lengths) float64 {
	var sum float64
	for f, n := range c {
		if n > 0 {
			sum += s.weight[f] * float64(n) / (s.flat[f] + s.slope[f]*float64(l[f]))
		}
	}
	return sum / (s.k1 + sum)
}

// queries returns the vectors of queries, or nil and a note with the reason. A nil dense is valid.
func (d *dense) queries(ctx context.Context, qs []Query) (vectors [][]float32, note string) {
	if d == nil || len(qs) == 0 {
		return nil, ""
	}
	if left := d.pause(); left > 0 {
		return nil, fmt.Sprintf("found by words alone: the embedder failed %d times in a row and is used again in %v", maxEmbedFailures, left.Round(time.Second))
	}
	texts := make([]string, len(qs))
	for i, q := range qs {
		texts[i] = plaintext.Beginning(q.Text, maxEmbedText)
	}
	limited, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	for len(vectors) < len(texts) {
		some := texts[len(vectors):min(len(vectors)+embedBatch, len(texts))]
		got, err := d.embed(limited, some, embedTimeout)
		if err != nil {
			if ctx.Err() == nil { // a cancellation by the caller is not a failure of the embedder
				d.recordCall(false)
			}
			return nil, fmt.Sprintf("found by words alone: %v", err)
		}
		vectors = append(vectors, got...)
	}
	d.recordCall(true)
	return vectors, ""
}

// pause returns the remaining pause before the next call of the Embedder; it is not positive if
// there is none.
func (d *dense) pause() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.paused)
}

// recordCall records whether a call of the Embedder succeeded.
func (d *dense) recordCall(well bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failures++; well {
		d.failures = 0
	} else if d.failures >= maxEmbedFailures {
		d.failures, d.paused = 0, time.Now().Add(embedPause)
	}
}

// scoreMeaning replaces the scores in s by fused ones. The scores by words and by meaning are first
// scaled to the range from 0 to 1. The scale of words is the best score. The scale of meaning
// begins at the mean of the allowed tools, most of which are unrelated to the query. scoreMeaning
// returns a note if tools have no vector.
func (t *table) scoreMeaning(s *scratch, vector []float32) (note string) {
	bestByWords, _ := s.best(0)
	s.near = zeroed(s.near, len(t.slots))
	var sum, most float64
	with, without := 0, 0
	for n := range t.slots {
		p := &t.slots[n]
		switch {
		case !s.allows(n):
		case len(p.vector) == 0:
			without++
		default:
			s.near[n] = dot(p.vector, vector)
			sum += s.near[n]
			most = max(most, s.near[n])
			with++
		}
	}
	t.fuse(s, bestByWords, sum/float64(max(1, with)), most)
	switch {
	case with == 0:
		return "found by words alone: no tool has a vector yet"
	case without > 0:
		return fmt.Sprintf("%d of %d tools have no vector yet and are found by words alone", without, with+without)
	}
	return ""
}

// fuse replaces the scores by words by fused ones. The best score by words is bestByWords.
func (t *table) fuse(s *scratch, bestByWords, mean, most float64) {
	for n := range s.scores {
		if bestByWords > 0 {
			s.scores[n] /= bestByWords
		}
		p := &t.slots[n]
		meaning := 0.0
		switch {
		case !s.allows(n), len(p.vector) == 0:
			continue // the missing score is assumed to be equal to the other one
		case most > mean:
			meaning = max(0, (s.near[n]-mean)/(most-mean))
		case most > 0:
			meaning = 1 // all are equally near, as with a single tool
		}
		s.scores[n] = (1-embedWeight)*s.scores[n] + embedWeight*meaning
	}
}

// dot returns the dot product of two vectors of the same length.
func dot(a, b []float32) float64 {
	var sum float32
	for i, n := range a {
		sum += n * b[i]
	}
	return float64(sum)
}
