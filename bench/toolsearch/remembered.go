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
	splits      = 3  // how often queries are divided into asked and remembered, for a steadier mean
	fewest      = 8  // single queries of a tool that has enough of them
	enoughTools = 20 // tools that have enough, for the rows to mean something
)

// rememberedRows measures what remembered queries are worth: a third of a
// tool's single queries, at least one, is asked, and up to k of the others
// are remembered. Each tool counts the same, and the mean is over several splits.
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

// singles are the queries that one tool answers, by tool, of the tools that
// have at least two, and how many have enough.
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

// divide takes the queries of each tool apart, in an order that depends on
// their ids and the number of the split alone.
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
