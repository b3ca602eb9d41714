package toolsearch

import (
	"cmp"
	"math"
	"strings"
)

// scratch is the memory of one search, kept for the next one.
type scratch struct {
	split   splitter
	query   []term
	scores  []float64 // by slot
	named   []uint8   // by slot: words of the query that are in the name
	servers []float64 // the best score, by number of the server
	allowed []bool    // by slot; empty if everything is allowed
	near    []float64 // by slot: how near its vector is to that of the query
	hits    []ranked
}

// ranked is a slot with its score.
type ranked struct {
	slot  int
	score float64
}

func (s *scratch) reset(t *table) {
	slots, servers := len(t.slots), len(t.servers)
	s.scores = zeroed(s.scores, slots)
	s.named = zeroed(s.named, slots)
	s.servers = zeroed(s.servers, servers)
	s.allowed = s.allowed[:0]
	s.hits = s.hits[:0]
}

func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	s = s[:n]
	clear(s)
	return s
}

// allow fills s.allowed.
func (t *table) allow(s *scratch, allow func(string) bool) {
	if allow == nil {
		return
	}
	s.allowed = zeroed(s.allowed, len(t.slots))
	for n := range t.slots {
		s.allowed[n] = allow(t.slots[n].tool.ID)
	}
}

// sums are those over the allowed tools.
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

// allows reports whether the tool in a slot may be found.
func (s *scratch) allows(slot int) bool { return len(s.allowed) == 0 || s.allowed[slot] }

// scoreWords adds up what the words of the query count in each allowed tool,
// and returns the highest score that a tool could have had.
func (t *table) scoreWords(s *scratch, sums *totals) (highest float64) {
	scale := t.weights.scale(sums)
	for i := range s.query {
		q := &s.query[i]
		list := t.terms[q.stem]
		q.idf = rarity(sums.tools, s.frequency(list))
		if q.of < 0 {
			highest += q.weight * q.idf
		} else {
			// A rare synonym of a common word says no more than the word.
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

// frequency is how many of the allowed tools are in list.
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

// scoreNames raises the score of each tool by a share that depends on how much
// of its name the query has: of tools that match alike, the one whose name asks for
// nothing else is meant.
func (t *table) scoreNames(s *scratch) {
	for n, words := range s.named {
		if words > 0 {
			s.scores[n] *= 1 + t.weights.cover*min(1, float64(words)/float64(max(1, t.slots[n].doc.named)))
		}
	}
}

// scoreServers adds to each tool that has a score a share of the best one of
// its server: the steps of a task often stay with one server.
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

// evidence is how much the words of the best tool speak for it: how many words
// were found, in units of the rarest possible word, times the cube root of how far the
// tool stands out, divided by how many were asked for. So a third of a long question can be
// convincing, and so can the whole of a short one, while words that many tools
// have are less so. Where most of the query was found it is no less than that
// share.
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

// best is the highest score, and that of the first tool which a search does not
// show by default, or of the last tool if there are fewer.
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

// take puts the best tools into s.hits.
func (t *table) take(s *scratch, limit int) {
	for n, score := range s.scores {
		if score > 0 {
			t.offer(s, limit, ranked{n, score})
		}
	}
}

// offer puts h in its place among the best hits, if it is one.
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

// compare orders by score, the best first, and then by ID.
func (t *table) compare(a, b ranked) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return strings.Compare(t.slots[a.slot].tool.ID, t.slots[b.slot].tool.ID)
}
