package toolsearch

import (
	"cmp"
	"context"
)

const (
	defaultLimit  = 5       // hits of a query that sets no limit
	maxLimit      = 100     // hits of a query
	maxQueryBytes = 8 << 10 // bytes of a query that are read
	maxQueryTerms = 128     // different words of a query that count, and as many synonyms
)

// Query asks for tools.
type Query struct {
	// Text says what the tool should do, in the words of whoever needs it. One
	// step of a task finds more than the whole task. At most 8 KiB of it are read,
	// and 128 different words.
	Text string
	// Limit is how many hits are wanted; default 5, at most 100.
	Limit int
	// Allow says whether the asker may know of the tool with an ID; nil allows
	// all. It is asked once per tool and search, must be quick, and must not
	// call the Index.
	Allow func(id string) bool
}

// Hit is a tool that fits a query.
type Hit struct {
	ID string `json:"id"`
	// Score is between 0 and 1: the share of the highest score that the query
	// could have had. Where meaning took part it is the weighted mean of
	// how close the tool comes to the best by words and to the best by meaning.
	Score float64 `json:"score"`
}

// Results is what a search found.
type Results struct {
	// Hits has the best tool first. It is empty if no word of the query is
	// known and no tool has a vector.
	Hits []Hit `json:"hits"`
	// Weak says that probably nothing fits: too little of what the query asks
	// for is in the best tool's texts. The hits are there all the same. It
	// is judged by words alone.
	Weak bool `json:"weak,omitempty"`
	// Note says why an Embedder did not take part, or not fully; it is empty
	// where all went well. It is for logs and people.
	Note string `json:"note,omitempty"`
}

// Search returns the tools that fit q best. It never fails: with an Embedder
// that does not answer, or a ctx that ends, it ranks by words alone and says
// so in Note.
func (x *Index) Search(ctx context.Context, q Query) Results {
	if x.dense == nil {
		return x.search(&q, nil)
	}
	return x.SearchAll(ctx, []Query{q})[0]
}

// SearchAll answers several queries, one per step of a task, in their order.
// With an Embedder it asks for the vectors of all of them at once. How many
// queries there may be is for the caller to bound.
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

// Merge makes one list of the hits of several searches, at most limit (default
// 5 for each): first the best of each search, then the second of each, and so
// on, so that no step of a task is crowded out. A tool that several searches
// found is listed once, with its best score.
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

// search ranks by words, and by meaning where vector is not nil.
func (x *Index) search(q *Query, vector []float32) Results {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	s.parse(x, q.Text)
	t := x.table()
	s.reset(t)
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
