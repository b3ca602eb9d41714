package main

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/junction-mcp/junction/toolsearch"
)

// shown is the number of hits that a model gets.
const shown = 5

func (s *set) index(remembered []toolsearch.Remembered) *toolsearch.Index {
	x := toolsearch.New(toolsearch.Options{})
	x.Restore(remembered)
	for _, name := range s.servers {
		x.SetServer(name, s.about[name], s.tools[name])
	}
	return x
}

func measure(s *set, limit int) *report {
	x := s.index(nil)
	r := &report{Servers: len(s.servers), Tools: x.Len()}
	for _, tools := range s.tools {
		for _, t := range tools {
			r.AllTokens += t.Tokens()
		}
	}
	r.AlwaysTokens = toolsearch.SearchTool().Tokens() + toolsearch.Tokens(toolsearch.Overview(x.Servers(), 0))
	r.IndexMicros = quickest(9, func(int) { s.index(nil) })
	r.ChangeMicros = s.change(x)
	s.time(x, r)
	s.context(x, r)
	r.Rows = append(s.rows(finderOf(x), limit), s.rememberedRows()...)
	return r
}

// quickest returns the shortest time of f in microseconds.
func quickest(times int, f func(i int)) int {
	best := time.Duration(math.MaxInt64)
	for i := range times {
		start := time.Now()
		f(i)
		best = min(best, time.Since(start))
	}
	return int(best.Microseconds())
}

// change returns the time for a change of one tool of the largest server. It restores the tool
// afterwards.
func (s *set) change(x *toolsearch.Index) int {
	largest := slices.MaxFunc(s.servers, func(a, b string) int { return len(s.tools[a]) - len(s.tools[b]) })
	tools := slices.Clone(s.tools[largest])
	took := quickest(51, func(i int) {
		tools[0].Description = s.tools[largest][0].Description + []string{"", " changed"}[i%2]
		x.SetServer(largest, s.about[largest], tools)
	})
	x.SetServer(largest, s.about[largest], s.tools[largest])
	return took
}

// time measures each search separately. A search runs three times, and only the shortest time
// counts. This excludes other load on the machine.
func (s *set) time(x *toolsearch.Index, r *report) {
	all := make([]int, len(s.queries))
	for i, q := range s.queries {
		all[i] = quickest(3, func(int) {
			x.Search(context.Background(), toolsearch.Query{Text: q.Query, Limit: shown})
		})
		r.MeanMicros += all[i]
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	r.P95Micros = all[len(all)*95/100]
	r.MeanMicros /= len(all)
}

// context measures the tokens of the hits of a search.
func (s *set) context(x *toolsearch.Index, r *report) {
	dropped := 0
	for _, q := range s.queries {
		var hits []toolsearch.Tool
		for _, h := range x.Search(context.Background(), toolsearch.Query{Text: q.Query, Limit: shown}).Hits {
			t, _ := x.Tool(h.ID)
			hits = append(hits, t)
		}
		sent := toolsearch.Rendered(hits, 0)
		r.UncutTokens += cost(hits)
		r.SearchTokens += cost(sent)
		if len(sent) < len(hits) {
			dropped++
		}
	}
	if n := len(s.queries); n > 0 {
		r.UncutTokens /= n
		r.SearchTokens /= n
		r.DefinitionsCut = dropped * 100 / n
	}
}

func cost(tools []toolsearch.Tool) (sum int) {
	for _, t := range tools {
		sum += t.Tokens()
	}
	return sum
}

// rows returns a row for each kind of query.
func (s *set) rows(find finder, limit int) []row {
	by := make(map[string]*row)
	for _, q := range s.queries {
		k := q.kind()
		if by[k] == nil {
			by[k] = &row{Kind: k}
		}
		by[k].add(score(q.needs(), find(q.Query, limit)), 1)
		by[k].Queries++
	}
	var out []row
	for _, r := range by {
		r.scale(100 / float64(r.Queries))
		out = append(out, *r)
	}
	order := []string{"single", "multi", "all"}
	slices.SortFunc(out, func(a, b row) int {
		if d := slices.Index(order, a.Kind) - slices.Index(order, b.Kind); d != 0 {
			return d
		}
		if a.Kind < b.Kind {
			return -1
		}
		return 1
	})
	return out
}

// score returns the measurements of one query's hits.
func score(needs [][]string, r toolsearch.Results) row {
	var out row
	if r.Weak {
		out.Weak = 1
	}
	if len(needs) == 0 {
		return out
	}
	each := 1 / float64(len(needs))
	var gain, ideal float64
	var gained [10]bool
	for i, group := range needs {
		rank := slices.IndexFunc(r.Hits, func(h toolsearch.Hit) bool { return slices.Contains(group, h.ID) })
		if i < 10 {
			ideal += discount(i)
		}
		if rank < 0 || rank >= 10 {
			continue
		}
		if !gained[rank] {
			gained[rank] = true
			gain += discount(rank)
		}
		out.R10 += each
		if rank < 5 {
			out.R5 += each
		}
		if rank < 1 {
			out.R1 += each
		}
	}
	out.NDCG = gain / ideal
	return out
}

func discount(rank int) float64 { return 1 / math.Log2(float64(rank)+2) }

func (r *row) add(o row, weight float64) {
	r.R1 += o.R1 * weight
	r.R5 += o.R5 * weight
	r.R10 += o.R10 * weight
	r.NDCG += o.NDCG * weight
	r.Weak += o.Weak * weight
}

func (r *row) scale(by float64) {
	*r = row{Kind: r.Kind, Queries: r.Queries, R1: r.R1 * by, R5: r.R5 * by, R10: r.R10 * by, NDCG: r.NDCG * by, Weak: r.Weak * by}
}
