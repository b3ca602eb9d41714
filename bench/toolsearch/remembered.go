package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/junction-mcp/junction/toolsearch"
)

const (
	splits      = 3  // number of divisions into asked and remembered queries, for a more stable mean
	fewest      = 8  // number of single queries that is enough for a tool
	enoughTools = 20 // number of such tools that makes the rows meaningful
)

// rememberedRows measures the effect of remembered queries. A third of each tool's single queries,
// at least one, is asked. Up to k of the others are remembered. Each tool has the same weight, and
// the result is a mean over several divisions.
func (s *set) rememberedRows() []row {
	by, enough := s.singles()
	if enough < enoughTools {
		return nil
	}
	var out []row
	for _, k := range []int{0, 1, 3, 5, 10} {
		r := row{Kind: fmt.Sprintf("remembered %d", k)}
		for split := range splits {
			asked, remembered := divide(by, split, k)
			x := s.index(remembered)
			for id, queries := range asked {
				r.Queries += len(queries)
				for _, q := range queries {
					hits := x.Search(context.Background(), toolsearch.Query{Text: q.Query, Limit: 10})
					r.add(score([][]string{{id}}, hits), 1/float64(len(queries)))
				}
			}
		}
		r.Queries /= splits
		r.scale(100 / float64(splits*len(by)))
		out = append(out, r)
	}
	return out
}

// singles returns the queries that exactly one tool answers, by the tool's id, for tools with at
// least two such queries. enough is the number of tools with at least fewest queries.
func (s *set) singles() (by map[string][]query, enough int) {
	by = make(map[string][]query)
	for _, q := range s.queries {
		if q.Level == 0 && q.kind() != "multi" && len(q.Relevant) == 1 {
			by[q.Relevant[0]] = append(by[q.Relevant[0]], q)
		}
	}
	for id, queries := range by {
		switch {
		case len(queries) >= fewest:
			enough++
		case len(queries) < 2:
			delete(by, id)
		}
	}
	return by, enough
}

// divide divides the queries of each tool into asked and remembered ones. The division depends only
// on their ids and on the number split.
func divide(by map[string][]query, split, k int) (asked map[string][]query, remembered []toolsearch.Remembered) {
	asked = make(map[string][]query)
	for id, queries := range by {
		queries = slices.Clone(queries)
		slices.SortFunc(queries, func(a, b query) int {
			return cmp.Or(cmp.Compare(order(split, a.ID), order(split, b.ID)), cmp.Compare(a.ID, b.ID))
		})
		third := (len(queries) + 2) / 3
		asked[id] = queries[:third]
		for _, q := range queries[third:min(len(queries), third+k)] {
			remembered = append(remembered, toolsearch.Remembered{ID: id, Query: q.Query})
		}
	}
	return asked, remembered
}

func order(split int, id string) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, split, id)
	return h.Sum32()
}
