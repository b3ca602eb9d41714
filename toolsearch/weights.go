package toolsearch

import "math"

// weights are the numbers of the ranking. They were tuned on two public sets
// of tools and queries and tested on others; no rule knows a set.
type weights struct {
	field   [fields]float64 // what a word in a field counts
	norm    [fields]float64 // how much a long field makes its words count less, 0 to 1
	cover   float64         // what a name that the query has wholly adds, as a share of the score
	k1      float64         // how soon repetition stops to count
	server  float64         // share of the best tool of its server that a tool gets
	synonym float64         // what a synonym counts of the word itself
	value   float64         // what a word in quotes or a number counts of another word
	weak    float64         // evidence below which a match is weak
}

// mostAhead bounds by how many times the score of the best tool is taken to be
// that of the first one which is not shown.
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

// rarity is how much a term counts that df of n tools have. It is positive.
func rarity(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// scale is weights for a set of tools: what a word counts, by the field it is
// in, is weight / (flat + slope * length of the field).
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

// saturated is what the occurrences of a term in a tool count, from 0 to below 1.
func (s *scale) saturated(c *counts, l *lengths) float64 {
	var sum float64
	for f, n := range c {
		if n > 0 {
			sum += s.weight[f] * float64(n) / (s.flat[f] + s.slope[f]*float64(l[f]))
		}
	}
	return sum / (s.k1 + sum)
}
